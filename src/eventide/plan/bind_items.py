"""Binding RETURN: names, types and kinds of the result columns."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.lang.positions import span_of
from eventide.lang.tree import EventQuery, ReturnItem, Span
from eventide.plan.bound import Item, Symbol
from eventide.plan.expressions.typecheck import typecheck
from eventide.plan.references import is_next, qualify, references
from eventide.plan.symbols import find_symbol

AGGREGATES = (exp.Count, exp.Sum, exp.Min, exp.Max, exp.Avg)
RESERVED = ("detected_at",)


def bind_items(
    query: EventQuery, schema: pa.Schema, symbols: Mapping[str, Symbol], partition: tuple[str, ...], ts: str
) -> tuple[Item, ...]:
    """The RETURN columns; without RETURN, the partition columns and the time of each symbol's event."""
    if not query.returns:
        times = [(s.name, ts) for s in symbols.values() if not s.negated and s.n_steps == 1]
        return tuple(_column_item(symbol, name) for symbol, name in [*((None, p) for p in partition), *times])
    items = tuple(_bind_item(item, query, schema, symbols, partition) for item in query.returns)
    seen: dict[str, Item] = {}
    reserved = [*RESERVED, *(["window_start", "window_end"] if query.window and query.window.slide else [])]
    for item in items:
        if item.name.lower() in seen or item.name.lower() in reserved:
            taken = "is the name of two columns" if item.name.lower() in seen else "is a name Eventide uses"
            raise QueryError(
                f"'{item.name}' {taken}",
                query.text,
                item.span.start,
                item.span.end,
                hint="give this one another name with AS",
            )
        seen[item.name.lower()] = item
    if any(item.aggregates for item in items):
        _check_mixture(items, query)
    return items


def _column_item(symbol: str | None, name: str) -> Item:
    table = exp.Identifier(this=symbol, quoted=True) if symbol is not None else None
    tree = exp.Column(this=exp.Identifier(this=name, quoted=True), table=table)
    return Item(_default_name(tree, name), tree, references(tree), False, Span(0, 0))


def _bind_item(
    item: ReturnItem,
    query: EventQuery,
    schema: pa.Schema,
    symbols: Mapping[str, Symbol],
    partition: tuple[str, ...],
) -> Item:
    source = item.value

    def fail(message: str, span: Span, hint: str | None = None) -> QueryError:
        return QueryError(message, query.text, span.start, span.end, hint=hint)

    def unqualified(column: str, span: Span) -> str | None:
        if column in partition:
            return None
        if len(symbols) == 1:
            return next(iter(symbols))
        choices = [symbol.name for symbol in symbols.values() if not symbol.negated][:4]
        raise fail(f"which event's '{column}'?", span, "write " + " or ".join(f"{s}.{column}" for s in choices))

    tree = _hold_counted_symbols(source.tree, source.span, query, symbols)
    tree = qualify(tree, source.span, query, schema, symbols, unqualified)
    for node in tree.walk():
        if is_next(node):
            raise fail("NEXT relates adjacent events and belongs to WHERE", span_of(node, source.span))
        if isinstance(node, exp.AggFunc) and not isinstance(node, AGGREGATES):
            raise fail(
                f"{node.sql_name()} is not an aggregate over trends",
                span_of(node, source.span),
                "COUNT, SUM, MIN, MAX or AVG",
            )
    reads = references(tree)
    for reference in reads:
        if reference.symbol is None:
            continue
        symbol = symbols[reference.symbol]
        if symbol.negated:
            raise fail(f"'{symbol.name}' is absent in every match: it has no columns", source.span)
        if symbol.n_steps > 1 and not _aggregates(tree):
            hint = f"give each its own name: {symbol.type} {symbol.name}1, {symbol.type} {symbol.name}2"
            raise fail(f"'{symbol.name}' stands {symbol.n_steps} times in PATTERN: which is meant?", source.span, hint)
    if not _aggregates(tree):
        typecheck(tree, lambda column: schema.field(column.name), query.text, source.span)
    name = item.alias.text if item.alias is not None else _default_name(tree, source.text)
    return Item(name, tree, reads, _aggregates(tree), item.span)


def _aggregates(tree: exp.Expression) -> bool:
    return any(isinstance(node, exp.AggFunc) for node in tree.walk())


def _hold_counted_symbols(
    tree: exp.Expression, span: Span, query: EventQuery, symbols: Mapping[str, Symbol]
) -> exp.Expression:
    """COUNT(E) names a symbol, not a column: it becomes COUNT(symbol) with an identifier inside."""
    copy = tree.copy()
    for count in copy.find_all(exp.Count):
        argument = count.this
        if isinstance(argument, exp.Column) and not argument.table:
            symbol = find_symbol(argument.name, symbols, query, span_of(argument, span))
            held = exp.Identifier(this=symbol.name, quoted=True)
            held.meta.update(argument.this.meta)
            count.set("this", held)
    return copy


def _default_name(tree: exp.Expression, text: str) -> str:
    """`A.price` is A_price, COUNT(*) is count, SUM(A.x) is sum_A_x; anything else is its text."""
    if isinstance(tree, exp.Column):
        return f"{tree.table}_{tree.name}" if tree.table else tree.name
    if isinstance(tree, AGGREGATES):
        word = tree.sql_name().lower()
        if isinstance(tree.this, exp.Star):
            return word
        inner = tree.this.name if isinstance(tree.this, exp.Identifier) else _default_name(tree.this, text)
        return f"{word}_{inner}"
    return " ".join(text.split())


def _check_mixture(items: tuple[Item, ...], query: EventQuery) -> None:
    """Beside aggregates over trends, only what the group has in common can be returned."""
    for item in items:
        if not item.aggregates and any(reference.symbol is not None for reference in item.reads):
            raise QueryError(
                "aggregates are about all trends of a group, this column about one match",
                query.text,
                item.span.start,
                item.span.end,
                hint="return aggregates and GROUP BY columns, or columns of symbols, not both",
            )
