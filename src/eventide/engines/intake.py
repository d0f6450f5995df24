"""Raw selected columns to a block: times to microseconds, bad events found, irrelevant events left out."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import InputError
from eventide.operators.block import MASK, MAX_US, SEQUENCE, TS
from eventide.operators.times import UNIT_US, TimeType
from eventide.plan.physical import Intake


def take_in(raw: pa.Table, intake: Intake) -> tuple[pa.Table, int]:
    """The block and the number of dropped events.

    The raw table has the block's columns; `ts` is still in the user's type and may hold NULLs.
    """
    ts = raw.column(TS)
    n_bad = ts.null_count
    if n_bad:
        bad = pc.is_null(ts)
        if not intake.drop_bad_events:
            raise InputError(_describe(raw.filter(bad).slice(0, 1), intake), hint=_BAD_TIME_HINT)
        raw = raw.filter(pc.invert(bad))
        ts = raw.column(TS)
    if not intake.keep_all:
        relevant = pc.not_equal(raw.column(MASK), 0)
        if not pc.all(relevant, min_count=0).as_py():
            raw = raw.filter(relevant)
            ts = raw.column(TS)
    block = raw.set_column(raw.schema.get_field_index(TS), TS, microseconds(ts, intake))
    return block, n_bad


_BAD_TIME_HINT = 'fill in the time, or pass on_bad_event="drop" to drop and count such events'


def _describe(row: pa.Table, intake: Intake) -> str:
    values = {
        name: row.column(name)[0].as_py() for name in row.column_names if name not in (TS, MASK, SEQUENCE)
    }
    seen = ", ".join(f"{value!r}" for value in values.values())
    return f"an event has no time: '{intake.ts_column}' is NULL in the event with values ({seen})"


def microseconds(ts: pa.ChunkedArray, intake: Intake) -> pa.ChunkedArray:
    """Times in the user's type as int64 microseconds; what does not fit is an InputError."""
    time_type: TimeType = intake.time_type
    try:
        if time_type.unit is not None:
            factor = UNIT_US[time_type.unit]
            wide = ts.cast(pa.int64())
            scaled = wide if factor == 1 else pc.multiply_checked(wide, factor)
            if len(scaled) and pc.max(pc.abs(scaled)).as_py() >= MAX_US:
                raise pa.ArrowInvalid("overflow")
            return scaled
        return ts.cast(pa.timestamp("us", getattr(ts.type, "tz", None))).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise InputError(
            f"a time in '{intake.ts_column}' ({ts.type}) does not fit into whole microseconds",
            hint="round the column to microseconds, or check ts_unit",
        ) from error
