"""An interval as one instant: which columns it takes, and what the clock says in the type of the times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from eventide.errors import EventideError, InputError
from eventide.plan.scope import argument_column
from eventide.plan.time_column import time_type_of

Clock: TypeAlias = datetime | int
Names: TypeAlias = tuple[str, str, str]  # start, end, and the instant's

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant_columns(schema: pa.Schema, names: Names, at: str) -> list[tuple[str, str | None]]:
    """The result's columns and what they are taken from, None for the clock; the instant stands where the start did."""
    start, end = (
        argument_column(option, name, schema) for option, name in zip(("start", "end"), names[:2], strict=True)
    )
    ts = names[2]
    taken = {"earliest": start, "latest": end, "now": None}[at]
    kept = [name for name in schema.names if name not in (start, end)]
    if ts.lower() in [name.lower() for name in kept]:
        raise InputError(f"there is a column '{ts}' already", hint="name the instant otherwise: ts='at'")
    return [(ts, taken) if name == start else (name, name) for name in schema.names if name != end or start == end]


def clock_time(clock: Clock | Callable[[], Clock] | None, dtype: pa.DataType, ts_unit: str | None) -> pa.Scalar:
    """The clock's time in the type of the time columns."""
    now = clock() if callable(clock) else datetime.now(UTC) if clock is None else clock
    if pa.types.is_integer(dtype) and isinstance(now, int) and not isinstance(now, bool):
        return pa.scalar(now, dtype)
    if not isinstance(now, datetime):
        found = type(now).__name__
        hint = "a datetime, or a function that returns one"
        raise EventideError(f"the clock gives {found}, which is not a time of {dtype}", hint=hint)
    aware = now if now.tzinfo is not None else now.replace(tzinfo=UTC)
    now_us = (aware - _EPOCH) // timedelta(microseconds=1)
    return time_type_of("start", pa.schema({"start": dtype}), ts_unit).restore(np.array([now_us]))[0]
