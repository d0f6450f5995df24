"""The columns of a result: what Eventide adds to RETURN, and how the user's columns are made of the operator's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import EventideError, QueryError
from eventide.expressions.readings import readings
from eventide.expressions.typecheck import bind, columns_of
from eventide.expressions.typed import Source, Typed
from eventide.expressions.write_sql import FROM_RESULT, Names, write_spark, write_typed
from eventide.plan.columns import Columns
from eventide.plan.logical import Item, Match
from eventide.plan.physical import SqlColumn, column_as


def added_fields(plan: Match) -> list[pa.Field]:
    """What every row carries besides RETURN; without SLIDE only aggregates are about a window."""
    times, window, fields = plan.time_type.arrow, plan.query.window, []
    if window is not None and (window.slide is not None or plan.aggregates):
        kind = pa.int64() if window.length.in_events else times
        fields += [pa.field("window_start", kind), pa.field("window_end", kind)]
    if plan.options.match_id:
        fields.append(pa.field("match_id", pa.string()))
    return [*fields, pa.field("detected_at", times)]


def added_columns(plan: Match) -> list[SqlColumn]:
    """The same as result columns."""
    times = plan.time_type.arrow
    return [
        column_as(field.name, field.name, origin=plan.ts if field.type == times and field.name != "match_id" else None)
        for field in added_fields(plan)
    ]


def check_result_names(columns: Sequence[SqlColumn], hint: str) -> None:
    """Refuse two columns of one name, in any case."""
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            raise EventideError(f"two columns of the result are called '{column.name}'", hint=hint)
        seen.add(column.name.lower())


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
        return column_as(item.name, tree.name, origin=item.tree.name)
    source = Source(plan.query.text, item.span)
    typed = bind(tree, columns_of(schema, source.text, source.span), source.text, source.span)
    return computed_column(item.name, tree, typed, source, columns.engine)


def project_columns(item: Item, name: Callable[[exp.Column], str], plan: Match, columns: Columns) -> SqlColumn:
    """The same for an item that is read from the operator's columns as it stands, each column under its name there."""
    if isinstance(item.tree, exp.Column):
        return column_as(item.name, name(item.tree), origin=item.tree.name)
    typed = plan.types.of(item.tree)
    assert typed is not None
    names = {id(plan.types.of(node)): name(node) for node in readings(item.tree) if isinstance(node, exp.Column)}
    source = Source(plan.query.text, item.span)
    return computed_column(item.name, item.tree, with_names(typed, names), source, columns.engine, name)


def with_names(typed: Typed, names: dict[int, str]) -> Typed:
    """A typed expression with other names for its columns, by the ids of what these were typed as."""
    if typed.op == "column":
        return replace(typed, value=(names[id(typed)], typed.value[1]))
    if not typed.args:
        return typed
    return replace(typed, args=tuple(with_names(arg, names) for arg in typed.args))


def renamed_columns(typed: Typed, names: Mapping[str, str]) -> Typed:
    """A typed expression with its columns under other names."""
    if typed.op == "column":
        return replace(typed, value=(names[typed.value[0]], typed.value[1]))
    return replace(typed, args=tuple(renamed_columns(arg, names) for arg in typed.args)) if typed.args else typed


def computed_column(
    name: str, tree: exp.Expr, typed: Typed, source: Source, engine: str, names: Names | None = None
) -> SqlColumn:
    """A result column that is computed from the operator's; off the allow-list it is an error locally."""
    duckdb: str | None = None
    try:
        duckdb = write_typed(typed, source, FROM_RESULT)
    except QueryError:
        if engine == "local":
            raise
    return SqlColumn(name, write_spark(tree, names), duckdb, dtype=typed.dtype)
