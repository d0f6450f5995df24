"""Binding of situation queries: every name found, every expression checked."""

from __future__ import annotations

from dataclasses import fields, replace

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.kept_aggregates import arguments_of, filtered, function_of, is_other_aggregate, takes
from eventide.families.situations.aggregates import bound_of
from eventide.families.situations.refusals import (
    KNOWN,
    check_conditions,
    check_returned,
    check_situations,
    is_bound,
    not_kept,
)
from eventide.lang.positions import call_span, span_of
from eventide.lang.situations import END
from eventide.lang.tree import ReturnItem, SituationQuery, Span
from eventide.plan.assumed import type_of
from eventide.plan.bind import bind
from eventide.plan.bind_items import check_names
from eventide.plan.logical import Item, Match, Situations
from eventide.plan.options import Options
from eventide.plan.places import error_at, option_error
from eventide.plan.references import find_symbol, hold_counted_symbols, qualify, references


def bind_situations(
    query: SituationQuery, options: Options, schema: pa.Schema, *, on_stream: bool = False
) -> Situations:
    """The logical plan: situations are its symbols, RETURN is about them."""
    for name, given, needless in (
        ("match_id", options.match_id, "a situation query has no match_id"),
        ("max_matches_per_partition", options.max_matches_per_partition, "situations have no such limit"),
        ("max_steps_per_partition", options.max_steps_per_partition, "situations have no such limit"),
        ("type", options.type, "DEFINE says what each situation is; there are no event types"),
        ("origin", options.origin, "origin moves sliding windows, and this query has none"),
        ("state_ttl", options.state_ttl, "a situation query is bounded by WITHIN"),
    ):
        if given:
            raise option_error(query.events, name, needless, f"leave out {name}")
    check_conditions(query, schema)
    # Situations depend on the order of all events, tied ones too.
    plan = bind(query.events, replace(options, ties="sequence"), schema, on_stream=on_stream)
    items = tuple(_bind_item(item, plan) for item in query.returns) or _default_items(plan)
    related = [f"{each.left.text}_{each.right.text}".lower() for each in query.pattern]
    check_names(items, plan, related if options.possible else (), named=True)
    held = {field.name: getattr(plan, field.name) for field in fields(plan)}
    return Situations(**{**held, "items": items}, tree=query)


def _default_items(plan: Match) -> tuple[Item, ...]:
    """Without RETURN: the partition columns, and start and end of each situation."""
    span = plan.query.pattern.span
    made = [
        Item(name, exp.Column(this=exp.Identifier(this=name, quoted=True)), (), False, span) for name in plan.partition
    ]
    for symbol in plan.symbols:
        for word, function in (("start", "START"), ("end", END)):
            tree = exp.Anonymous(this=function, expressions=[exp.Identifier(this=symbol, quoted=True)])
            made.append(Item(f"{symbol}_{word}", tree, (), False, span))
    return tuple(made)


def _bind_item(item: ReturnItem, plan: Match) -> Item:
    query, source, symbols = plan.query, item.value, plan.symbols
    check_situations(source.tree, source.span, query, symbols, plan.schema)
    tree = hold_counted_symbols(source.tree, source.span, plan)

    def hold_ends(node: exp.Expr) -> exp.Expr:
        if not is_bound(node):
            return node
        span = span_of(node, source.span)
        word = "end" if str(node.this).upper() == END else "start"
        argument = node.expressions[0] if len(node.expressions) == 1 else None
        if not isinstance(argument, exp.Column) or argument.table:
            raise error_at(query, span, f"{word} takes one situation", f"write {word}({next(iter(symbols))})")
        symbol = find_symbol(argument.name, symbols, query, span_of(argument, span))
        held = exp.Identifier(this=symbol.name, quoted=True)
        return exp.Anonymous(this=str(node.this).upper(), expressions=[held])

    made = tree.transform(_plain_nulls).transform(hold_ends)
    assert isinstance(made, exp.Expression)
    check_returned(made, source.span, query, symbols, plan.schema)
    made = made.transform(lambda node: filtered(node) if isinstance(node, exp.Filter) else node)
    assert isinstance(made, exp.Expression)
    aggregated = [span_of(node, source.span) for node in made.find_all(exp.Column) if _inside(node)]

    def unqualified(column: str, span: Span) -> str | None:
        if column in plan.partition:
            return None
        form = "{}.{}" if span in aggregated else "first({}.{})"
        hint = "write " + " or ".join(form.format(name, column) for name in list(symbols)[:3])
        raise error_at(query, span, f"which situation's '{column}'?", hint)

    made = qualify(made, source.span, plan, unqualified)
    for node in made.walk():
        _check_node(node, source.span, plan)
    name = item.alias.text if item.alias is not None else _default_name(made, source.text)
    return Item(name, made, references(made), True, item.span)


def _plain_nulls(node: exp.Expr) -> exp.Expr:
    """`first(A.x) RESPECT NULLS` is `first(A.x)`; IGNORE NULLS belongs to the aggregate before FILTER."""
    if isinstance(node, exp.RespectNulls):
        return node.this  # type: ignore[no-any-return]
    if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.Filter):
        inner = node.this.copy()
        inner.set("this", exp.IgnoreNulls(this=inner.this.copy()))
        return inner
    return node


def _check_node(node: exp.Expr, default: Span, plan: Match) -> None:
    query, span = plan.query, span_of(node, default)
    function = function_of(node)
    if function is None:
        if is_other_aggregate(node):
            raise not_kept(node, call_span(node, default, query.text), query)
        if isinstance(node, exp.Column) and node.table and not _inside(node):
            hint = f"a situation has many events: write first({node.table}.{node.name}) or another aggregate"
            raise error_at(query, span, f"which event's '{node.table}.{node.name}'?", hint)
        return
    if _inside(node):
        raise error_at(query, span, "an aggregate is inside another one", "an aggregate is over events")
    span = call_span(node, default, query.text)
    arguments = arguments_of(node)
    least, most = takes(function)
    if any(isinstance(each, exp.Distinct) for each in arguments):
        raise error_at(query, span, "DISTINCT would need all values of a situation", KNOWN)
    if len(arguments) < least or (most is not None and len(arguments) > most):
        if least == 2:
            word = function.lower()
            raise error_at(query, span, f"{word} takes two values of each event", f"for example {word}(B.x, B.y)")
        raise error_at(query, span, "an aggregate takes one value of each event", "for example avg(B.speed)")
    if isinstance(arguments[0], exp.Star):
        hint = f"write count({next(iter(plan.symbols))}.*)"
        raise error_at(query, span, "which situation's events are counted?", hint)
    if isinstance(arguments[0], exp.Identifier):
        return
    names = {column.table for each in arguments for column in each.find_all(exp.Column)}
    if len(names) != 1 or "" in names:
        hint = f"name its situation: avg({next(iter(plan.symbols))}.x)"
        raise error_at(query, span, "an aggregate goes over the events of one situation", hint)
    for each in arguments:
        assert isinstance(each, exp.Expression)
        type_of(each, plan, default)


def _inside(node: exp.Expr) -> bool:
    above = node.parent
    while above is not None:
        if function_of(above) is not None:
            return True
        above = above.parent
    return False


def _default_name(tree: exp.Expr, text: str) -> str:
    """`avg(B.speed)` is avg_B_speed, end(A) is A_end; anything else is its text."""
    ends = bound_of(tree)
    if ends is not None:
        return f"{ends[1]}_{ends[0]}"
    if isinstance(tree, exp.Column):
        return tree.name
    plain = " ".join(text.split())
    word = plain.split("(")[0].strip().lower()
    if function_of(tree) is None:
        return plain
    arguments = arguments_of(tree)
    if isinstance(arguments[0], exp.Identifier):
        return f"{word}_{arguments[0].name}"
    if len(arguments) > 1 or isinstance(tree, exp.IgnoreNulls) or not isinstance(arguments[0], exp.Column):
        return plain
    return f"{word}_{arguments[0].table}_{arguments[0].name}"
