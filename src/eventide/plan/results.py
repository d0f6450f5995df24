"""The columns of a result: what Eventide adds to RETURN, and how the user's columns are made of the operator's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.readings import readings
from eventide.expressions.typecheck import bind, columns_of
from eventide.expressions.typed import Source, Typed
from eventide.expressions.write_sql import FROM_RESULT, write_spark, write_typed
from eventide.plan.columns import Columns
from eventide.plan.logical import Item, Match
from eventide.plan.physical import SqlColumn


def added_fields(plan: Match) -> list[pa.Field]:
    """What every row carries besides RETURN."""
    times = plan.time_type.arrow
    fields = []
    if plan.query.window and plan.query.window.slide:
        fields += [pa.field("window_start", times), pa.field("window_end", times)]
    if plan.options.match_id:
        fields.append(pa.field("match_id", pa.string()))
    return [*fields, pa.field("detected_at", times)]


def added_columns(plan: Match) -> list[SqlColumn]:
    """The same as result columns."""
    times = [None if field.name == "match_id" else plan.ts for field in added_fields(plan)]
    names = [field.name for field in added_fields(plan)]
    return [SqlColumn(name, f"`{name}`", f'"{name}"', ts) for name, ts in zip(names, times, strict=True)]


def renamed(node: exp.Expr, name: Callable[[exp.Column], str]) -> exp.Expr:
    """A reference under the name that the operator gives to what it reads."""
    if not isinstance(node, exp.Column):
        return node
    identifier = exp.Identifier(this=name(node), quoted=True)
    identifier.meta.update(node.this.meta)
    return exp.Column(this=identifier)


def project_item(item: Item, tree: exp.Expr, schema: pa.Schema, plan: Match, columns: Columns) -> SqlColumn:
    """One RETURN column over the operator's columns; `tree` is what the item becomes over them."""
    assert isinstance(tree, exp.Expression)
    if isinstance(tree, exp.Column):
        return SqlColumn(item.name, f"`{tree.name}`", f'"{tree.name}"', origin=item.tree.name)
    text, span = plan.query.text, item.span
    typed = bind(tree, columns_of(schema, text, span), text, span)
    return _computed(item, typed, write_spark(tree), plan, columns)


def project_columns(item: Item, name: Callable[[exp.Column], str], plan: Match, columns: Columns) -> SqlColumn:
    """The same for an item that is read from the operator's columns as it stands, each column under its name there."""
    if isinstance(item.tree, exp.Column):
        made = name(item.tree)
        return SqlColumn(item.name, f"`{made}`", f'"{made}"', origin=item.tree.name)
    typed = plan.types.of(item.tree)
    assert typed is not None
    names = {id(plan.types.of(node)): name(node) for node in readings(item.tree) if isinstance(node, exp.Column)}
    return _computed(item, _renamed(typed, names), write_spark(item.tree, name), plan, columns)


def _renamed(typed: Typed, names: dict[int, str]) -> Typed:
    if typed.op == "column":
        return replace(typed, value=(names[id(typed)], typed.value[1]))
    if not typed.args:
        return typed
    return replace(typed, args=tuple(_renamed(arg, names) for arg in typed.args))


def _computed(item: Item, typed: Typed, spark: str, plan: Match, columns: Columns) -> SqlColumn:
    try:
        duckdb = write_typed(typed, Source(plan.query.text, item.span), FROM_RESULT)
    except QueryError:
        if columns.engine == "local":
            raise
        return SqlColumn(item.name, spark, None)
    return SqlColumn(item.name, spark, duckdb, dtype=typed.dtype)
