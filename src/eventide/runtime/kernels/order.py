"""Sorting events into partitions and the index arrays that matching walks on.

In: partition codes, times, masks. Out: a stable permutation, partition offsets, tie-group borders, and for
every pattern step the nearest row that satisfies it in either direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IndexArray, IntArray


@njit(cache=True, nogil=True)
def first_from(values: IntArray, lo: int, hi: int, bound: int) -> int:
    """The first place in [lo, hi) with a value of at least `bound`, else `hi`; the values ascend."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if values[middle] < bound:
            lo = middle + 1
        else:
            hi = middle
    return lo


@njit(cache=True, nogil=True)
def is_sorted(values: IntArray) -> bool:
    """Whether the values never fall."""
    for i in range(1, values.size):  # noqa: SIM110 (Numba compiles a loop, not a generator)
        if values[i] < values[i - 1]:
            return False
    return True


@njit(cache=True, nogil=True)
def is_rising(values: IntArray) -> bool:
    """Whether every value is greater than the one before it."""
    for i in range(1, values.size):  # noqa: SIM110
        if values[i] <= values[i - 1]:
            return False
    return True


@njit(cache=True, nogil=True)
def meets_equal(codes: IntArray, values: IntArray, last: IntArray) -> bool:
    """Whether a row has the value of the row before it with the same code; `last` is what a code's first row meets."""
    for row in range(codes.size):
        code = codes[row]
        if last[code] == values[row]:
            return True
        last[code] = values[row]
    return False


@njit(cache=True, nogil=True)
def find_ends(codes: IntArray, first: IntArray, last: IntArray) -> None:
    """The first and the last row of each code; `first` holds -1."""
    for row in range(codes.size):
        code = codes[row]
        if first[code] < 0:
            first[code] = row
        last[code] = row


@njit(cache=True, nogil=True)
def find_last(codes: IntArray, values: IntArray, last: IntArray) -> None:
    """The last row of each code whose value is not below 0, where there is one; it looks from the end."""
    n_left = last.size
    is_found = np.zeros(last.size, dtype=np.bool_)
    for row in range(codes.size - 1, -1, -1):
        code = codes[row]
        if values[row] >= 0 and not is_found[code]:
            is_found[code] = True
            last[code] = row
            n_left -= 1
            if n_left == 0:
                return


@njit(cache=True, nogil=True)
def is_below(values: IntArray, limit: int) -> bool:
    """Whether all values lie in 0 .. limit - 1."""
    for i in range(values.size):  # noqa: SIM110
        if values[i] < 0 or values[i] >= limit:
            return False
    return True


@njit(cache=True, nogil=True)
def mark_codes(codes: IntArray, out: IntArray) -> None:
    """1 for every code that occurs."""
    for i in range(codes.size):
        out[codes[i]] = 1


@njit(cache=True, nogil=True)
def look_up(codes: IntArray, table: IntArray, out: IntArray) -> None:
    """The table's entry of each code."""
    for i in range(codes.size):
        out[i] = table[codes[i]]


@njit(cache=True, nogil=True)
def count_codes(codes: IntArray, order: IntArray, start: int, stop: int, counts: IntArray) -> None:
    """How often each code occurs in the rows `order[start:stop]`; an empty `order` is 0, 1, 2, ..."""
    for i in range(start, stop):
        counts[codes[order[i] if order.size else i]] += 1


@njit(cache=True, nogil=True)
def scatter_by_code(codes: IntArray, order: IntArray, start: int, stop: int, cursor: IntArray, out: IntArray) -> None:
    """Write the rows `order[start:stop]` to where `cursor` points for their code, and move it on."""
    for i in range(start, stop):
        row = order[i] if order.size else i
        code = codes[row]
        out[cursor[code]] = row
        cursor[code] += 1


@njit(cache=True, nogil=True)
def gather(values: Any, order: IntArray, out: Any) -> None:
    """`out[i] = values[order[i]]`, for any type of values."""
    for i in range(order.size):
        out[i] = values[order[i]]


@njit(cache=True, nogil=True)
def gather_decoded(codes: Any, values: Any, order: IntArray, out: Any) -> None:
    """`out[i] = values[codes[order[i]]]`, for any type of codes and values."""
    for i in range(order.size):
        out[i] = values[codes[order[i]]]


@njit(cache=True, nogil=True)
def mark_ties(offsets: IntArray, ts_us: IntArray, strict: bool, follows: IndexArray, precedes: IndexArray) -> None:
    """For each row the first row that may follow it, and the row below which all rows may precede it.

    With `strict`, rows of one partition with the same time do not follow one another.
    """
    for p in range(offsets.size - 1):
        lo, hi = offsets[p], offsets[p + 1]
        start = lo
        while start < hi:
            stop = start + 1
            if strict:
                while stop < hi and ts_us[stop] == ts_us[start]:
                    stop += 1
            for row in range(start, stop):
                follows[row] = stop
                precedes[row] = start
            start = stop


@njit(cache=True, nogil=True)
def clear_unreachable(
    offsets: IntArray, ts_us: IntArray, follows: IndexArray, n_steps: int, window_us: int, mask: IntArray
) -> None:
    """Clear bit k of a row that no chain of steps 0 to k-1 within the window leads to.

    `latest[k]` is the latest first event of a chain that ends in step k before the present tie group: the later
    the start, the farther the chain may go on.
    """
    never = -(np.int64(1) << 62)
    latest = np.empty(n_steps, dtype=np.int64)
    fresh = np.empty(n_steps, dtype=np.int64)
    for p in range(offsets.size - 1):
        latest[:] = never
        start = offsets[p]
        while start < offsets[p + 1]:
            fresh[:] = never
            for row in range(start, follows[start]):
                for k in range(n_steps):
                    bit = np.int64(1) << k
                    if not mask[row] & bit:
                        continue
                    first_us = ts_us[row] if k == 0 else latest[k - 1]
                    if first_us == never or ts_us[row] - first_us >= window_us:
                        mask[row] &= ~bit
                    elif first_us > fresh[k]:
                        fresh[k] = first_us
            for k in range(n_steps):
                if fresh[k] > latest[k]:
                    latest[k] = fresh[k]
            start = follows[start]


@njit(cache=True, nogil=True)
def index_steps_forward(offsets: IntArray, mask: IntArray, out: IndexArray) -> None:
    """`out[k, row]`: the first row at or after `row`, in its partition, whose mask has bit k; else the end."""
    for k in range(out.shape[0]):
        bit = np.int64(1) << k
        for p in range(offsets.size - 1):
            nearest = offsets[p + 1]
            for row in range(offsets[p + 1] - 1, offsets[p] - 1, -1):
                if mask[row] & bit:
                    nearest = row
                out[k, row] = nearest


@njit(cache=True, nogil=True)
def index_steps_backward(offsets: IntArray, mask: IntArray, out: IndexArray) -> None:
    """`out[k, row]`: the last row at or before `row`, in its partition, whose mask has bit k; else start - 1."""
    for k in range(out.shape[0]):
        bit = np.int64(1) << k
        for p in range(offsets.size - 1):
            nearest = offsets[p] - 1
            for row in range(offsets[p], offsets[p + 1]):
                if mask[row] & bit:
                    nearest = row
                out[k, row] = nearest


@njit(cache=True, nogil=True)
def has_ties(offsets: IntArray, values: Any, order: IntArray) -> bool:
    """Whether two neighbours of one partition have equal values."""
    for partition in range(offsets.size - 1):
        for i in range(offsets[partition] + 1, offsets[partition + 1]):
            if values[order[i]] == values[order[i - 1]]:
                return True
    return False
