"""RETURN about one match: FIRST and LAST of a symbol's events, arrays of a repeated symbol, and RETURN *.

A symbol that may bind several events has arrays as columns. FIRST and LAST stay in the tree around single columns of
such a symbol; of one that binds one event they are the column itself.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from eventide.lang.nodes import every_node
from eventide.lang.positions import span_of
from eventide.lang.tokens import tokenize
from eventide.lang.tree import EventQuery, Scalar, Span
from eventide.plan.assumed import type_of
from eventide.plan.lengths import most_events
from eventide.plan.logical import Item, Match
from eventide.plan.places import error_at
from eventide.plan.references import references

ENDS = (exp.First, exp.Last)
MATCH_START, MATCH_END = "match_start", "match_end"
_SCALAR = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Case, exp.If, exp.Cast)
_OF_ARRAYS = (exp.ArraySize, exp.ArrayMax, exp.ArrayMin, exp.ArraySort, exp.ArrayContains, exp.ArrayToString)
_NAMED = (exp.Count, exp.Sum, exp.Min, exp.Max, exp.Avg, *ENDS)


def is_array(query: EventQuery, symbol: str) -> bool:
    """Whether a match may bind several events to the symbol."""
    return most_events(query.pattern, symbol) != 1


def bind_ends(tree: exp.Expression, source: Scalar, query: EventQuery) -> exp.Expression:
    """FIRST(a.x + a.y) as FIRST(a.x) + FIRST(a.y); the columns themselves where `a` binds one event."""

    def pushed(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.IgnoreNulls | exp.RespectNulls) and isinstance(node.this, ENDS):
            message = f"{node.this.sql_name()} takes the value of one event, NULL or not"
            raise error_at(query, span_of(node, source.span), message, "leave out IGNORE NULLS, and a second argument")
        if not isinstance(node, ENDS):
            return node
        _check_end(node, source, query)
        if isinstance(node.this, exp.Column):
            return _end(node, node.this, query)
        inner = node.this.transform(lambda part: _end(node, part, query) if isinstance(part, exp.Column) else part)
        return exp.Paren(this=inner)

    if not any(isinstance(node, ENDS) for node in every_node(tree)):
        return tree
    made = tree.transform(pushed)
    assert isinstance(made, exp.Expression)
    _check_arguments(source, query)
    return made


def _check_arguments(source: Scalar, query: EventQuery) -> None:
    """Refuse a second argument of FIRST and LAST, of which sqlglot's tree says nothing."""
    tokens = tokenize(source.text)
    for idx, token in enumerate(tokens[:-1]):
        if token.word not in ("FIRST", "LAST") or tokens[idx + 1].text != "(":
            continue
        depth = 0
        for inner in tokens[idx + 1 :]:
            depth += (inner.text in ("(", "[")) - (inner.text in (")", "]"))
            if depth == 0:
                break
            if depth == 1 and inner.text == ",":
                span = Span(source.span.start + token.start, source.span.start + inner.end)
                message = f"{token.word} takes one argument: the first or the last event's value"
                raise error_at(query, span, message, "the others are items of an array: element_at(a.x, 2), a.x[1]")


def _end(node: exp.Expr, column: exp.Column, query: EventQuery) -> exp.Expr:
    if not column.table or not is_array(query, column.table):
        return column.copy()
    made = type(node)(this=column.copy())
    span = span_of(column, Span(0, 0))
    made.meta.update(start=span.start, end=span.end - 1)
    return made


def _check_end(node: exp.AggFunc, source: Scalar, query: EventQuery) -> None:
    word, span = node.sql_name(), span_of(node, source.span)
    if isinstance(node.this, exp.Distinct):
        raise error_at(query, span, f"{word} takes the value of one event", "leave out DISTINCT")
    # A partition column has the same value in every event.
    names = {column.table for column in node.find_all(exp.Column)} - {""}
    if len(names) != 1:
        hint = f"name one symbol: {word}(a.x)"
        raise error_at(query, span, f"{word} takes the value of one symbol's event", hint)
    inner = next((part for part in node.this.find_all(exp.AggFunc)), None)
    if inner is not None:
        raise error_at(query, span, f"{inner.sql_name()} is inside {word}", f"write {word}(a.x)")


def check_arrays(tree: exp.Expression, source: Scalar, plan: Match) -> None:
    """An array stands alone, or in a call; and what counts items stands around an array."""
    query = plan.query
    arrays: dict[str, bool] = {}
    for column in every_node(tree):
        if not isinstance(column, exp.Column) or not column.table:
            continue
        node = column.parent
        while isinstance(node, exp.Paren):
            node = node.parent
        if column.table not in arrays:
            arrays[column.table] = is_array(query, column.table)
        if not arrays[column.table]:
            _check_no_array(column, node, source, plan)
            continue
        if isinstance(node, _SCALAR) and not isinstance(node, exp.ArrayContains):
            name = f"{column.table}.{column.name}"
            message = f"'{column.table}' binds several events, so {name} is an array"
            hint = (
                f"return it alone, or take one of its values: FIRST({name}), LAST({name}), {name}[0], array_max({name})"
            )
            raise error_at(query, span_of(column, source.span), message, hint)


def _check_no_array(column: exp.Column, node: exp.Expr | None, source: Scalar, plan: Match) -> None:
    dtype = plan.schema.field(column.name).type
    if isinstance(node, _OF_ARRAYS) and node.this is column and not (pa.types.is_nested(dtype) or dtype == pa.null()):
        name = f"{column.table}.{column.name}"
        message = f"'{column.table}' binds at most one event, so {name} is not an array"
        hint = f"write {name}, or repeat '{column.table}' in PATTERN"
        raise error_at(plan.query, span_of(node, source.span), message, hint)


def type_of_item(tree: exp.Expression, plan: Match, span: Span) -> pa.DataType | None:
    """The type of a result: arrays for the columns of symbols that bind several events."""

    def ended(node: exp.Expr) -> exp.Expr:
        # A column without a symbol has one value.
        return exp.Column(this=node.this.this.copy()) if isinstance(node, ENDS) else node

    def field(column: exp.Column) -> pa.Field:
        found = fields[column.name]
        return pa.field(found.name, pa.list_(found.type)) if column.table in arrays else found

    fields = {field.name: field for field in plan.schema}
    nodes = every_node(tree)
    # Aggregates over trends are of single values.
    arrays: set[str] = set()
    if not any(isinstance(node, _NAMED[:5]) for node in nodes):
        tables = {node.table for node in nodes if isinstance(node, exp.Column) and node.table}
        arrays = {table for table in tables if is_array(plan.query, table)}
    made = tree.transform(ended) if any(isinstance(node, ENDS) for node in nodes) else tree
    assert isinstance(made, exp.Expression)
    return type_of(made, plan, span, field)


def column_item(symbol: str | None, name: str, span: Span) -> Item:
    """A column as a result of its own."""
    tree = _column(symbol, name)
    return Item(default_name(tree, name), tree, references(tree), False, span)


def default_name(tree: exp.Expr, text: str) -> str:
    """`A.price` is A_price, COUNT(*) is count, SUM(A.x) is sum_A_x; anything else is its text."""
    if isinstance(tree, exp.Column):
        return f"{tree.table}_{tree.name}" if tree.table else tree.name
    if isinstance(tree, _NAMED):
        word = tree.sql_name().lower()
        if isinstance(tree.this, exp.Star):
            return word
        inner = tree.this.name if isinstance(tree.this, exp.Identifier) else default_name(tree.this, "")
        return f"{word}_{inner}" if inner else " ".join(text.split())
    return " ".join(text.split())


def whole_event_items(plan: Match) -> tuple[Item, ...]:
    """RETURN *: the partition columns, the times of the first and the last event, and an array for each symbol."""
    query, span = plan.query, plan.query.pattern.span
    bound = [symbol for symbol in plan.symbols.values() if not symbol.negated]

    def item(name: str, tree: exp.Expression) -> Item:
        return Item(name, tree, references(tree), False, span)

    def edge(name: str, end: type[exp.Expression], choice: type[exp.Expression]) -> Item:
        times = [_end(end(), _column(symbol.name, plan.ts), query) for symbol in bound]
        made = times[0] if len(times) == 1 else choice(this=times[0], expressions=times[1:])
        assert isinstance(made, exp.Expression)
        return item(name, made)

    return (
        *(column_item(None, name, span) for name in plan.partition),
        edge(MATCH_START, exp.First, exp.Least),
        edge(MATCH_END, exp.Last, exp.Greatest),
        *(item(s.name, exp.Struct(expressions=[_column(s.name, name) for name in plan.schema.names])) for s in bound),
    )


def _column(symbol: str | None, name: str) -> exp.Column:
    table = exp.Identifier(this=symbol, quoted=True) if symbol is not None else None
    return exp.Column(this=exp.Identifier(this=name, quoted=True), table=table)
