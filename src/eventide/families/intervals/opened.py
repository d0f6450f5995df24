"""What is open between two calls: of each interval its first and last event, those with extreme values, aggregates.

The events lie in a table, `width` of them for each interval: first, last, then one for each extreme. Before the next
block is worked off they are put in front of it, so that all of its code finds them as rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventide.families.intervals.kernel import COUNT, FIRST, LAST
from eventide.families.intervals.spec import IntervalSpec
from eventide.runtime.block import MAX_US, TS, concatenate, from_bytes, numpy_int64, to_bytes
from eventide.runtime.encode import place
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.marked import read_array, write_array

Kept = tuple[IntArray, NDArray[np.float64], IntArray, IntArray]  # integers, doubles, counts, rows of extreme values
_DTYPES = (np.int64, np.float64, np.int64)
_NUMBERS = "numbers"


@dataclass(frozen=True, slots=True)
class Opened:
    """The open intervals; `numbers` are the kept integers, doubles and counts."""

    events: pa.Table | None
    counts: IntArray
    numbers: tuple[NDArray[Any], ...]
    homes: IntArray  # of each the segment of a snapshot that has it as it is, and its place there; or -1
    earliest_us: int = MAX_US  # of the last events

    @staticmethod
    def none(spec: IntervalSpec) -> Opened:
        numbers = tuple(np.empty((0, size), dtype) for size, dtype in zip(spec.sizes, _DTYPES, strict=False))
        return Opened(None, np.empty(0, np.int64), numbers, no_homes(0))

    @property
    def size(self) -> int:
        return self.counts.size

    @property
    def n_events(self) -> int:
        return 0 if self.events is None else self.events.num_rows

    def memory_bytes(self) -> int:
        arrays = sum(array.nbytes for array in (self.counts, self.homes, *self.numbers))
        return arrays + (0 if self.events is None else self.events.nbytes)

    def written(self) -> bytes:
        """As bytes, for a snapshot; something must be open."""
        assert self.events is not None
        numbers = [write_array(np.ascontiguousarray(array)) for array in self.numbers]
        more = {_NUMBERS: json.dumps({"counts": write_array(self.counts), "numbers": numbers})}
        return to_bytes(self.events.replace_schema_metadata(more))

    @staticmethod
    def read(data: bytes, spec: IntervalSpec) -> Opened:
        """What `written` gave."""
        events = from_bytes(data)
        more = json.loads(events.schema.metadata[_NUMBERS.encode()])
        return _read(events.replace_schema_metadata(None), more, spec)

    def select(self, rows: IntArray, spec: IntervalSpec) -> Opened:
        """Some of the open intervals."""
        if self.events is None or not rows.size:
            return Opened.none(spec)
        width = _width(spec)
        taken = (rows[:, None] * width + np.arange(width)).reshape(-1)
        events = self.events.take(pa.array(taken))
        numbers = tuple(array[rows] for array in self.numbers)
        return Opened(events, self.counts[rows], numbers, self.homes[rows], _earliest(events, spec))

    @staticmethod
    def join(parts: Sequence[Opened], spec: IntervalSpec) -> Opened:
        """All of them together."""
        tables = [part.events for part in parts if part.events is not None]
        if not tables:
            return Opened.none(spec)
        numbers = tuple(np.concatenate(arrays) for arrays in zip(*(part.numbers for part in parts), strict=True))
        counts, homes = (np.concatenate([getattr(part, name) for part in parts]) for name in ("counts", "homes"))
        return Opened(concatenate(tables), counts, numbers, homes, min(part.earliest_us for part in parts))

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
    def of(
        spec: IntervalSpec, block: pa.Table, slots: IntArray, opened: IntArray, kept: Kept, homes: IntArray
    ) -> Opened:
        """What is open in these slots; `homes` are by slot."""
        if not slots.size:
            return Opened.none(spec)
        rows = np.empty((slots.size, _width(spec)), dtype=np.int64)
        rows[:, 0], rows[:, 1] = opened[slots, FIRST], opened[slots, LAST]
        rows[:, 2:] = kept[3][slots]
        events = block.take(pa.array(rows.reshape(-1)))
        numbers = tuple(array[slots] for array in kept[:3])
        return Opened(events, opened[slots, COUNT], numbers, homes[slots], _earliest(events, spec))


def no_homes(n: int) -> IntArray:
    """Of so many that no snapshot has."""
    return np.full((n, 2), -1, dtype=np.int64)


def _read(events: pa.Table, written: dict[str, Any], spec: IntervalSpec) -> Opened:
    counts = read_array(written["counts"], np.int64)
    numbers = tuple(
        read_array(text, dtype).reshape(counts.size, size)
        for text, size, dtype in zip(written["numbers"], spec.sizes, _DTYPES, strict=False)
    )
    if events.num_rows != counts.size * _width(spec):
        raise ValueError(f"{counts.size} open intervals have {events.num_rows} events")
    return Opened(events, counts, numbers, no_homes(counts.size), _earliest(events, spec))


def _width(spec: IntervalSpec) -> int:
    return 2 + len(spec.extremes)


def _earliest(events: pa.Table, spec: IntervalSpec) -> int:
    """The time of the earliest last event."""
    return int(numpy_int64(events.column(TS))[1 :: _width(spec)].min())


def slots_of(codes: IntArray, opened: Opened, spec: IntervalSpec) -> IntArray:
    """The slot of each open interval, from the codes of a block that begins with their events."""
    return codes[: opened.n_events : _width(spec)].astype(np.int64)
