"""Rows of streams around a join: those that come too late, and sides that the same query derives."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from eventide.families.joins.lower import SIDE
from eventide.families.joins.spec import JoinSpec
from eventide.families.late.lower import late_events
from eventide.families.late.operator import LateSpec
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.physical import Physical, SqlColumn, column_as
from eventide.runtime.block import MASK


def late_rows(physical: Physical, schema: pa.Schema) -> Physical:
    """What would return the rows that come too late; `schema` is that of both sides as one input.

    A row says of which `side` it is, and has the columns of that side; those of the other are NULL.
    """
    joined, both = physical.spec, physical.intake.intervals
    assert isinstance(joined, JoinSpec)
    assert both is not None
    late = late_events(physical, schema)
    assert isinstance(late.spec, LateSpec)
    blocks = dict(zip(schema.names, late.spec.layout.returned, strict=True))
    which = " ".join(f"WHEN {side.bit} THEN '{side.name}'" for side in both.sides)
    shown = [SqlColumn(SIDE, f"CASE `{blocks[SIDE]}` {which} END", None)]
    for side, given in zip(both.sides, physical.inputs, strict=True):
        columns = [
            column for column in given.select if column.name.startswith(given.name[0]) and column.spark != "NULL"
        ]
        shown += [
            SqlColumn(f"{side.name}_{column.spark.strip('`')}", f"`{blocks[column.name]}`", None) for column in columns
        ]
    return replace(
        late,
        intake=replace(late.intake, intervals=None, ts_column=physical.intake.ts_column),
        select=tuple(column_as(MASK, SIDE) if column.name == MASK else column for column in late.select),
        spec=replace(late.spec, following=joined.following, lag_us=joined.lag_us),
        project=tuple(shown),
    )


def behind(physical: Physical, following: int, lag_us: int) -> Physical:
    """The plan for sides, as bits, that come up to so long after their time."""
    spec = physical.spec
    assert isinstance(spec, JoinSpec)
    query = f"{spec.query}\n-- behind {write_length(Length(lag_us))}" if lag_us else spec.query
    return replace(physical, spec=replace(spec, query=query, following=following, lag_us=lag_us))
