"""Aggregates of spans of rows whose beginnings and ends never fall: what is needed of windows that overlap.

Spans come group by group. A value is worked on a few times, however many spans hold it: what can be subtracted without
loss is a difference of running sums; else the folds from every row to a middle are kept, and the one from there to the
right grows (two stacks).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit
from eventide.families.windows.kernel_reduce import add_row
from eventide.runtime.kernels.arrays import IntArray


@njit(cache=True, nogil=True)
def slide_whole(values: IntArray, spans: IntArray, out: IntArray) -> None:
    """Sums of whole numbers: they come and go, and nothing is lost by it."""
    lo, hi, total = 0, 0, 0
    for w in range(spans.shape[0]):
        begin, end = spans[w, 1], spans[w, 2]
        if begin >= hi:
            lo, hi, total = begin, begin, 0
        while hi < end:
            total += values[hi]
            hi += 1
        while lo < begin:
            total -= values[lo]
            lo += 1
        out[w] = total


@njit(cache=True, nogil=True)
def slide_rows(rows: Any, spans: IntArray, kind: int, out: Any) -> None:
    """Folds of rows of doubles of some kind."""
    kept = np.zeros_like(rows)
    right = np.zeros((1, rows.shape[1]))
    middle, hi = 0, 0
    for w in range(spans.shape[0]):
        begin, end = spans[w, 1], spans[w, 2]
        if begin >= middle:
            if begin >= hi:
                hi = begin
            # What lies right of the middle is folded anew, from each of its rows on.
            stop = max(hi, begin)
            for i in range(stop - 1, begin - 1, -1):
                kept[i] = rows[i]
                if i + 1 < stop:
                    add_row(kept, i, kept, i + 1, kind)
            middle = stop
            right[0] = 0.0
        while hi < end:
            add_row(right, 0, rows, hi, kind)
            hi += 1
        if begin < middle:
            out[w] = kept[begin]
            add_row(out, w, right, 0, kind)
        else:
            out[w] = right[0]


@njit(cache=True, nogil=True)
def slide_bits(values: IntArray, count: IntArray, spans: IntArray, function: int, out: IntArray) -> None:
    """The AND (0), OR (1) or XOR (2) of the rows with a value."""
    kept = np.zeros_like(values)
    neutral = -1 if function == 0 else 0
    middle, hi, right = 0, 0, neutral
    for w in range(spans.shape[0]):
        begin, end = spans[w, 1], spans[w, 2]
        if begin >= middle:
            hi = max(hi, begin)
            fold = neutral
            for i in range(hi - 1, begin - 1, -1):
                fold = _bits(fold, values[i] if count[i] else neutral, function)
                kept[i] = fold
            middle, right = hi, neutral
        while hi < end:
            right = _bits(right, values[hi] if count[hi] else neutral, function)
            hi += 1
        out[w] = _bits(kept[begin], right, function) if begin < middle else right


@njit(cache=True, nogil=True)
def _bits(left: int, right: int, function: int) -> int:
    if function == 0:
        return left & right
    return left | right if function == 1 else left ^ right


@njit(cache=True, nogil=True)
def slide_extremes(values: Any, valid: Any, spans: IntArray, greatest: bool, out: Any, is_there: Any) -> None:
    """The least or the greatest number of each span, NaN greater than all others; by a queue as in `slide_picks`."""
    queue = np.empty(values.size, dtype=np.int64)
    head, tail, hi = 0, 0, 0
    for w in range(spans.shape[0]):
        begin, end = spans[w, 1], spans[w, 2]
        if begin >= hi:
            head, tail, hi = 0, 0, begin
        while hi < end:
            if not valid.size or valid[hi]:
                value = values[hi]
                while tail > head and not _is_better(values[queue[tail - 1]], value, greatest):
                    tail -= 1
                queue[tail] = hi
                tail += 1
            hi += 1
        while head < tail and queue[head] < begin:
            head += 1
        is_there[w] = head < tail
        if head < tail:
            out[w] = values[queue[head]]


@njit(cache=True, nogil=True)
def _is_better(left: Any, right: Any, greatest: bool) -> Any:
    if greatest:
        return left > right or (left != left and right == right)
    return left < right or (right != right and left == left)


@njit(cache=True, nogil=True)
def slide_picks(rank: IntArray, spans: IntArray, greatest: bool, out: IntArray) -> None:
    """The row of each span with the least or the greatest rank; -1 ranks do not count, and -1 is what is found then.

    The rows that may still be picked are kept in a queue, each better than those behind it.
    """
    queue = np.empty(rank.size, dtype=np.int64)
    head, tail, hi = 0, 0, 0
    for w in range(spans.shape[0]):
        begin, end = spans[w, 1], spans[w, 2]
        if begin >= hi:
            head, tail, hi = 0, 0, begin
        while hi < end:
            if rank[hi] >= 0:
                while tail > head and (rank[queue[tail - 1]] < rank[hi]) == greatest:
                    tail -= 1
                queue[tail] = hi
                tail += 1
            hi += 1
        while head < tail and queue[head] < begin:
            head += 1
        out[w] = queue[head] if head < tail else -1
