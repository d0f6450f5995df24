"""Raw selected columns to a block: times to microseconds, bad events found, irrelevant events left out."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from eventide.engines.likely_unit import hint_of_unit
from eventide.errors import InputError
from eventide.plan.physical import Intake, IntervalIntake
from eventide.runtime.block import MASK, MAX_US, TS, numpy_int64
from eventide.runtime.hashes import hash_rows
from eventide.runtime.interval_columns import START
from eventide.runtime.near import Near
from eventide.runtime.times import UNIT_US, TimeType


def take_in(raw: pa.Table, intake: Intake) -> tuple[pa.Table, int]:
    """The block and the number of dropped events.

    The raw table has the block's columns; `ts` is still in the user's type and may hold NULLs.
    """
    n_bad = 0
    if intake.intervals is not None:
        raw, n_bad = check_intervals(raw, intake, intake.intervals)
    ts = raw.column(TS)
    n_bad += ts.null_count
    if ts.null_count:
        bad = pc.is_null(ts)
        if not intake.drop_bad_events:
            raise no_time(intake, _which(raw.filter(bad), intake))
        raw = raw.filter(pc.invert(bad))
        ts = raw.column(TS)
    if not intake.keep_all:
        relevant = pc.not_equal(raw.column(MASK), 0)
        if not pc.all(relevant, min_count=0).as_py():
            raw = raw.filter(relevant)
            ts = raw.column(TS)
    block = raw.set_column(raw.schema.get_field_index(TS), TS, microseconds(ts, intake))
    if intake.intervals is not None and intake.intervals.has_start:
        block = block.set_column(block.schema.get_field_index(START), START, microseconds(block.column(START), intake))
    return block, n_bad


def near_rows(raw: pa.Table, near: Near, intake: Intake) -> pa.Table:
    """The rows that are near; a row without a time is kept, so that it is told or counted."""
    ts = raw.column(TS)
    if ts.null_count:
        without = pc.is_null(ts)
        timed = near_rows(raw.filter(pc.invert(without)), near, intake)
        return pa.concat_tables([raw.filter(without), timed])
    hashes = hash_rows(raw, intake.layout.partition)
    return raw.filter(pa.array(near.holds(hashes, numpy_int64(microseconds(ts, intake)))))


def no_time(intake: Intake, which: str) -> InputError:
    """The error about an event without a time; `which` says where it is, as the user knows it."""
    return InputError(f"an event has no time: '{intake.ts_column}' is NULL {which}", hint=intake.no_time_hint)


def _which(bad: pa.Table, intake: Intake) -> str:
    """The first event by the columns that the query reads, under their own names."""
    shown = [f"{name} = {_show(bad.column(block)[0].as_py())}" for block, name in intake.identifying]
    if shown:
        return f"in the event with {', '.join(shown)}"
    return f"in {bad.num_rows:,} event{'s' if bad.num_rows > 1 else ''}, of which the query reads no other column"


def _show(value: object) -> str:
    text = "NULL" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_intervals(raw: pa.Table, intake: Intake, intervals: IntervalIntake) -> tuple[pa.Table, int]:
    """The rows that are intervals, and how many are not: times in the user's type, NULL or in the wrong order."""
    end = raw.column(TS)
    start = raw.column(START) if intervals.has_start else end
    is_good = pc.fill_null(pc.less_equal(start, end), False)
    n_bad = raw.num_rows - (pc.sum(is_good).as_py() or 0)
    if not n_bad:
        return raw, 0
    if not intake.drop_bad_events:
        raise _bad_interval(raw.filter(pc.invert(is_good)).slice(0, 1), intervals)
    return raw.filter(is_good), n_bad


def _bad_interval(row: pa.Table, intervals: IntervalIntake) -> InputError:
    hint = 'correct it, or pass on_bad_event="drop" to drop and count such rows'
    values = {name: row.column(name)[0].as_py() for name in row.schema.names}
    found = [side for side in intervals.sides if values[MASK] & side.bit]
    if not found:
        # A condition that the row does not meet has kept the bit from being set.
        names = " or ".join(side.name for side in intervals.sides)
        return InputError(f"an event of {names} has no time", hint=hint)
    side, end = found[0], values[TS]
    start = values[START] if intervals.has_start else end
    shown = [(name, values[block]) for block, name in side.names]
    if side.start == side.end:
        message, times = f"an event of {side.name} has no time: '{side.end}' is NULL", []
    elif start is None or end is None:
        column = side.start if start is None else side.end
        message = f"an interval of {side.name} has no {'start' if start is None else 'end'}: '{column}' is NULL"
        times = [(side.end, end)] if start is None else [(side.start, start)]
    else:
        message = f"an interval of {side.name} ends before it starts"
        times = [(side.start, start), (side.end, end)]
    return InputError(f"{message}{_row_with(times + shown)}", hint=hint)


def _row_with(shown: list[tuple[str, object]]) -> str:
    # Times as they are read, not as Python writes them.
    known = [f"{name} = {str(value) if hasattr(value, 'isoformat') else _show(value)}" for name, value in shown]
    return f" in the row with {', '.join(known)}" if known else ""


def microseconds(ts: pa.ChunkedArray, intake: Intake) -> pa.ChunkedArray:
    """Times in the user's type as int64 microseconds; what does not fit is an InputError."""
    try:
        times = _scaled(ts, intake.time_type)
    except pa.ArrowInvalid as error:
        raise _misfit(ts, intake) from error
    ends = pc.min_max(times)
    if ends["min"].is_valid and not -MAX_US < ends["min"].as_py() <= ends["max"].as_py() < MAX_US:
        raise _misfit(ts, intake)
    return times


def _scaled(ts: pa.ChunkedArray, time_type: TimeType) -> pa.ChunkedArray:
    if pa.types.is_null(ts.type):
        return ts.cast(pa.int64())
    if time_type.unit is not None:
        counted, unit_us = ts.cast(pa.int64()), UNIT_US[time_type.unit]
        return counted if unit_us == 1 else pc.multiply_checked(counted, unit_us)
    if pa.types.is_date(ts.type):
        return pc.multiply_checked(ts.cast(pa.date32()).cast(pa.int32()).cast(pa.int64()), _DAY_US)
    return ts.cast(pa.timestamp("us", ts.type.tz)).cast(pa.int64())


_DAY_US = 86_400_000_000
_ROUNDED = (
    'pandas: df["{0}"].dt.round("us"), Polars: pl.col("{0}").dt.round("1us"), '
    'PyArrow: pc.round_temporal(table["{0}"], unit="microsecond"), DuckDB: CAST("{0}" AS TIMESTAMP)'
)


def _misfit(ts: pa.ChunkedArray, intake: Intake) -> InputError:
    """The error about the first time that is too fine or too far away."""
    for value in ts:
        try:
            us = _scaled(pa.chunked_array([pa.array([value])]), intake.time_type)[0].as_py()
        except pa.ArrowInvalid:
            us = None
        if value.is_valid and (us is None or not -MAX_US < us < MAX_US):
            break
    number = value.value if pa.types.is_timestamp(ts.type) else value.as_py()
    fine = pa.types.is_timestamp(ts.type) and ts.type.unit == "ns"
    unit = intake.time_type.unit
    reason, hint = "is out of range", hint_of_unit(number, unit) if unit else "correct or drop such events"
    if fine:
        reason = "is not a whole number of microseconds"
        hint = f"round the column to microseconds: {_ROUNDED.format(intake.time_name)}"
    return InputError(f"a time in '{intake.time_name}' ({ts.type}) {reason}: {number}", hint=hint)
