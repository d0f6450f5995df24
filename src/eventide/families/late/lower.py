"""The late events of a plan's input, as a plan of their own."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from eventide.families.late.operator import LateSpec
from eventide.plan.physical import Physical, SqlColumn
from eventide.plan.row_columns import RowColumns, plain
from eventide.runtime.block import MASK, TS


def late_events(physical: Physical, schema: pa.Schema) -> Physical:
    """What would return the events that `physical` drops because they are late: all their columns."""
    columns = RowColumns((), schema, "spark")
    blocks = [columns.of_column(name) for name in schema.names]
    partition = [column for column in physical.select if column.name in physical.intake.layout.partition]
    layout = replace(columns.layout(0), n_partition=len(partition))
    time = next(column for column in physical.select if column.name == TS)
    fields = [pa.field(block, schema.field(name).type) for block, name in zip(blocks, schema.names, strict=True)]
    return replace(
        physical,
        intake=replace(physical.intake, layout=layout, keep_all=True, names=columns.names()),
        select=(
            *partition,
            time,
            SqlColumn(MASK, "0L", "CAST(0 AS BIGINT)"),
            *(plain(block, name) for block, name in zip(blocks, schema.names, strict=True)),
        ),
        spec=LateSpec(f"late events of\n{physical.spec.query}", layout),
        project=tuple(
            SqlColumn(name, f"`{block}`", f'"{block}"', origin=name)
            for block, name in zip(blocks, schema.names, strict=True)
        ),
        reads=tuple(schema.names),
        output_schema=pa.schema(fields),
        computed=(),
    )
