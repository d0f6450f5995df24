"""A query without events: a schema with every column that it mentions, of which only the names can be checked."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.readings import is_next
from eventide.expressions.typecheck import Resolve, bind, columns_of
from eventide.lang.tree import EventQuery, Span
from eventide.plan.logical import Match
from eventide.plan.options import Options
from eventide.plan.references import walk_steps

_ASSUMED = {"eventide": "assumed"}


def assumed_schema(query: EventQuery, options: Options) -> pa.Schema:
    """The columns that the events must have, for `bind`.

    >>> from eventide.lang import parse
    >>> assumed_schema(parse("PATTERN SEQ(A, B) WHERE [user] RETURN A.x, B.at.x"), Options()).names
    ['ts', 'type', 'user', 'x', 'at']
    """
    times = pa.timestamp("us") if options.ts_unit is None else pa.int64()
    columns = {(options.ts or "ts"): times, (options.type or "type"): pa.string()}
    folded = {name.lower() for name in columns}
    for name in _mentioned(query, options):
        if name.lower() not in folded:
            folded.add(name.lower())
            columns[name] = pa.null()
    return pa.schema(columns, metadata=_ASSUMED)


def is_assumed(schema: pa.Schema) -> bool:
    """Whether only the names of the columns are known."""
    return schema.metadata is not None and schema.metadata.get(b"eventide") == b"assumed"


def type_of(tree: exp.Expression, plan: Match, span: Span, resolve: Resolve | None = None) -> pa.DataType | None:
    """The type of a bound expression; None when it has none, and when the columns' types are not known."""
    if is_assumed(plan.schema):
        return None
    text, types = plan.query.text, plan.types
    return bind(tree, resolve or columns_of(plan.schema, text, span, types), text, span, types).dtype


def _mentioned(query: EventQuery, options: Options) -> Iterator[str]:
    yield from options.partition_by
    yield from (name.text for name in (*query.group_by, *query.same))
    if options.sequence is not None:
        yield options.sequence
    for definition in query.define:
        yield from _columns(definition.condition.tree, {definition.name.text.lower()})
    symbols = {step.symbol.lower() for step, _, _ in walk_steps(query.pattern)}
    for scalar in (*query.where, *(item.value for item in query.returns)):
        yield from _columns(scalar.tree, symbols)


def _columns(tree: exp.Expr, symbols: set[str]) -> Iterator[str]:
    """`x` of `A.x`; of `s.x` where `s` is no symbol, `s` may be a column where no symbol needs to be named."""
    for node in tree.walk():
        if is_next(node):
            yield node.expression.name
        elif isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            first, *rest = (part.name for part in node.parts)
            if rest and first.lower() in symbols:
                yield rest[0]
            elif len(symbols) == 1 or (not rest and first.lower() not in symbols):
                yield first
