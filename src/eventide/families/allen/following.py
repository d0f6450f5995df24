"""The plan of `ev.allen` over intervals that the same streaming query derives: they come some time after their end."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from eventide.families.allen.lower import INTERVAL_END
from eventide.families.allen.spec import COMPOSITE_END, LAST_END, AllenSpec
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.physical import Physical, column_as


def behind(physical: Physical, following: int, lag_us: int) -> Physical:
    """The plan for sides, as bits, that come up to so long after their end; the result says when a pair was decided."""
    spec, schema = physical.spec, physical.output_schema
    assert isinstance(spec, AllenSpec)
    assert schema is not None
    query = f"{spec.query} BEHIND {write_length(Length(lag_us))}" if lag_us else spec.query
    spec = replace(spec, query=query, following=following, lag_us=lag_us)
    if not lag_us:
        return replace(physical, spec=spec)
    last = column_as(INTERVAL_END, LAST_END, origin=INTERVAL_END)
    columns = [last if column.name == INTERVAL_END else column for column in physical.project]
    columns.append(column_as(COMPOSITE_END, COMPOSITE_END, origin=INTERVAL_END))
    added = pa.field(LAST_END, schema.field(COMPOSITE_END).type)
    return replace(physical, spec=spec, project=tuple(columns), output_schema=schema.append(added))
