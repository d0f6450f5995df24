"""Pairs of intervals in one of some relations: for each left interval, ranges of right ones instead of all of them.

In: left intervals, and the right ones in order of start and in order of end (an `Index` each). Out: rows and relations.
A relation bounds the key of an order, which makes a range, and the other end, by which `_collect` passes over runs.
Interval algebra after 004, section 3.3; a start that is equal decides first, so that `[p, p]` relates as a point does.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray, ShortArray
from eventide.runtime.kernels.order import first_from
from eventide.runtime.kernels.relations import (
    AFTER,
    BEFORE,
    CONTAINS,
    DURING,
    EQUALS,
    FINISHED_BY,
    FINISHES,
    MEETS,
    MET_BY,
    OVERLAPPED_BY,
    OVERLAPS,
    STARTED_BY,
    STARTS,
)

BY_END: Final = AFTER | MET_BY | FINISHES | FINISHED_BY
BY_START: Final = (1 << 13) - 1 - BY_END
FAN_BITS: Final = 4  # a node stands for 16 of the level below it
FAN: Final = 1 << FAN_BITS
_LATEST: Final = 1 << 62


@njit(cache=True, nogil=True)
def count_related(lefts: Any, index: Any, limits: IntArray, first: int, counts: IntArray) -> None:
    """How many right intervals each of the left ones from `first` on has, as many as `counts` has room for."""
    codes, starts, ends = lefts
    by_start, by_end = index
    rows, held = np.empty(0, np.int64), np.empty(0, np.int16)
    for i in range(counts.size):
        left = first + i
        counts[i] = _relate(codes[left], starts[left], ends[left], by_start, by_end, limits, rows, held, 0)


@njit(cache=True, nogil=True)
def fill_related(
    lefts: Any,
    index: Any,
    limits: IntArray,
    first: int,
    stop: int,
    left_idx: IntArray,
    rows: IntArray,
    held: ShortArray,
) -> None:
    """The pairs of the left intervals from `first` to `stop`: left place, right row, and the relation that held."""
    codes, starts, ends = lefts
    by_start, by_end = index
    n = 0
    for left in range(first, stop):
        found = _relate(codes[left], starts[left], ends[left], by_start, by_end, limits, rows, held, n)
        left_idx[n:found] = left
        n = found


@njit(cache=True, nogil=True)
def _relate(
    code: int,
    start: int,
    end: int,
    by_start: Any,
    by_end: Any,
    limits: IntArray,
    rows: IntArray,
    held: ShortArray,
    n: int,
) -> int:
    """Pairs of one left interval. None is longer than the window, where -1 is none; no right one than `limits[2]`."""
    mask, window_us, longest_us = limits[0], limits[1], limits[2]
    # How far the other ends may be away, for the window's sake.
    latest = start + window_us if window_us >= 0 else _LATEST
    earliest = end - window_us if window_us >= 0 else -_LATEST
    if mask & BY_START:
        n = _relate_by_start(
            code, start, end, by_start, (mask, max(earliest, start - longest_us), latest), rows, held, n
        )
    if mask & BY_END:
        n = _relate_by_end(code, start, end, by_end, (mask, earliest, latest), rows, held, n)
    return n


@njit(cache=True, nogil=True)
def _relate_by_start(
    code: int, start: int, end: int, index: Any, bounds: Any, rows: IntArray, held: ShortArray, n: int
) -> int:
    mask, earliest, latest = bounds
    offsets, starts = index[1], index[2]
    lo, hi = offsets[code], offsets[code + 1]
    at_start = first_from(starts, lo, hi, start)
    behind_start = first_from(starts, at_start, hi, start + 1)
    if mask & (DURING | OVERLAPPED_BY):
        near = first_from(starts, lo, at_start, earliest)
        if mask & DURING:
            n = _collect(index, near, at_start, end + 1, _LATEST, DURING, rows, held, n)
        if mask & OVERLAPPED_BY:
            n = _collect(index, near, at_start, start + 1, end - 1, OVERLAPPED_BY, rows, held, n)
    if mask & EQUALS:
        n = _collect(index, at_start, behind_start, end, end, EQUALS, rows, held, n)
    if mask & STARTS:
        n = _collect(index, at_start, behind_start, end + 1, _LATEST, STARTS, rows, held, n)
    if mask & STARTED_BY:
        n = _collect(index, at_start, behind_start, -_LATEST, end - 1, STARTED_BY, rows, held, n)
    if mask & (OVERLAPS | CONTAINS | MEETS | BEFORE):
        at_end = first_from(starts, behind_start, hi, end)
        if mask & OVERLAPS:
            n = _collect(index, behind_start, at_end, end + 1, latest, OVERLAPS, rows, held, n)
        if mask & CONTAINS:
            n = _collect(index, behind_start, at_end, -_LATEST, end - 1, CONTAINS, rows, held, n)
        behind_end = first_from(starts, at_end, hi, end + 1)
        if mask & MEETS:
            n = _collect(index, at_end, behind_end, -_LATEST, latest, MEETS, rows, held, n)
        if mask & BEFORE:
            far = first_from(starts, behind_end, hi, latest + 1)
            n = _collect(index, behind_end, far, -_LATEST, latest, BEFORE, rows, held, n)
    return n


@njit(cache=True, nogil=True)
def _relate_by_end(
    code: int, start: int, end: int, index: Any, bounds: Any, rows: IntArray, held: ShortArray, n: int
) -> int:
    mask, earliest, _ = bounds
    offsets, ends = index[1], index[2]
    lo, hi = offsets[code], offsets[code + 1]
    at_start = first_from(ends, lo, hi, start)
    if mask & AFTER:
        near = first_from(ends, lo, at_start, earliest)
        n = _collect(index, near, at_start, earliest, _LATEST, AFTER, rows, held, n)
    if mask & MET_BY:
        behind_start = first_from(ends, at_start, hi, start + 1)
        n = _collect(index, at_start, behind_start, earliest, start - 1, MET_BY, rows, held, n)
    # A point ends nothing that it does not meet.
    if mask & (FINISHES | FINISHED_BY) and start < end:
        at_end = first_from(ends, at_start, hi, end)
        behind_end = first_from(ends, at_end, hi, end + 1)
        if mask & FINISHES:
            n = _collect(index, at_end, behind_end, earliest, start - 1, FINISHES, rows, held, n)
        if mask & FINISHED_BY:
            n = _collect(index, at_end, behind_end, start + 1, end - 1, FINISHED_BY, rows, held, n)
    return n


@njit(cache=True, nogil=True)
def _collect(
    index: Any, lo: int, hi: int, least: int, most: int, relation: int, rows: IntArray, held: ShortArray, n: int
) -> int:
    """Take the places in `lo .. hi - 1` whose value lies in `least .. most`; without room they are only counted."""
    own_rows, _, _, values, low, high, borders = index
    n_levels = borders.size - 1
    i = lo if least <= most else hi
    while i < hi:
        level = 0
        # The largest aligned run from here in which no value lies there.
        while level < n_levels and i & ((FAN << FAN_BITS * level) - 1) == 0:
            node = borders[level] + (i >> FAN_BITS * (level + 1))
            if high[node] >= least and low[node] <= most:
                break
            level += 1
        if level:
            i += 1 << FAN_BITS * level
            continue
        if least <= values[i] <= most:
            if rows.size:
                rows[n] = own_rows[i]
                held[n] = relation
            n += 1
        i += 1
    return n
