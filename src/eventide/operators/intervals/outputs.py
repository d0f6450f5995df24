"""Closed intervals to rows: partition, start, end, count, and what the values read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventide.kernels.arrays import IntArray
from eventide.operators.intervals.spec import COUNT, END, EXTREME, FIRST, START, Folded, IntervalSpec, Taken
from eventide.operators.taken import decimals, take


@dataclass(frozen=True, slots=True)
class Closed:
    """Intervals by the rows of their first and last event; `kept` are their aggregates."""

    first: IntArray
    last: IntArray
    count: IntArray
    kept: tuple[NDArray[Any], ...]


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
    yield pa.RecordBatch.from_pydict(columns)


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
