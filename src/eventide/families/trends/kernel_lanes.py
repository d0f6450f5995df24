"""Records of the trend kernels for many windows at once: every number of a record is a row of lanes, one a window.

`records` is (first words, second words, sums, extremes), `shape` (weights, sums, extremes, lanes, words from a number
to the next) of one record. Its numbers are its count and then its weights; a number's second words stand behind its
first ones, in one line of the cache. Lanes `a` up to `b` are those of windows that are open; behind them a record holds
nothing yet, and what stands before them is not read again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit

# <generated: numbers>
from eventide.families.trends.kernel_exact_numbers import add, add_lanes, add_times_lanes, words_to_doubles
from eventide.families.trends.kernel_records import NONE, add_double, add_scaled

# </generated>


@njit(cache=True, nogil=True, borrows=True)
def _copy(array: Any, i: int, j: int, n: int, n_behind: int, nothing: Any) -> None:
    """Lanes from i on become those from j on, n of them; those behind become nothing."""
    target, source = np.uint64(i), np.uint64(j)
    for k in range(np.uint64(n)):
        array[target + k] = array[source + k]
    target += np.uint64(n)
    for k in range(np.uint64(n_behind)):
        array[target + k] = nothing


@njit(cache=True, nogil=True, borrows=True)
def put(records: Any, shape: Any, source: int, target: int, is_new: bool, a: int, b: int) -> None:
    """Add a record to another; one that is new becomes the same as it."""
    first, second, sums, extremes = records
    n_weights, n_sums, n_extremes, width, stride = shape
    if width == 1 and n_weights + n_sums + n_extremes == 0:
        # A lone count: the loops below would cost several times the addition.
        i, j = target * stride, source * stride
        if not is_new:
            add_lanes(first, second, i, j, 1)
            return
        first[i] = first[j]
        if second.size:
            second[i] = second[j]
        return
    n, n_behind = b - a, width - b
    for k in range(n_weights + 1):
        i, j = (target * (n_weights + 1) + k) * stride + a, (source * (n_weights + 1) + k) * stride + a
        if not is_new:
            add_lanes(first, second, i, j, n)
            continue
        _copy(first, i, j, n, n_behind, first.dtype.type(0))
        if second.size:
            _copy(second, i, j, n, n_behind, second.dtype.type(0))
    for k in range(n_sums):
        i, j = (target * n_sums + k) * width + a, (source * n_sums + k) * width + a
        for lane in range(n if is_new else 0):
            sums[i + lane, 0] = sums[j + lane, 0]
            sums[i + lane, 1] = sums[j + lane, 1]
        for lane in range(n, n + n_behind if is_new else n):
            sums[i + lane, 0] = 0.0
            sums[i + lane, 1] = 0.0
        for lane in range(0 if is_new else n):
            add_double(sums, i + lane, sums[j + lane, 0], sums[j + lane, 1])
    for k in range(n_extremes):
        i, j = (target * n_extremes + k) * width + a, (source * n_extremes + k) * width + a
        if is_new:
            _copy(extremes, i, j, n, n_behind, NONE)
        else:
            for lane in range(n):
                extremes[i + lane] = min(extremes[i + lane], extremes[j + lane])


@njit(cache=True, nogil=True, borrows=True)
def put_event(
    records: Any, shape: Any, source: int, target: int, is_new: bool, a: int, b: int, bits: int, values: Any, row: int
) -> None:
    """Add the partial trends of a record, each with the event `row` more; `bits` are the counted symbols that it is."""
    put(records, shape, source, target, is_new, a, b)
    n_weights, n_sums, n_extremes, width, stride = shape
    if bits == 0 or n_weights + n_sums + n_extremes == 0:
        return
    first, second, sums, extremes = records
    weights, event_sums, ranks, weight_symbol, sum_symbol, rank_symbol = values
    n, count = b - a, source * (n_weights + 1) * stride + a
    for k in range(n_weights):
        if bits >> weight_symbol[k] & 1:
            i, weight = (target * (n_weights + 1) + k + 1) * stride + a, weights[k, row]
            if weight == weights.dtype.type(1):
                add_lanes(first, second, i, count, n)
            else:
                add_times_lanes(first, second, i, count, n, weight)
    for k in range(n_sums):
        if bits >> sum_symbol[k] & 1 and event_sums[k, row] != 0.0:
            i = (target * n_sums + k) * width + a
            for lane in range(n):
                if has(records, count + lane):
                    factor = words_to_doubles(first[count + lane], _second(records, count + lane))
                    add_scaled(sums, i + lane, event_sums[k, row], 0.0, factor)
    for k in range(n_extremes):
        if bits >> rank_symbol[k] & 1:
            i = (target * n_extremes + k) * width + a
            for lane in range(n):
                if has(records, count + lane):
                    extremes[i + lane] = min(extremes[i + lane], ranks[k, row])


@njit(cache=True, nogil=True, borrows=True)
def _second(records: Any, k: int) -> Any:
    return records[1][k] if records[1].size else records[0].dtype.type(0)


@njit(cache=True, nogil=True, borrows=True)
def has(records: Any, k: int) -> bool:
    """Whether a number is not 0."""
    nothing = records[0].dtype.type(0)
    return records[0][k] != nothing or _second(records, k) != nothing  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, borrows=True)
def begin_lane(records: Any, shape: Any, r: int, is_new: bool, lane: int) -> None:
    """A window opens: one empty partial trend in its lane of a record."""
    first, _, sums, extremes = records
    n_weights, n_sums, n_extremes, width, stride = shape
    if is_new:
        # With its second words, which stand among them.
        _copy(first, r * (n_weights + 1) * stride, 0, 0, (n_weights + 1) * stride, first.dtype.type(0))
        for k in range(r * n_sums * width, (r + 1) * n_sums * width):
            sums[k, 0] = 0.0
            sums[k, 1] = 0.0
        _copy(extremes, r * n_extremes * width, 0, 0, n_extremes * width, NONE)
    first[r * (n_weights + 1) * stride + lane] = first.dtype.type(1)


@njit(cache=True, nogil=True, borrows=True)
def take_out(records: Any, shape: Any, r: int, lane: int, counts_all: bool, cell: Any, out: Any, target: int) -> None:
    """Add a record's lane to one of `out`: its count, and if it counts all, the rest. `cell` is room for a number."""
    first, _, sums, extremes = records
    n_weights, n_sums, n_extremes, width, stride = shape
    out_counts, out_weights, out_sums, out_extremes = out
    for k in range(n_weights + 1 if counts_all else 1):
        i = (r * (n_weights + 1) + k) * stride + lane
        cell[0, 0] = first[i]
        cell[0, 1] = _second(records, i)
        if k == 0:
            add(out_counts, target, cell, 0)
        else:
            add(out_weights, target * n_weights + k - 1, cell, 0)
    for k in range(n_sums if counts_all else 0):
        i = (r * n_sums + k) * width + lane
        add_double(out_sums, target * n_sums + k, sums[i, 0], sums[i, 1])
    for k in range(n_extremes if counts_all else 0):
        i = (r * n_extremes + k) * width + lane
        out_extremes[target * n_extremes + k] = min(out_extremes[target * n_extremes + k], extremes[i])
