"""How far the search of each partition has come, from one call to the next.

Between calls it lives in the marks of the rows that are kept: those before the next attempt are marked PASSED, and
hold the number of the next match; those that belong to a match already are marked MATCHED, for WITH UNMATCHED ROWS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eventide.families.rows.kernel_places import IS_OPEN, NEXT_NUMBER, NEXT_ROW, STOP_ROW
from eventide.families.rows.spec import RowsSpec
from eventide.runtime.block import MAX_US
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.marked import GONE, Held, Marks
from eventide.runtime.row_order import OrderedRows

PASSED, MATCHED = 1, 2


def split_sessions(ordered: OrderedRows, ts_us: IntArray, gap_us: int) -> tuple[OrderedRows, NDArray[np.bool_]]:
    """Partitions cut where two neighbouring rows are `gap_us` or more apart, and which parts are the last of theirs.

    `ts_us` is in row order.

    >>> rows = OrderedRows(np.arange(4), np.array([0, 3, 4]))
    >>> parts, is_last = split_sessions(rows, np.array([0, 5, 20, 21]), 10)
    >>> parts.offsets.tolist(), is_last.tolist()
    ([0, 2, 3, 4], [False, True, True])
    """
    gaps = np.flatnonzero(np.diff(ts_us) >= gap_us) + 1
    offsets = np.union1d(ordered.offsets, gaps)
    return replace(ordered, offsets=offsets), np.isin(offsets[1:], ordered.offsets[1:])


@dataclass(frozen=True, slots=True)
class Progress:
    """For each partition the row of `progress` in the kernel that says where its search goes on."""

    table: IntArray
    first: IntArray  # where the search began, to tell later which rows it decided
    matched: NDArray[np.bool_]  # rows in row order that belong to a match

    @staticmethod
    def of(held: Held, ordered: OrderedRows, is_open: NDArray[np.bool_]) -> Progress:
        """As the marks tell it; without any, from the first row of each partition."""
        offsets = ordered.offsets
        low = offsets[:-1]
        table = np.zeros((low.size, 4), dtype=np.int64)
        table[:, NEXT_ROW], table[:, NEXT_NUMBER], table[:, STOP_ROW] = low, 1, offsets[1:]
        matched = np.zeros(ordered.order.size, dtype=np.bool_)
        if held.marks is not None:
            marks = held.marks[ordered.order]
            matched = marks == MATCHED
            n_passed = np.add.reduceat((marks == PASSED).astype(np.int64), low)
            begun = n_passed > 0
            # Equal rows may have changed places: their number tells, not which ones are marked.
            table[:, NEXT_ROW] += n_passed
            if held.numbers is not None:
                numbers = np.maximum.reduceat(held.numbers[ordered.order], low)
                table[begun, NEXT_NUMBER] = np.maximum(numbers[begun], 1)
        table[:, IS_OPEN] = is_open
        return Progress(table, table[:, NEXT_ROW].copy(), matched)

    def limit(self, first: int, stop: int) -> None:
        """In the one partition matches begin from a row on and before another."""
        self.table[0, [NEXT_ROW, STOP_ROW]] = first, stop
        self.first[0] = first

    def decided(self) -> NDArray[np.bool_]:
        """The rows, in row order, that no later attempt can begin at, and that some earlier call had not passed."""
        n = self.matched.size + 1
        begins, ends = np.bincount(self.first, minlength=n), np.bincount(self.table[:, NEXT_ROW], minlength=n)
        return np.cumsum(begins - ends)[:-1] > 0

    def marks(self, spec: RowsSpec, ordered: OrderedRows) -> tuple[Marks, IntArray]:
        """The new marks and numbers of the held rows."""
        offsets = ordered.offsets
        sizes = np.diff(offsets)
        at = np.arange(ordered.order.size, dtype=np.int64)
        next_row = np.repeat(self.table[:, NEXT_ROW], sizes)
        is_open = np.repeat(self.table[:, IS_OPEN] != 0, sizes)
        marks = np.where(self.matched, MATCHED, 0).astype(np.uint8)
        marks[at < next_row] = PASSED
        marks[(at < next_row - spec.n_kept) | ~is_open] = GONE
        numbers = np.zeros(at.size, dtype=np.int64)
        if spec.shows_number:
            numbers = np.where(marks == PASSED, np.repeat(self.table[:, NEXT_NUMBER], sizes), 0)
        new_marks, new_numbers = np.empty_like(marks), np.empty_like(numbers)
        new_marks[ordered.order], new_numbers[ordered.order] = marks, numbers
        return new_marks, new_numbers

    def waits(self, ordered: OrderedRows) -> NDArray[np.bool_]:
        """The partitions with an attempt that more rows may decide."""
        waits: NDArray[np.bool_] = (self.table[:, NEXT_ROW] < ordered.offsets[1:]) & (self.table[:, IS_OPEN] != 0)
        return waits

    def next_us(self, spec: RowsSpec, ordered: OrderedRows, ts_us: IntArray, watermark_us: int) -> int:
        """The earliest time at which a watermark alone would decide something; MAX_US: none would."""
        waits = self.waits(ordered)
        if not spec.is_timed or not waits.any():
            return MAX_US
        soon = ts_us[self.table[waits, NEXT_ROW]] + spec.span_us - 1
        if spec.ttl_us is not None:
            # What waits for rows ahead is over when the partition is.
            soon = np.where(soon > watermark_us, soon, ts_us[ordered.offsets[1:][waits] - 1] + spec.ttl_us - 1)
        later = soon[soon > watermark_us]
        return int(later.min(initial=MAX_US))
