"""The late events of a plan's input, as a plan of their own."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from eventide.families.late.operator import LateSpec
from eventide.plan.columns import zero
from eventide.plan.physical import Physical, column_as
from eventide.runtime.block import MASK, TS, Layout


def late_events(physical: Physical, schema: pa.Schema) -> Physical:
    """What would return the events that `physical` drops because they are late: all their columns."""
    partition = [column for column in physical.select if column.name in physical.intake.layout.partition]
    layout = Layout(len(partition), n_values=0, n_returned=len(schema.names))
    names = list(zip(layout.returned, schema.names, strict=True))
    time = next(column for column in physical.select if column.name == TS)
    return replace(
        physical,
        intake=replace(physical.intake, layout=layout, keep_all=True, names=tuple(names)),
        select=(*partition, time, zero(MASK), *(column_as(block, name) for block, name in names)),
        spec=LateSpec(f"late events of\n{physical.spec.query}", layout),
        project=tuple(column_as(name, block, origin=name) for block, name in names),
        reads=tuple(schema.names),
        output_schema=pa.schema([pa.field(block, schema.field(name).type) for block, name in names]),
        computed=(),
        wanted=None,
        needed=None,
    )
