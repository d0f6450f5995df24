"""References in expressions: `A.price`, `price`, `NEXT(A).price`, `A.payload.field`, with exact names and checked.

In: a sqlglot tree as written. Out: a copy in which every reference is `symbol.column` or `NEXT(symbol).column`
with the names of the pattern and of the schema, and struct fields are dotted onto it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pyarrow as pa
from sqlglot import exp

from eventide.errors import EventideError, QueryError
from eventide.expressions.readings import is_next, readings
from eventide.lang.nodes import copied, every_node
from eventide.lang.positions import span_of
from eventide.lang.tree import EventQuery, Span
from eventide.plan.holder import column_hint
from eventide.plan.logical import Reference, Symbol
from eventide.plan.places import error_at
from eventide.plan.symbols import find_symbol

# What an unqualified column means: the symbol it belongs to, or None for a partition column that stays plain.
Unqualified = Callable[[str, Span], str | None]
Fail = Callable[[str, str | None], EventideError]  # message and hint to an error that knows its place


def find_column(name: str, schema: pa.Schema, fail: Fail) -> str:
    """The schema's name for a column, in any case as in Spark."""
    found: list[str] = [known for known in schema.names if known.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    if found:
        hint = "rename one of them: the case of letters does not tell columns apart, as in Spark"
        raise fail(f"column '{name}' is ambiguous: the events have {' and '.join(found)}", hint)
    raise fail(f"unknown column '{name}'", column_hint(name, schema))


def is_orderable(kind: pa.DataType) -> bool:
    """Whether values of the type can be compared and hashed on every engine."""
    return not (pa.types.is_nested(kind) or pa.types.is_interval(kind))


def which_event(query: EventQuery, span: Span, symbols: list[str]) -> QueryError:
    """The error about a column that could be any event's."""
    column = query.text[span.start : span.end]
    hint = "write " + " or ".join(f"{symbol}.{column}" for symbol in symbols[:4])
    return error_at(query, span, f"which event's '{column}'?", hint)


def qualify(
    tree: exp.Expression,
    default: Span,
    query: EventQuery,
    schema: pa.Schema,
    symbols: Mapping[str, Symbol],
    unqualified: Unqualified,
) -> exp.Expression:
    """A copy of the tree with exact references."""
    known = {name.lower() for name in symbols}
    columns = {name.lower() for name in schema.names}
    found: dict[str, str] = {}

    def column_of(part: exp.Expr) -> str:
        if part.name not in found:
            found[part.name] = find_column(part.name, schema, partial(error_at, query, span_of(part, default)))
        return found[part.name]

    def rewrite(node: exp.Expr) -> exp.Expr | None:
        if is_next(node):
            return rewrite_next(copied(node))
        if not isinstance(node, exp.Column):
            return None
        if isinstance(node.this, exp.Star):
            return copied(node)
        first, *rest = node.parts
        span = span_of(node, default)
        if rest and (first.name.lower() in known or first.name.lower() not in columns):
            symbol = find_symbol(first.name, symbols, query, span_of(first, default)).name
            return _reference(symbol, column_of(rest[0]), node, rest[1:])
        if not rest and first.name.lower() in known and first.name.lower() not in columns:
            hint = f"name one of its columns: {first.name}.{schema.names[0] if schema.names else 'column'}"
            raise error_at(query, span, f"'{first.name}' is an event, not a value", hint)
        column = column_of(first)
        return _reference(unqualified(column, span), column, node, rest)

    def rewrite_next(node: exp.Expr) -> exp.Expr:
        argument = node.this.expressions[0]
        symbol = find_symbol(argument.name, symbols, query, span_of(argument, default)).name
        column = column_of(node.expression)
        node.this.expressions[0].this.set("this", symbol)
        node.expression.set("this", column)
        return node

    made = copied(tree, rewrite)
    assert isinstance(made, exp.Expression)
    return made


def hold_counted_symbols(
    tree: exp.Expression, span: Span, query: EventQuery, symbols: Mapping[str, Symbol]
) -> exp.Expression:
    """COUNT(E) and COUNT(E.*) name a symbol, not a column: they become COUNT with an identifier inside."""
    if not any(isinstance(node, exp.Count) for node in every_node(tree)):
        return tree
    copy = tree.copy()
    for count in copy.find_all(exp.Count):
        argument = count.this
        if not isinstance(argument, exp.Column):
            continue
        named = argument.args.get("table") if isinstance(argument.this, exp.Star) else argument.this
        if isinstance(named, exp.Identifier) and (isinstance(argument.this, exp.Star) or not argument.table):
            symbol = find_symbol(named.name, symbols, query, span_of(argument, span))
            held = exp.Identifier(this=symbol.name, quoted=True)
            held.meta.update(named.meta)
            count.set("this", held)
    return copy


def aggregated_symbols(node: exp.AggFunc, symbols: Mapping[str, Symbol]) -> list[Symbol]:
    """The symbols over whose events an aggregate goes."""
    names = [column.table for column in node.find_all(exp.Column)]
    if isinstance(node.this, exp.Identifier):
        names.append(node.this.name)
    return [symbols[name] for name in dict.fromkeys(names) if name in symbols]


def references(tree: exp.Expr) -> tuple[Reference, ...]:
    """What a qualified tree reads, without repeats, in order of appearance; NEXT(s).c reads s.c."""
    found: dict[Reference, None] = {}
    for node in readings(tree):
        if isinstance(node, exp.Column):
            found.setdefault(Reference(node.table or None, node.name))
        else:
            found.setdefault(Reference(node.this.expressions[0].name, node.expression.name))
    return tuple(found)


def _reference(symbol: str | None, column: str, node: exp.Column, fields: list[exp.Expr]) -> exp.Expr:
    name = exp.Identifier(this=column, quoted=True)
    table = exp.Identifier(this=symbol, quoted=True) if symbol is not None else None
    positions = [part.meta for part in node.parts if "start" in part.meta]
    if positions:
        name.meta.update(start=positions[0]["start"], end=positions[-1]["end"])
    built: exp.Expr = exp.Column(this=name, table=table)
    for field in fields:
        built = exp.Dot(this=built, expression=field.copy())
    return built
