"""Binding RETURN: names, types and kinds of the result columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from eventide.expressions.readings import is_next
from eventide.expressions.types import canonical, is_number, type_name
from eventide.lang.nodes import every_node
from eventide.lang.positions import span_of
from eventide.lang.tree import EventQuery, ReturnItem, Scalar, Span
from eventide.plan.assumed import type_of
from eventide.plan.logical import Item, Match, Symbol
from eventide.plan.one_match import (
    ENDS,
    bind_ends,
    check_arrays,
    column_item,
    default_name,
    type_of_item,
    whole_event_items,
)
from eventide.plan.places import error_at
from eventide.plan.references import (
    aggregated_symbols,
    hold_counted_symbols,
    name_apart,
    qualify,
    references,
    which_event,
)
from eventide.plan.scope import is_orderable

AGGREGATES = (exp.Count, exp.Sum, exp.Min, exp.Max, exp.Avg)


def bind_items(plan: Match) -> tuple[Item, ...]:
    """The RETURN columns; without RETURN, the partition columns and the time of each symbol's event."""
    query, symbols = plan.query, plan.symbols
    if query.whole_events:
        items = whole_event_items(plan)
        for item in items:
            if not item.tree.find(exp.Struct, *ENDS):
                type_of(item.tree, plan, item.span)
    elif query.returns:
        items = tuple(_bind_item(item, plan) for item in query.returns)
    else:
        span = query.pattern.span
        plain = tuple(column_item(None, name, span) for name in plan.partition)
        single = [symbol for symbol in symbols.values() if not symbol.negated and symbol.n_steps == 1]
        items = (*plain, *(column_item(symbol.name, plan.ts, span) for symbol in single))
    added = ["window_start", "window_end"] if query.window is not None and query.window.slide is not None else []
    check_names(items, plan, [*added, *(["match_id"] if plan.options.match_id else [])])
    if any(item.aggregates for item in items):
        _check_mixture(items, query, symbols)
    return items


def check_names(items: tuple[Item, ...], plan: Match, added: Sequence[str], *, named: bool | None = None) -> None:
    """Every result column has a name of its own, in any case, beside those that Eventide adds."""
    query, seen = plan.query, set[str]()
    named = bool(query.returns) if named is None else named
    hint = "give this one another name with AS" if named else "say which columns are wanted: RETURN ... AS ..."
    for item in items:
        name = item.name.lower()
        if name in (*added, "detected_at"):
            raise error_at(query, item.span, f"'{item.name}' is the name of a column that Eventide adds", hint)
        if name in seen:
            raise error_at(query, item.span, f"'{item.name}' is the name of two columns", hint)
        seen.add(name)


def _bind_item(item: ReturnItem, plan: Match) -> Item:
    source, query, symbols = item.value, plan.query, plan.symbols

    def unqualified(column: str, span: Span) -> str | None:
        if column in plan.partition:
            return None
        if len(symbols) == 1:
            return next(iter(symbols))
        raise which_event(query, span, [symbol.name for symbol in symbols.values() if not symbol.negated])

    tree = hold_counted_symbols(source.tree, source.span, plan)
    tree = qualify(tree, source.span, plan, unqualified)
    nodes = every_node(tree)
    for node in nodes:
        if is_next(node):
            name = f"{node.this.expressions[0].name}.{node.expression.name}"
            message = "NEXT relates adjacent events and belongs to WHERE"
            raise error_at(query, span_of(node, source.span), message, f"return the column itself: {name}")
    aggregates = [node for node in nodes if isinstance(node, exp.AggFunc) and not isinstance(node, ENDS)]
    for aggregate in aggregates:
        _check_aggregate(aggregate, source, plan)
    for column in nodes:
        if isinstance(column, exp.Column) and column.table:
            _check_symbol(column, symbols, bool(aggregates), source, query)
    name = item.alias.text if item.alias is not None else default_name(tree, source.text)
    if not aggregates:
        tree = bind_ends(tree, source, query)
        check_arrays(tree, source, plan)
    type_of_item(tree, plan, source.span)
    return Item(name, tree, references(tree), bool(aggregates), item.span)


def _check_symbol(
    column: exp.Column, symbols: Mapping[str, Symbol], aggregated: bool, source: Scalar, query: EventQuery
) -> None:
    symbol, span = symbols[column.table], span_of(column, source.span)
    if symbol.negated:
        hint = "return columns of the events that are there"
        raise error_at(query, span, f"'{symbol.name}' is absent in every match: it has no columns", hint)
    if aggregated and not _is_aggregated(column):
        hint = "put it into an aggregate, or return it without one"
        raise error_at(query, span, _MIXTURE, hint + _of_one_match(symbols, column.name))
    if symbol.n_steps > 1 and not aggregated:
        message = f"'{symbol.name}' occurs {symbol.n_steps} times in PATTERN: which of them is meant?"
        raise error_at(query, span, message, name_apart(symbol))


def _is_aggregated(column: exp.Column) -> bool:
    """Whether a column stands inside an aggregate over trends: FIRST and LAST are none."""
    above = column.parent
    while above is not None and (not isinstance(above, exp.AggFunc) or isinstance(above, ENDS)):
        above = above.parent
    return above is not None


def _check_aggregate(node: exp.AggFunc, source: Scalar, plan: Match) -> None:
    """COUNT(*), COUNT(E), and COUNT, SUM, MIN, MAX, AVG over the events of one symbol."""
    query, symbols, span = plan.query, plan.symbols, span_of(node, source.span)
    word = node.sql_name()
    called = re.match(r"\w+", query.text[span.start : span.end])
    if not isinstance(node, AGGREGATES):
        hint = "COUNT, SUM, MIN, MAX and AVG are"
        raise error_at(query, span, f"{called[0] if called else word} is not an aggregate over trends", hint)
    ends = node.find(*ENDS)
    if ends is not None:
        message = f"{ends.sql_name()} is about one match, {word} about all trends of a group"
        raise error_at(query, span_of(ends, source.span), message, "return one of them")
    inner = node.find_ancestor(exp.AggFunc)
    if inner is not None:
        raise error_at(query, span, f"{word} is inside {inner.sql_name()}", "an aggregate is over events")
    if isinstance(node.this, exp.Distinct) or node.expressions:
        message = f"{word} takes one argument, and counts every event"
        raise error_at(query, span, message, f"write {word}(A.x), COUNT(A) or COUNT(*)")
    if isinstance(node.this, exp.Star):
        return
    over = aggregated_symbols(node, symbols)
    if len(over) != 1:
        hint = f"name its symbol: {word}({next(iter(symbols))}.x)"
        raise error_at(query, span, f"{word} goes over the events of one symbol", hint)
    if over[0].negated:
        raise error_at(query, span, f"'{over[0].name}' is absent in every match: it has no columns")
    if isinstance(node.this, exp.Identifier):
        return
    kind = type_of(node.this, plan, source.span)
    if kind is None:
        return
    if isinstance(node, exp.Sum | exp.Avg) and not is_number(canonical(kind)):
        hint = "COUNT, MIN and MAX take other types"
        raise error_at(query, span, f"{word} needs a number, but this is {type_name(kind)}", hint)
    if not is_orderable(kind):
        raise error_at(query, span, f"{word} needs a plain value, but this is {type_name(kind)}")


_MIXTURE = "aggregates are about all trends of a group, this column about one match"


def _check_mixture(items: tuple[Item, ...], query: EventQuery, symbols: Mapping[str, Symbol]) -> None:
    """Beside aggregates over trends, only what the group has in common can be returned."""
    for item in items:
        if not item.aggregates and any(reference.symbol is not None for reference in item.reads):
            hint = "return aggregates and GROUP BY columns, or columns of symbols, not both"
            column = next(reference.column for reference in item.reads if reference.symbol is not None)
            raise error_at(query, item.span, _MIXTURE, hint + _of_one_match(symbols, column))


def _of_one_match(symbols: Mapping[str, Symbol], column: str) -> str:
    """How a repeated symbol's events are counted beside columns, as the end of a hint."""
    repeated = [symbol.name for symbol in symbols.values() if symbol.repeated and not symbol.negated]
    if not repeated:
        return ""
    return f"; of one match, size({repeated[0]}.{column}) counts the events of '{repeated[0]}'"
