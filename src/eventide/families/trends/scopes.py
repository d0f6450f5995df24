"""Where trends are aggregated: every window of every partition that holds an event, as ranges of ordered rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.ordered import Ordered
from eventide.runtime.windows import CountWindows, Slide


@dataclass(frozen=True, slots=True)
class Scopes:
    """First row, row behind the last, start and end of the window, of each scope."""

    lo: IntArray
    hi: IntArray
    start: IntArray
    end: IntArray

    def select(self, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Scopes:
        return Scopes(self.lo[keep], self.hi[keep], self.start[keep], self.end[keep])


def whole_partitions(ordered: Ordered) -> Scopes:
    """One scope a partition; its window has no borders."""
    lo, hi = ordered.offsets[:-1], ordered.offsets[1:]
    keep = hi > lo
    nothing = np.zeros(int(keep.sum()), dtype=np.int64)
    return Scopes(lo[keep], hi[keep], nothing, nothing)


def time_windows(ordered: Ordered, slide: Slide) -> Scopes:
    """Every window that holds an event, partition by partition."""
    since = ordered.ts_us - slide.origin_us
    newest = since // slide.slide_us
    oldest = (since - slide.length_us) // slide.slide_us + 1
    partition = np.repeat(np.arange(ordered.n_partitions), np.diff(ordered.offsets))
    # Neighbours in time lie in the same windows, mostly: one row for each run of them.
    first = np.ones(since.size, dtype=np.bool_)
    first[1:] = (newest[1:] != newest[:-1]) | (oldest[1:] != oldest[:-1]) | (partition[1:] != partition[:-1])
    newest, oldest, partition = newest[first], oldest[first], partition[first]
    # A window that the run before held already is not begun again.
    begins = oldest.copy()
    begins[1:] = np.where(partition[1:] == partition[:-1], np.maximum(oldest[1:], newest[:-1] + 1), oldest[1:])
    count = np.maximum(newest - begins + 1, 0)
    owner = np.repeat(partition, count)
    within = np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count)
    start = slide.origin_us + (np.repeat(begins, count) + within) * slide.slide_us
    return _rows(ordered, owner, start, start + slide.length_us, ordered.ts_us)


def count_windows(ordered: Ordered, windows: CountWindows) -> Scopes:
    """Windows over positions; those that the partition does not fill, too."""
    sizes = np.diff(ordered.offsets)
    count = -(-sizes // windows.slide)
    owner = np.repeat(np.arange(sizes.size), count)
    start = (np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count)) * windows.slide
    end = start + windows.length
    lo = ordered.offsets[owner] + start
    hi = np.minimum(ordered.offsets[owner] + end, ordered.offsets[owner + 1])
    return Scopes(lo, hi, start, end)


def _rows(ordered: Ordered, owner: IntArray, start: IntArray, end: IntArray, ts_us: IntArray) -> Scopes:
    """The rows of each window, in those of its partition."""
    first, behind = ordered.offsets[owner], ordered.offsets[owner + 1]
    return Scopes(_search(ts_us, first, behind, start), _search(ts_us, first, behind, end), start, end)


def _search(ts_us: IntArray, lo: IntArray, hi: IntArray, times: IntArray) -> IntArray:
    """The first row of each range that is not before a time, by halving all ranges at once."""
    while (is_open := lo < hi).any():
        middle = (lo + hi) // 2
        # A range that is closed may stand behind the last row.
        is_before = ts_us[np.minimum(middle, ts_us.size - 1)] < times
        lo, hi = np.where(is_open & is_before, middle + 1, lo), np.where(is_open & ~is_before, middle, hi)
    return lo
