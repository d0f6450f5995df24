"""The events an operator holds between calls, each with a mark that may change, in numbered immutable segments.

A segment is written once. Marks say what has become of its events since; they are small, and written each time. An
event marked GONE is not seen again; once most of a segment's events are gone, the others move to a new one.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventide.runtime.block import MAX_US, TS, concatenate, numpy_int64
from eventide.runtime.buffer import EventBuffer
from eventide.runtime.kernels.arrays import IntArray

GONE = 255
Marks = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Held:
    """Events that were selected: one block, and for each segment the rows of it that stand there, in this order."""

    block: pa.Table
    places: tuple[tuple[int, IntArray | slice], ...]
    marks: Marks | None = None  # None: no event has one
    numbers: IntArray | None = None


class MarkedBuffer(EventBuffer):
    """Segments by number; each event has a mark and a number, 0 at first.

    >>> buffer = MarkedBuffer()
    >>> buffer.append(pa.table({"ts": [10, 20, 30]}))
    >>> held = buffer.take(up_to_us=20)
    >>> buffer.mark(held, np.array([GONE, 1], dtype=np.uint8), np.zeros(2, np.int64))
    >>> held = buffer.take(up_to_us=30)
    >>> held.block.column("ts").to_pylist(), held.marks.tolist()
    ([20, 30], [1, 0])
    """

    def __init__(self) -> None:
        super().__init__()
        self._marks: dict[int, Marks] = {}
        self._numbers: dict[int, IntArray] = {}

    def take(self, up_to_us: int) -> Held | None:
        """All events with ts <= up_to_us that are not gone; None when there are none."""
        blocks: list[pa.Table] = []
        places: list[tuple[int, IntArray | slice]] = []
        for number, segment in self._segments.items():
            rows: IntArray | slice = slice(None)
            block = segment.block
            if segment.newest_us > up_to_us or number in self._marks:
                wanted = numpy_int64(block.column(TS)) <= up_to_us
                if number in self._marks:
                    wanted &= self._marks[number] != GONE
                rows = np.flatnonzero(wanted)
                block = block.take(pa.array(rows))
            if block.num_rows:
                blocks.append(block)
                places.append((number, rows))
        if not blocks:
            return None
        # Where no event has a mark, none is made up: in a batch that is always so.
        marks = self._of(self._marks, places, blocks, np.uint8) if self._marks else None
        numbers = self._of(self._numbers, places, blocks, np.int64) if self._numbers else None
        return Held(concatenate(blocks), tuple(places), marks, numbers)

    @staticmethod
    def _of(values: dict[int, Any], places: list[tuple[int, Any]], blocks: list[pa.Table], dtype: Any) -> NDArray[Any]:
        return np.concatenate(
            [
                values[number][rows] if number in values else np.zeros(block.num_rows, dtype)
                for (number, rows), block in zip(places, blocks, strict=True)
            ]
        )

    def mark(self, held: Held, marks: Marks, numbers: IntArray) -> None:
        """Give the events that were taken new marks and numbers."""
        start = 0
        for number, rows in held.places:
            n_rows = self._segments[number].block.num_rows
            own = slice(start, start + (n_rows if isinstance(rows, slice) else rows.size))
            start = own.stop
            changed = self._marks.get(number, np.zeros(n_rows, np.uint8)).copy()
            changed[rows] = marks[own]
            self._marks[number] = changed
            if numbers.any() or number in self._numbers:
                counted = self._numbers.get(number, np.zeros(n_rows, np.int64)).copy()
                counted[rows] = numbers[own]
                self._numbers[number] = counted
        self._tidy()

    def _tidy(self) -> None:
        """Forget segments whose events are all gone; move what is left of those that are mostly gone."""
        moved: list[tuple[pa.Table, Marks, IntArray]] = []
        for number, marks in list(self._marks.items()):
            left = np.flatnonzero(marks != GONE)
            # One that nobody has written yet costs nothing to write anew.
            is_new = self._segments[number].data is None
            if 2 * left.size > marks.size and not (is_new and left.size < marks.size):
                continue
            if left.size:
                block = self._segments[number].block.take(pa.array(left))
                numbers = self._numbers.get(number, np.zeros(marks.size, np.int64))[left]
                moved.append((block, marks[left], numbers))
            del self._segments[number], self._marks[number]
            self._numbers.pop(number, None)
        if moved:
            number = self._next_number
            self.append(concatenate([block for block, _, _ in moved]))
            self._marks[number] = np.concatenate([marks for _, marks, _ in moved])
            numbers = np.concatenate([numbers for _, _, numbers in moved])
            if numbers.any():
                self._numbers[number] = numbers

    def earliest_after(self, us: int) -> int | None:
        earliest = MAX_US
        for number, segment in self._segments.items():
            if segment.newest_us > us:
                ts = numpy_int64(segment.block.column(TS))
                wanted = ts > us
                if number in self._marks:
                    wanted &= self._marks[number] != GONE
                earliest = min(earliest, int(ts[wanted].min(initial=MAX_US)))
        return None if earliest == MAX_US else earliest

    def clear(self) -> None:
        super().clear()
        self._marks.clear()
        self._numbers.clear()

    def memory_bytes(self) -> int:
        marks = sum(marks.nbytes for marks in self._marks.values())
        return super().memory_bytes() + marks + sum(numbers.nbytes for numbers in self._numbers.values())

    def written_marks(self) -> dict[str, Any]:
        """Marks and numbers as text."""
        return {
            "marks": {str(number): write_array(marks) for number, marks in self._marks.items()},
            "numbers": {str(number): write_array(numbers) for number, numbers in self._numbers.items()},
        }

    def read_marks(self, written: Mapping[str, Any]) -> None:
        """What `written_marks` gave, once the segments are there."""
        self._marks = {int(n): read_array(text, np.uint8) for n, text in written["marks"].items()}
        self._numbers = {int(n): read_array(text, np.int64) for n, text in written["numbers"].items()}
        sizes = [(number, marks.size) for number, marks in self._marks.items()]
        for number, size in (*sizes, *((number, counted.size) for number, counted in self._numbers.items())):
            if size != self._segments[number].block.num_rows:
                raise ValueError(f"{size} marks for {self._segments[number].block.num_rows} events")


def write_array(array: NDArray[Any]) -> str:
    """An array as text."""
    return base64.b64encode(zlib.compress(array.tobytes(), 1)).decode()


def read_array(text: str, dtype: Any) -> NDArray[Any]:
    """What `write_array` gave.

    >>> read_array(write_array(np.array([1, 2])), np.int64).tolist()
    [1, 2]
    """
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=dtype).copy()
