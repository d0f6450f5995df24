"""Intervals of one side as arrays, and in an order with what lets a search pass over runs of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.families.allen.kernel import BY_END, BY_START, FAN
from eventide.runtime.by_code import order_by_code
from eventide.runtime.kernels.arrays import BoolArray, IntArray
from eventide.runtime.kernels.order import is_sorted

# rows, partition offsets, keys, values, and the least and greatest value of each run by level
Index = tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals; `rows` are their places in the block."""

    rows: IntArray
    codes: IntArray
    start_us: IntArray
    end_us: IntArray

    def take(self, wanted: BoolArray | IntArray) -> Intervals:
        return Intervals(self.rows[wanted], self.codes[wanted], self.start_us[wanted], self.end_us[wanted])

    def ordered(self, n_codes: int) -> Intervals:
        """By partition and start: neighbours look at neighbours on the other side."""
        by_start = None if is_sorted(self.start_us) else np.argsort(self.start_us, kind="stable")
        return self.take(order_by_code(self.codes, n_codes, by_start)[0])

    def arrays(self) -> tuple[IntArray, IntArray, IntArray]:
        return self.codes, self.start_us, self.end_us


def make_index(rights: Intervals, n_codes: int, relations: int) -> tuple[Index, Index]:
    """The orders by start and by end; one that no relation asks for is empty."""
    nothing = rights.take(np.empty(0, dtype=np.int64))
    by_start = rights if relations & BY_START else nothing
    by_end = rights if relations & BY_END else nothing
    return (
        _index(by_start, by_start.start_us, by_start.end_us, n_codes),
        _index(by_end, by_end.end_us, by_end.start_us, n_codes),
    )


def _index(intervals: Intervals, keys: IntArray, values: IntArray, n_codes: int) -> Index:
    order, offsets = order_by_code(intervals.codes, n_codes, _by_pairs(keys, values))
    return intervals.rows[order], offsets, keys[order], values[order], *_nodes(values[order])


def _by_pairs(keys: IntArray, values: IntArray) -> IntArray | None:
    """The order by key, then value; None: as they are."""
    order = None if is_sorted(values) else np.argsort(values, kind="stable")
    keys = keys if order is None else keys[order]
    if is_sorted(keys):
        return order
    by_key = np.argsort(keys, kind="stable")
    return by_key if order is None else order[by_key]


def _nodes(values: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The least and greatest of every 16 values, of every 16 of those, and so on; where each level begins."""
    low, high = values, values
    lows, highs, borders = [values[:0]], [values[:0]], [0]
    while low.size > 1:
        begins = np.arange(0, low.size, FAN)
        low, high = np.minimum.reduceat(low, begins), np.maximum.reduceat(high, begins)
        lows.append(low)
        highs.append(high)
        borders.append(borders[-1] + low.size)
    return np.concatenate(lows), np.concatenate(highs), np.array(borders, dtype=np.int64)
