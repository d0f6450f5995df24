"""Measures of row pattern matches: which row an expression reads, and running aggregates.

Everything is asked for at points: the rows of a match at which measures are evaluated, ascending by match and depth.
A match is (first row, begin and length in the array of labels); an empty one has a single point, at depth -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray

COUNT, SUM, MIN, MAX = 0, 1, 2, 3
LARGEST = (1 << 63) - 1


@njit(cache=True, nogil=True)
def pick_rows(
    points: Any, matches: Any, members: Any, from_first: bool, offset: int, shift: int, final: bool, out: IntArray
) -> None:
    """For each point the row that FIRST or LAST with its offset, then PREV or NEXT, leads to; -1: there is none.

    `points` are (match, depth), `matches` (first row, begin, length, labels, and the bounds of each one's partition);
    `shift` is negative for PREV.
    """
    point_match, point_depth = points
    first_row, begin, length, labels, low, high = matches
    longest = 0
    for m in range(length.size):
        longest = max(longest, length[m])
    found = np.empty(longest, dtype=np.int64)
    current, n_found, seen = -1, 0, 0
    for p in range(point_match.size):
        m = point_match[p]
        if m != current:
            current, n_found, seen = m, 0, 0
        stop = length[m] if final else point_depth[p] + 1
        while seen < stop:
            if members[labels[begin[m] + seen]]:
                found[n_found] = seen
                n_found += 1
            seen += 1
        at = offset if from_first else n_found - 1 - offset
        out[p] = -1
        if 0 <= at < n_found:
            row = first_row[m] + found[at] + shift
            if low[m] <= row < high[m]:
                out[p] = row


@njit(cache=True, nogil=True)
def fold_rows(
    points: Any,
    matches: Any,
    members: Any,
    function: int,
    values: Any,
    valid: Any,
    is_integer: bool,
    final: bool,
    out: Any,
    out_count: IntArray,
) -> bool:
    """For each point the aggregate of the values so far, and how many there were; False when a sum overflows."""
    point_match, point_depth = points
    first_row, begin, length, labels = matches[:4]
    current, seen = -1, 0
    n = np.int64(0)
    total = values[0] if values.size else out.dtype.type(0)
    for p in range(point_match.size):
        m = point_match[p]
        if m != current:
            current, n, seen = m, np.int64(0), 0
        stop = length[m] if final else point_depth[p] + 1
        while seen < stop:
            row = first_row[m] + seen
            if members[labels[begin[m] + seen]] and valid[row]:
                value = values[row]
                if n == 0:
                    total = value
                elif function == SUM:
                    # Asked before the addition: after it the compiler may take for granted that it did not overflow.
                    if is_integer and (
                        (value > 0 and total > LARGEST - value) or (value < 0 and total < -LARGEST - 1 - value)
                    ):
                        return False
                    total += value
                elif function == MIN:
                    # NaN is the greatest, as Spark has it.
                    if value < total or total != total:
                        total = value
                elif function == MAX and (value > total or value != value):
                    total = value
                n += 1
            seen += 1
        out[p] = total
        out_count[p] = n
    return True
