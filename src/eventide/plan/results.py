"""The columns of a result: what Eventide adds to RETURN, and how the user's columns are made of the operator's."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.plan.bound import Bound, Item
from eventide.plan.columns import Columns
from eventide.plan.expressions.typecheck import columns_of, typecheck
from eventide.plan.expressions.write_sql import FROM_RESULT, write_duckdb, write_spark
from eventide.plan.physical import SqlColumn


def added_fields(plan: Bound) -> list[pa.Field]:
    """What every row carries besides RETURN."""
    times = plan.time_type.arrow
    fields = []
    if plan.query.window and plan.query.window.slide:
        fields += [pa.field("window_start", times), pa.field("window_end", times)]
    if plan.options.match_id:
        fields.append(pa.field("match_id", pa.string()))
    return [*fields, pa.field("detected_at", times)]


def added_columns(plan: Bound) -> list[SqlColumn]:
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


def project_item(item: Item, tree: exp.Expr, schema: pa.Schema, plan: Bound, columns: Columns) -> SqlColumn:
    """One RETURN column over the operator's columns."""
    assert isinstance(tree, exp.Expression)
    if isinstance(tree, exp.Column):
        return SqlColumn(item.name, f"`{tree.name}`", f'"{tree.name}"', origin=item.tree.name)
    text, span = plan.query.text, item.span
    resolve = columns_of(schema, text, span)
    try:
        duckdb = write_duckdb(tree, resolve, text, span, FROM_RESULT)
    except QueryError:
        if columns.engine == "local":
            raise
        return SqlColumn(item.name, write_spark(tree), None)
    return SqlColumn(item.name, write_spark(tree), duckdb, dtype=typecheck(tree, resolve, text, span))
