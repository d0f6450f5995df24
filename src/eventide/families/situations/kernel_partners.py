"""Runs that no match can hold: an ended run whose partner in a touching relation would have to be there, and is not.

All relations but before and after make two runs touch, so whatever such a partner is, it has begun when the run ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit
from eventide.families.situations.kernel import OPEN
from eventide.families.situations.kernel_matches import find_ranges
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.relations import AFTER, BEFORE, DURING, relation


@njit(cache=True, nogil=True)
def drop_alone(runs: Any, borders: IntArray, masks: IntArray) -> None:
    """Take such runs out of all arrays of `runs` (start, end first), again as long as some are found."""
    start, end = runs[0], runs[1]
    n, n_borders = borders.shape
    is_dead = np.zeros(start.size, dtype=np.bool_)
    ranges = np.empty(10, dtype=np.int64)
    n_dead = 1
    while n_dead:
        n_dead = 0
        for k in range(n):
            for j in range(n):
                mask = masks[j, k]
                if mask == 0 or mask & (BEFORE | AFTER):
                    continue
                for p in range(n_borders - 1):
                    for i in range(borders[k, p], borders[k, p + 1]):
                        if end[i] == OPEN or is_dead[i]:
                            continue
                        if not _has_partner(start, end, i, borders[j, p], borders[j, p + 1], mask, ranges):
                            is_dead[i] = True
                            n_dead += 1
        if n_dead:
            for k in range(n):
                _compact(runs, borders[k], is_dead)
            is_dead[:] = False


@njit(cache=True, nogil=True)
def _has_partner(start: IntArray, end: IntArray, i: int, lo: int, hi: int, mask: int, ranges: IntArray) -> bool:
    find_ranges(start, end, lo, hi, i, mask, ranges)
    if mask & DURING and ranges[4] < ranges[5]:
        return True
    for side in (2, 6):
        for other in range(ranges[side], ranges[side + 1]):
            if relation(start[other], end[other], start[i], end[i]) & mask:
                return True
    return False


@njit(cache=True, nogil=True)
def _compact(runs: Any, borders: IntArray, is_dead: Any) -> None:
    start, end, ready, told, lo, hi, origin = runs
    place = borders[0]
    stop = borders[0]
    for p in range(borders.size - 1):
        first, stop = stop, borders[p + 1]
        for i in range(first, stop):
            if not is_dead[i]:
                start[place], end[place], ready[place], told[place] = start[i], end[i], ready[i], told[i]
                lo[place], hi[place], origin[place] = lo[i], hi[i], origin[i]
                place += 1
        borders[p + 1] = place
