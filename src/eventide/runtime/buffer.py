"""The events an operator holds between calls, as numbered immutable segments.

A segment is what arrived in one call and still mattered after it; it leaves whole, once its newest event is too
old to matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.runtime.block import MASK, MAX_US, MIN_US, TS, concatenate, from_bytes, numpy_int64, to_bytes
from eventide.runtime.kernels.order import is_sorted


@dataclass(slots=True)
class _Segment:
    block: pa.Table
    newest_us: int
    data: bytes | None = None  # as written to or read from a snapshot


class EventBuffer:
    """Segments by number, oldest first.

    >>> buffer = EventBuffer()
    >>> buffer.append(pa.table({"ts": [10, 20]}))
    >>> buffer.append(pa.table({"ts": [30]}))
    >>> buffer.purge(older_than_us=30)
    >>> buffer.select(up_to_us=30).column("ts").to_pylist()
    [30]
    """

    def __init__(self) -> None:
        self._segments: dict[int, _Segment] = {}
        self._next_number = 0

    def append(self, block: pa.Table) -> None:
        """Keep a block as a new segment."""
        if block.num_rows:
            self._segments[self._next_number] = _Segment(block, pc.max(block.column(TS)).as_py())
            self._next_number += 1

    def select(self, up_to_us: int) -> pa.Table | None:
        """All events with ts <= up_to_us as one block; None when there are none."""
        blocks = []
        for segment in self._segments.values():
            block = segment.block
            if segment.newest_us > up_to_us:
                block = _cut(block, up_to_us + 1)[0]
            if block.num_rows:
                blocks.append(block)
        return concatenate(blocks) if blocks else None

    def select_all(self) -> pa.Table | None:
        """All events as one block; None when there are none."""
        return self.select(up_to_us=MAX_US)

    def count(self, up_to_us: int) -> int:
        """How many events have ts <= up_to_us."""
        n = 0
        for segment in self._segments.values():
            if segment.newest_us <= up_to_us:
                n += segment.block.num_rows
            else:
                n += pc.sum(pc.less_equal(segment.block.column(TS), up_to_us)).as_py() or 0
        return n

    def count_marked(self, bits: int, from_us: int) -> int:
        """How many events with ts >= from_us have one of the bits in their mask."""
        n = 0
        for segment in self._segments.values():
            if segment.newest_us >= from_us:
                has_bit = numpy_int64(segment.block.column(MASK)) & bits != 0
                n += int(np.count_nonzero(has_bit & (numpy_int64(segment.block.column(TS)) >= from_us)))
        return n

    def take_out(self, up_to_us: int) -> pa.Table | None:
        """The events with ts <= up_to_us, which are held no longer; what is left of their segments is a new one."""
        taken, left = [], []
        for number, segment in list(self._segments.items()):
            before, after = _cut(segment.block, up_to_us + 1)
            if before.num_rows:
                taken.append(before)
                left.append(after)
                del self._segments[number]
        if taken:
            self.append(concatenate(left))
        return concatenate(taken) if taken else None

    def earliest_after(self, us: int) -> int | None:
        """The time of the earliest event later than `us`."""
        earliest = MAX_US
        for segment in self._segments.values():
            if segment.newest_us > us:
                ts = segment.block.column(TS)
                earliest = min(earliest, pc.min(ts.filter(pc.greater(ts, us))).as_py())
        return None if earliest == MAX_US else earliest

    def newest_us(self) -> int:
        """The time of the newest event held."""
        return max((segment.newest_us for segment in self._segments.values()), default=MIN_US)

    def purge(self, older_than_us: int) -> None:
        """Forget the segments that hold only events with ts < older_than_us, and such events of unsaved segments."""
        for number in [n for n, segment in self._segments.items() if segment.newest_us < older_than_us]:
            del self._segments[number]
        for segment in self._segments.values():
            if segment.data is None:
                kept = _cut(segment.block, older_than_us)[1]
                # A slice holds the memory of the whole.
                is_small = 2 * kept.num_rows < segment.block.num_rows
                segment.block = kept.take(pa.array(np.arange(kept.num_rows))) if is_small else kept

    def clear(self) -> None:
        self._segments.clear()

    def memory_bytes(self) -> int:
        return sum(segment.block.nbytes for segment in self._segments.values())

    def segments(self) -> dict[int, bytes]:
        """Each segment's bytes; a segment is serialised once in its life."""
        for segment in self._segments.values():
            if segment.data is None:
                segment.data = to_bytes(segment.block)
        return {n: segment.data for n, segment in self._segments.items() if segment.data is not None}

    def take_number(self) -> int:
        """A number for a segment that the operator holds itself."""
        self._next_number += 1
        return self._next_number - 1

    @property
    def next_number(self) -> int:
        return self._next_number

    def restore(self, segments: Mapping[int, bytes], next_number: int) -> None:
        """Take over the segments of a snapshot."""
        self._next_number = next_number
        for number in sorted(segments):
            block = from_bytes(segments[number])
            block.validate()
            newest_us = pc.max(block.column(TS)).as_py()
            self._segments[number] = _Segment(block, newest_us, segments[number])


def _cut(block: pa.Table, us: int) -> tuple[pa.Table, pa.Table]:
    """The events before an instant, and those from it on; in order of time they are slices."""
    column = block.column(TS)
    if pa.types.is_int64(column.type):
        ts_us = column.to_numpy()
        if is_sorted(ts_us):
            place = int(np.searchsorted(ts_us, us))
            return block.slice(0, place), block.slice(place)
    return block.filter(pc.less(column, us)), block.filter(pc.greater_equal(column, us))
