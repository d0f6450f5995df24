"""What is open between two calls: of each interval its first and last event, those with extreme values, aggregates.

The events lie in a table, `width` of them for each interval: first, last, then one for each extreme. Before the next
block is worked off they are put in front of it, so that all of its code finds them as rows.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventide.kernels.arrays import IntArray
from eventide.kernels.intervals import COUNT, FIRST, LAST
from eventide.operators.block import MAX_US, TS, from_bytes, numpy_int64, to_bytes
from eventide.operators.encode import place
from eventide.operators.intervals.spec import IntervalSpec
from eventide.operators.marked import read_array, write_array

Kept = tuple[IntArray, NDArray[np.float64], IntArray, IntArray]  # integers, doubles, counts, rows of extreme values
_DTYPES = (np.int64, np.float64, np.int64)


@dataclass(frozen=True, slots=True)
class Opened:
    """The open intervals; `numbers` are the kept integers, doubles and counts."""

    events: pa.Table | None
    counts: IntArray
    numbers: tuple[NDArray[Any], ...]
    earliest_us: int = MAX_US  # of the last events

    @staticmethod
    def none(spec: IntervalSpec) -> Opened:
        numbers = tuple(np.empty((0, size), dtype) for size, dtype in zip(spec.sizes, _DTYPES, strict=False))
        return Opened(None, np.empty(0, np.int64), numbers)

    @property
    def size(self) -> int:
        return self.counts.size

    @property
    def n_events(self) -> int:
        return 0 if self.events is None else self.events.num_rows

    def memory_bytes(self) -> int:
        arrays = sum(array.nbytes for array in (self.counts, *self.numbers))
        return arrays + (0 if self.events is None else self.events.nbytes)

    def written(self) -> dict[str, Any]:
        """As text and numbers, for a snapshot."""
        if self.events is None:
            return {}
        return {
            "events": base64.b64encode(to_bytes(self.events)).decode(),
            "counts": write_array(self.counts),
            "numbers": [write_array(np.ascontiguousarray(array)) for array in self.numbers],
        }

    @staticmethod
    def read(written: dict[str, Any], spec: IntervalSpec) -> Opened:
        """What `written` gave."""
        if not written:
            return Opened.none(spec)
        events = from_bytes(base64.b64decode(written["events"]))
        counts = read_array(written["counts"], np.int64)
        numbers = tuple(
            read_array(text, dtype).reshape(counts.size, size)
            for text, size, dtype in zip(written["numbers"], spec.sizes, _DTYPES, strict=False)
        )
        return Opened(events, counts, numbers, _earliest(events, spec))

    def load(self, spec: IntervalSpec, slots: IntArray, cols: Any, opened: IntArray, kept: Kept) -> None:
        """Into the arrays of the slots, over rows of a block that begins with the events."""
        first = np.arange(self.size, dtype=np.int64) * _width(spec)
        opened[slots, FIRST], opened[slots, LAST], opened[slots, COUNT] = first, first + 1, self.counts
        for target, values in zip(kept, self.numbers, strict=False):
            target[slots] = values
        for i, extreme in enumerate(spec.extremes):
            kept[3][slots, i] = first + 2 + i
            # Codes of strings are the block's own.
            array, row = place(spec.encodings, extreme.encoding)
            kept[extreme.array][slots, extreme.place] = cols[array][row, first + 2 + i]

    @staticmethod
    def of(spec: IntervalSpec, block: pa.Table, slots: IntArray, opened: IntArray, kept: Kept) -> Opened:
        """What is open in these slots."""
        if not slots.size:
            return Opened.none(spec)
        rows = np.empty((slots.size, _width(spec)), dtype=np.int64)
        rows[:, 0], rows[:, 1] = opened[slots, FIRST], opened[slots, LAST]
        rows[:, 2:] = kept[3][slots]
        events = block.take(pa.array(rows.reshape(-1)))
        numbers = tuple(array[slots] for array in kept[:3])
        return Opened(events, opened[slots, COUNT], numbers, _earliest(events, spec))


def _width(spec: IntervalSpec) -> int:
    return 2 + len(spec.extremes)


def _earliest(events: pa.Table, spec: IntervalSpec) -> int:
    """The time of the earliest last event."""
    return int(numpy_int64(events.column(TS))[1 :: _width(spec)].min())


def slots_of(codes: IntArray, opened: Opened, spec: IntervalSpec) -> IntArray:
    """The slot of each open interval, from the codes of a block that begins with their events."""
    return codes[: opened.n_events : _width(spec)].astype(np.int64)
