"""The late intervals of two streams that `ev.allen` relates, as a plan of their own.

A row says of which `side` it is, and has the columns of that side as in a pair's row; those of the other are NULL.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from eventide.families.allen.lower import INTERVAL_END, INTERVAL_START
from eventide.families.allen.spec import AllenSpec
from eventide.families.late.lower import late_events
from eventide.families.late.operator import LateSpec
from eventide.plan.physical import IntervalSide, Physical, SqlColumn, column_as
from eventide.runtime.block import MASK, TS
from eventide.runtime.interval_columns import START

SIDE = "side"


def late_intervals(physical: Physical, schema: pa.Schema) -> Physical:
    """What would return the intervals that come too late; `schema` is that of both sides as one input."""
    related, both = physical.spec, physical.intake.intervals
    assert isinstance(related, AllenSpec)
    assert both is not None
    late = late_events(physical, schema)
    assert isinstance(late.spec, LateSpec)
    blocks = dict(zip(schema.names, late.spec.layout.returned, strict=True))
    shown = [
        _shown(name, side, column, blocks)
        for side, given in zip(both.sides, physical.inputs, strict=True)
        for name, column in given.shown
        if name not in (INTERVAL_START, INTERVAL_END)
    ]
    which = " ".join(f"WHEN {side.bit} THEN '{side.name}'" for side in both.sides)
    return replace(
        late,
        intake=replace(late.intake, intervals=None),
        select=tuple(column_as(MASK, MASK) if column.name == MASK else column for column in late.select),
        spec=replace(late.spec, following=related.following, lag_us=related.lag_us),
        project=(SqlColumn(SIDE, f"CASE `{blocks[MASK]}` {which} END", None), *shown),
    )


def _shown(name: str, side: IntervalSide, column: str, blocks: dict[str, str]) -> SqlColumn:
    inputs = {user: block for block, user in side.names}
    times = {side.start: START, side.end: TS}
    if column not in times:
        return SqlColumn(name, f"`{blocks[inputs[column]]}`", None)
    # Both sides have their times in the same columns.
    return SqlColumn(name, f"CASE WHEN `{blocks[MASK]}` = {side.bit} THEN `{blocks[times[column]]}` END", None)
