"""Binding of queries without PATTERN: what they return is about windows, or about each event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError, did_you_mean
from eventide.expressions.kept_aggregates import arguments_of, filtered, function_of, takes
from eventide.expressions.known_functions import is_known
from eventide.expressions.navigation.aggregates import AGGREGATES, ALIASES
from eventide.expressions.navigation.calls import read_call
from eventide.expressions.navigation.general import General, check_call, general_call
from eventide.families.windows.spec import COUNT, IS_FINAL, WINDOW_END, WINDOW_START
from eventide.lang.positions import call_span, span_of
from eventide.lang.tree import Length, ReturnItem, Scalar, Span, WindowQuery
from eventide.lang.tree import Window as Within
from eventide.plan.assumed import type_of
from eventide.plan.bind import bind
from eventide.plan.bind_items import check_names
from eventide.plan.logical import Item, Match, Window
from eventide.plan.options import Options
from eventide.plan.places import error_at, option_error
from eventide.plan.references import qualify, references

BOUNDS = (WINDOW_START, WINDOW_END)
_ENDS = {"FIRST": "FIRST_VALUE", "LAST": "LAST_VALUE"}


def bind_windows(query: WindowQuery, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Match:
    """The logical plan: a pattern of one event for a filter, else `Window`."""
    _check_options(query, options)
    _check_where(query)
    events = query.events
    plan = bind(events, options, schema, on_stream=on_stream)
    if not is_aggregation(query):
        # However short, a window is all that a stream asks for.
        plan = replace(plan, query=replace(events, window=Within(Length(1))))
        items = _whole_events(plan) if query.whole_events else tuple(_bind_value(item, plan) for item in query.returns)
        check_names(items, plan, (), named=not query.whole_events)
        return replace(plan, items=items)
    if query.whole_events:
        span = query.windowing.span if query.windowing is not None else Span(0, 0)
        raise error_at(query, span, "RETURN * is about events, and this query is about windows", "RETURN count(*)")
    _check_bounds(query, plan)
    items = tuple(_bind_item(item, plan, {}) for item in query.returns)
    plain = tuple(item for item in items if bound_name(item.tree) != item.name.lower())
    added = (*(BOUNDS if query.windowing is not None else ()), *([IS_FINAL] if query.every is not None else []))
    check_names(plain, plan, added)
    held = {field.name: getattr(plan, field.name) for field in fields(plan)}
    having = None
    if query.having is not None:
        named = {item.name.lower(): item.tree for item in items}
        bound = _bind_item(ReturnItem(query.having, None, query.having.span), plan, named)
        # In brackets it is an expression, whose type is found out, and never a column of the result.
        having = replace(bound, tree=exp.Paren(this=bound.tree))
    return Window(**{**held, "items": items}, tree=query, having=having)


def is_aggregation(query: WindowQuery) -> bool:
    """Whether a query is about windows or groups, not about each event."""
    if query.windowing is not None or query.group_by or query.having is not None:
        return True
    return any(is_aggregate(node) for item in query.returns for node in item.value.tree.walk())


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is a call of an aggregate, kept or not, with all that belongs to the call."""
    if isinstance(node.parent, exp.IgnoreNulls | exp.RespectNulls | exp.Filter | exp.WithinGroup):
        return node.parent.this is not node and function_of(node) is not None
    return function_of(node) is not None or read_call(node) is not None


def bound_name(node: exp.Expr) -> str | None:
    """Which end of the window a node stands for."""
    name = str(node.this) if isinstance(node, exp.Anonymous) and not node.expressions else ""
    return name if name in BOUNDS else None


def _check_options(query: WindowQuery, options: Options) -> None:
    for name, given, needless in (
        ("match_id", options.match_id, "a window has no match_id: its group and its start tell it"),
        ("max_matches_per_partition", options.max_matches_per_partition, "windows have no such limit"),
        ("max_steps_per_partition", options.max_steps_per_partition, "windows have no such limit"),
        ("type", options.type, "a query without PATTERN has no event types; WHERE says which events count"),
        ("state_ttl", options.state_ttl, "a query of windows is bounded by its windows"),
        ("possible", options.possible, "possible is for situation queries"),
    ):
        if given:
            raise option_error(query, name, needless, f"leave out {name}")
    windowing = query.windowing
    if options.origin is not None and (windowing is None or windowing.kind == "session" or windowing.length.in_events):
        message = "origin moves windows of time, and this query has none"
        raise option_error(query, "origin", message, "add WITHIN 1 hour, or leave out origin")


def _check_where(query: WindowQuery) -> None:
    if query.where is None:
        return
    for node in query.where.tree.walk():
        if is_aggregate(node):
            span = call_span(node, query.where.span, query.text)
            hint = f"write HAVING {' '.join(query.where.text.split())}"
            raise error_at(query, span, "WHERE is about one event, before any window", hint)


def _check_bounds(query: WindowQuery, plan: Match) -> None:
    """The ends of a window are said of windows, not of events."""
    columns = {name.lower() for name in plan.schema.names}
    for scalar in (*(item.value for item in query.returns), *([query.having] if query.having is not None else [])):
        for node in scalar.tree.find_all(exp.Column):
            name = node.name.lower()
            if node.table or name not in BOUNDS or name in columns:
                continue
            span = span_of(node, scalar.span)
            if query.windowing is None:
                raise error_at(query, span, f"{name} is about windows, and this query has none", "add WITHIN 1 hour")
            if _is_inside(node):
                hint = f"an aggregate is over events: write {name} outside it"
                raise error_at(query, span, f"{name} is about the window, not about its events", hint)


def _whole_events(plan: Match) -> tuple[Item, ...]:
    (symbol,) = plan.symbols
    trees = [
        exp.Column(this=exp.Identifier(this=name, quoted=True), table=exp.Identifier(this=symbol, quoted=True))
        for name in plan.schema.names
    ]
    span = plan.query.pattern.span
    return tuple(Item(tree.name, tree, references(tree), False, span) for tree in trees)


def _bind_value(item: ReturnItem, plan: Match) -> Item:
    """A value of each event."""
    (symbol,) = plan.symbols
    source = item.value
    tree = qualify(source.tree, source.span, plan, lambda column, span: symbol)
    type_of(tree, plan, source.span)
    return Item(_name(item, tree), tree, references(tree), False, item.span)


def _name(item: ReturnItem, tree: exp.Expr) -> str:
    """`count(*)` is called as it is written, a column by its name."""
    if item.alias is not None:
        return item.alias.text
    return tree.name if isinstance(tree, exp.Column) else bound_name(tree) or " ".join(item.value.text.split())


def _bind_item(item: ReturnItem, plan: Match, named: Mapping[str, exp.Expr]) -> Item:
    """A value of each window; `named` are values that may be called by their names."""
    source = item.value
    (symbol,) = plan.symbols
    columns = {name.lower() for name in plan.schema.names}

    def plain(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.RespectNulls) and is_kept(node.this):
            return node.this  # type: ignore[no-any-return]
        if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.Filter):
            inner = node.this.copy()
            inner.set("this", exp.IgnoreNulls(this=inner.this.copy()))
            return inner
        is_bound = isinstance(node, exp.Column) and not node.table and node.name.lower() in BOUNDS
        if is_bound and node.name.lower() not in columns:
            return exp.Anonymous(this=node.name.lower(), expressions=[])
        return node

    tree = source.tree.transform(plain)
    tree = tree.transform(lambda node: filtered(node) if _is_kept_filter(node) else node)
    assert isinstance(tree, exp.Expression)
    if named:
        tree = tree.transform(
            lambda node: exp.Paren(this=named[node.name.lower()].copy()) if _is_named(node, named, columns) else node
        )
        assert isinstance(tree, exp.Expression)

    def unqualified(column: str, span: Span) -> str | None:
        return None if column in plan.partition else symbol

    tree = qualify(tree, source.span, plan, unqualified)
    for node in tree.walk(prune=is_aggregate):
        if is_aggregate(node):
            _check_call(node, source, plan)
        elif isinstance(node, exp.Column) and node.table:
            _check_calls_above(node, source, plan)
            hint = f"a window has many events: GROUP BY {node.name}, or take an aggregate, such as max({node.name})"
            raise error_at(plan.query, span_of(node, source.span), f"which event's '{node.name}'?", hint)
    return Item(_name(item, tree), tree, references(tree), True, item.span)


def _check_calls_above(node: exp.Expr, source: Scalar, plan: Match) -> None:
    """Where a call around a column is of nothing that Spark SQL has, its name is what is wrong."""
    above = node.parent
    while above is not None:
        if isinstance(above, exp.Anonymous) and not is_known(above.name):
            span = call_span(above, source.span, plan.query.text)
            hint = did_you_mean(above.name.lower(), [*map(str.lower, (*AGGREGATES, *ALIASES))])
            raise error_at(plan.query, span, f"unknown function '{above.name}'", hint)
        above = above.parent


def is_kept(node: exp.Expr) -> bool:
    """Whether an aggregate can be kept while events come; others are made of all values of a window."""
    function = function_of(node)
    if function is None or any(isinstance(each, exp.Distinct) for each in arguments_of(node)):
        return False
    return function not in ("MAX_BY", "MIN_BY") or len(arguments_of(node)) < 3


def _is_kept_filter(node: exp.Expr) -> bool:
    # The first value among some is not the first that is there.
    return isinstance(node, exp.Filter) and is_kept(node.this) and function_of(node.this) not in ("FIRST", "LAST")


def _is_named(node: exp.Expr, named: Mapping[str, exp.Expr], columns: set[str]) -> bool:
    if not isinstance(node, exp.Column) or node.table or node.name.lower() not in named:
        return False
    # Inside an aggregate a name is a column of the events, where they have it.
    return node.name.lower() not in columns or not _is_inside(node)


def _is_inside(node: exp.Expr) -> bool:
    above = node.parent
    while above is not None:
        if is_aggregate(above):
            return True
        above = above.parent
    return False


def _check_call(node: exp.Expr, source: Scalar, plan: Match) -> None:
    query, span = plan.query, call_span(node, source.span, plan.query.text)
    if not is_kept(node):
        for tree in general_of(node, source.span, plan).trees:
            _check_argument(tree, span, source, plan)
        return
    function = function_of(node)
    assert function is not None
    arguments = arguments_of(node)
    least, most = takes(function)
    if len(arguments) < least or (most is not None and len(arguments) > most):
        wanted = "two values" if least == 2 else "one value"
        raise error_at(query, span, f"{function.lower()} takes {wanted} of each event")
    for each in arguments:
        if not isinstance(each, exp.Star):
            _check_argument(each, span, source, plan)


def _check_argument(tree: exp.Expr, span: Span, source: Scalar, plan: Match) -> None:
    assert isinstance(tree, exp.Expression)
    if any(is_aggregate(node) for node in tree.walk()):
        raise error_at(plan.query, span, "an aggregate is inside another one", "an aggregate is over events")
    type_of(tree, plan, source.span)


def general_of(node: exp.Expr, whole: Span, plan: Match) -> General:
    """An aggregate that is not kept; an error where it is none of Spark SQL's, or is called otherwise."""
    call = read_call(node)
    assert call is not None
    call = replace(call, name=_ENDS.get(call.name, call.name))

    def fail(message: str, at: exp.Expr, hint: str | None) -> QueryError:
        span = call_span(node, whole, plan.query.text) if at is node else span_of(at, whole)
        return error_at(plan.query, span, message, hint)

    function = check_call(call, node, fail, "over windows", "the query")
    if function == "COUNT" and not call.arguments:
        call = replace(call, arguments=(exp.Literal.number(1),))
    return general_call(call, function, fail)


def counts_events(query: WindowQuery) -> bool:
    """Whether the windows of a query are of a number of events."""
    return query.windowing is not None and kind_of(query) == COUNT


def kind_of(query: WindowQuery) -> str:
    """The kind of its windows, as operators have it."""
    windowing = query.windowing
    if windowing is None:
        return "all"
    return COUNT if windowing.length.in_events else windowing.kind
