"""What a block of intervals needs besides what events do: ends that fit their starts."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import InputError
from eventide.plan.physical import Intake, IntervalIntake
from eventide.runtime.block import MASK, TS
from eventide.runtime.interval_columns import START

_HINT = 'correct it, or pass on_bad_event="drop" to drop and count such rows'


def check_intervals(raw: pa.Table, intake: Intake, intervals: IntervalIntake) -> tuple[pa.Table, int]:
    """The rows that are intervals, and how many are not: times in the user's type, NULL or in the wrong order."""
    start, end = raw.column(START), raw.column(TS)
    is_good = pc.fill_null(pc.less_equal(start, end), False)
    n_bad = raw.num_rows - (pc.sum(is_good).as_py() or 0)
    if not n_bad:
        return raw, 0
    if not intake.drop_bad_events:
        raise _bad_interval(raw.filter(pc.invert(is_good)).slice(0, 1), intervals)
    return raw.filter(is_good), n_bad


def _bad_interval(row: pa.Table, intervals: IntervalIntake) -> InputError:
    values = {name: row.column(name)[0].as_py() for name in row.schema.names}
    side = next(side for side in intervals.sides if values[MASK] & side.bit)
    start, end = values[START], values[TS]
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
    return InputError(f"{message}{_which(times + shown)}", hint=_HINT)


def _which(shown: list[tuple[str, object]]) -> str:
    known = [f"{name} = {_show(value)}" for name, value in shown]
    return f" in the row with {', '.join(known)}" if known else ""


def _show(value: object) -> str:
    # Times as they are read, not as Python writes them.
    text = "NULL" if value is None else str(value) if hasattr(value, "isoformat") else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
