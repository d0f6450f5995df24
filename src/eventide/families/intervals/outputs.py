"""Closed intervals to rows: partition, start, end, count, what the values read, and when they were decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventide.families.intervals.spec import (
    COUNT,
    DETECTED_AT,
    END,
    EXTREME,
    FIRST,
    START,
    Folded,
    IntervalSpec,
    Taken,
)
from eventide.runtime.block import MAX_US
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.taken import decimals, take


@dataclass(frozen=True, slots=True)
class Closed:
    """Intervals by the rows of their first and last event; `kept` are their aggregates.

    `by` are the rows of the events that closed them; None where time or the end of the input did.
    """

    first: IntArray
    last: IntArray
    count: IntArray
    kept: tuple[NDArray[Any], ...]
    by: IntArray | None = None


def rows_of(spec: IntervalSpec, block: pa.Table, ts_us: IntArray, closed: Closed) -> Iterator[pa.RecordBatch]:
    """The operator's rows; none where nothing is closed."""
    if not closed.first.size:
        return
    first = pa.array(closed.first)
    columns: dict[str, pa.Array] = {name: take(block, name, first) for name in spec.layout.partition}
    columns[START] = spec.time_type.restore(ts_us[closed.first])
    columns[END] = spec.time_type.restore(ts_us[closed.last])
    columns[COUNT] = pa.array(closed.count)
    for taken in spec.taken:
        columns[taken.name] = take(block, taken.column, _rows(taken, closed))
    for folded in spec.folded:
        columns[folded.name] = _number(folded, closed.kept)
    if spec.detects:
        columns[DETECTED_AT] = _detected(spec, ts_us, closed)
    yield pa.RecordBatch.from_pydict(columns)


def _detected(spec: IntervalSpec, ts_us: IntArray, closed: Closed) -> pa.Array:
    """When each interval was over for certain; NULL where nothing but the end of the input said so."""
    at_us = np.full(closed.last.size, MAX_US) if closed.by is None else ts_us[closed.by]
    if spec.gap_us is not None:
        # The event that closed a run may have come long after the gap; a full one is over with its last event.
        at_us = np.minimum(at_us, np.minimum(ts_us[closed.last], MAX_US - spec.gap_us) + spec.gap_us)
    is_known = at_us < MAX_US
    times = spec.time_type.restore_up(np.where(is_known, at_us, 0))
    return pc.if_else(pa.array(is_known), times, pa.scalar(None, times.type))


def _rows(taken: Taken, closed: Closed) -> pa.Array:
    """The events that a column is taken of. Where none has a value, the first event stands for the extreme one."""
    if taken.event == EXTREME:
        return pa.array(closed.kept[3][:, taken.extreme])
    return pa.array(closed.first if taken.event == FIRST else closed.last)


def _number(folded: Folded, kept: tuple[NDArray[Any], ...]) -> pa.Array:
    values = np.ascontiguousarray(kept[folded.array][:, folded.place])
    missing = kept[2][:, folded.count] == 0 if folded.count >= 0 else None
    if pa.types.is_decimal(folded.dtype):
        return decimals(values, missing, folded.dtype)
    return pa.array(values, mask=missing).cast(folded.dtype)
