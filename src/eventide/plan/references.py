"""References in expressions: `A.price`, `price`, `NEXT(A).price`, `A.payload.field`, with exact names and checked.

In: a sqlglot tree as written. Out: a copy in which every reference is `symbol.column` or `NEXT(symbol).column`
with the names of the pattern and of the schema, and struct fields are dotted onto it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError, did_you_mean
from eventide.lang.positions import span_of
from eventide.lang.tree import EventQuery, Span
from eventide.plan.bound import Reference, Symbol
from eventide.plan.symbols import find_symbol

# What an unqualified column means: the symbol it belongs to, or None for a partition column that stays plain.
Unqualified = Callable[[str, Span], str | None]


def find_column(name: str, schema: pa.Schema, query: EventQuery, span: Span) -> str:
    """The schema's name for a column, in any case as in Spark."""
    if name in schema.names:
        return name
    folded = [known for known in schema.names if known.lower() == name.lower()]
    if len(folded) == 1:
        return folded[0]
    if folded:
        raise QueryError(f"column '{name}' is ambiguous: {', '.join(folded)}", query.text, span.start, span.end)
    raise QueryError(
        f"unknown column '{name}'", query.text, span.start, span.end, hint=did_you_mean(name, schema.names)
    )


def qualify(
    tree: exp.Expression,
    default: Span,
    query: EventQuery,
    schema: pa.Schema,
    symbols: Mapping[str, Symbol],
    unqualified: Unqualified,
) -> exp.Expression:
    """A copy of the tree with exact references."""

    def rewrite(node: exp.Expression) -> exp.Expression:
        if is_next(node):
            return _rewrite_next(node)
        if not isinstance(node, exp.Column):
            return node
        parts = list(node.parts)
        first = parts[0]
        span = span_of(node, default)
        if len(parts) == 1:
            column = find_column(first.name, schema, query, span)
            symbol = unqualified(column, span)
            return _reference(symbol, column, node, [])
        if first.name not in symbols and first.name.lower() in (name.lower() for name in schema.names):
            column = find_column(first.name, schema, query, span)
            return _reference(unqualified(column, span), column, node, parts[1:])
        symbol = find_symbol(first.name, symbols, query, span_of(first, default)).name
        column = find_column(parts[1].name, schema, query, span_of(parts[1], default))
        return _reference(symbol, column, node, parts[2:])

    def _rewrite_next(node: exp.Expression) -> exp.Expression:
        argument = node.this.expressions[0]
        symbol = find_symbol(argument.name, symbols, query, span_of(argument, default)).name
        column = find_column(node.expression.name, schema, query, span_of(node.expression, default))
        copy = node.copy()
        copy.this.expressions[0].this.set("this", symbol)
        copy.expression.set("this", column)
        return copy

    return _transform(tree, rewrite)


def is_next(node: exp.Expression) -> bool:
    """Whether the node is `NEXT(symbol).column`."""
    return (
        isinstance(node, exp.Dot)
        and isinstance(node.this, exp.Anonymous)
        and node.this.name.upper() == "NEXT"
        and isinstance(node.expression, exp.Identifier)
    )


def references(tree: exp.Expression) -> tuple[Reference, ...]:
    """What a qualified tree reads, without repeats, in order of appearance; NEXT(s).c reads s.c."""
    found: dict[Reference, None] = {}

    def visit(node: exp.Expression) -> exp.Expression:
        if is_next(node):
            found.setdefault(Reference(node.this.expressions[0].name, node.expression.name))
        elif isinstance(node, exp.Column):
            found.setdefault(Reference(node.table or None, node.name))
        return node

    _transform(tree, visit)
    return tuple(found)


def _transform(tree: exp.Expression, rewrite: Callable[[exp.Expression], exp.Expression]) -> exp.Expression:
    """Rewrite columns and NEXT references; nothing inside a rewritten node is visited again."""
    if isinstance(tree, exp.Column) or is_next(tree):
        return rewrite(tree)
    copy = tree.copy()
    for key, value in list(copy.args.items()):
        if isinstance(value, exp.Expression):
            copy.set(key, _transform(value, rewrite))
        elif isinstance(value, list):
            copy.set(key, [_transform(v, rewrite) if isinstance(v, exp.Expression) else v for v in value])
    return copy


def _reference(
    symbol: str | None, column: str, node: exp.Expression, fields: list[exp.Identifier]
) -> exp.Expression:
    name = exp.Identifier(this=column, quoted=True)
    table = exp.Identifier(this=symbol, quoted=True) if symbol is not None else None
    positions = [part.meta for part in node.parts if "start" in part.meta]
    if positions:
        name.meta.update(start=positions[0]["start"], end=positions[-1]["end"])
    built: exp.Expression = exp.Column(this=name, table=table)
    for field in fields:
        built = exp.Dot(this=built, expression=field.copy())
    return built
