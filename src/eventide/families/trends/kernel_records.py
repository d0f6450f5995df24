"""Records of the trend kernels: what is known of all partial trends in one state.

A record is their number, and per class of bindings the weighted counts, sums and extremes of the aggregated symbols.
`records` is (counts, weights, sums, extremes) of many records, `sizes` (classes, weights, sums, extremes) of one.
"""

from __future__ import annotations

from typing import Any

from eventide.compilation.njit import njit

# <generated: numbers>
from eventide.families.trends.kernel_exact_numbers import add, add_times, clear, to_doubles
from eventide.runtime.kernels.arrays import IntArray

# </generated>

_SPLIT = 134217729.0  # 2**27 + 1
_SPLIT_LIMIT = 1e290  # beyond, a half would overflow
NONE = (1 << 63) - 1  # no extreme yet; MIN and MAX are both kept as a least rank


@njit(cache=True, nogil=True)
def clear_record(records: Any, sizes: IntArray, r: int) -> None:
    """No partial trend."""
    counts, weights, sums, extremes = records
    n_classes, n_weights, n_sums, n_extremes = sizes
    clear(counts, r)
    for k in range(r * n_classes * n_weights, (r + 1) * n_classes * n_weights):
        clear(weights, k)
    for k in range(r * n_classes * n_sums, (r + 1) * n_classes * n_sums):
        sums[k, 0] = 0.0
        sums[k, 1] = 0.0
    for k in range(r * n_classes * n_extremes, (r + 1) * n_classes * n_extremes):
        extremes[k] = NONE


@njit(cache=True, nogil=True)
def add_double(sums: Any, k: int, high: float, low: float) -> None:
    """Add with the rounding error kept in the second word."""
    before = sums[k, 0]
    total = before + high
    if total - total != 0.0:  # not finite: the error would be no number
        sums[k, 0] = total
        sums[k, 1] = 0.0
        return
    part = total - before
    error = (before - (total - part)) + (high - part) + sums[k, 1] + low
    sums[k, 0] = total + error
    sums[k, 1] = error - (sums[k, 0] - total)


@njit(cache=True, nogil=True)
def add_scaled(sums: Any, k: int, high: float, low: float, factor: Any) -> None:
    """Add (high + low) times a factor that is itself a pair, with the rounding error of the product."""
    product = high * factor[0]
    if not abs(product) < _SPLIT_LIMIT:
        add_double(sums, k, product, 0.0)
        return
    # Dekker's product: halves of a double multiply exactly.
    x, y = _SPLIT * high, _SPLIT * factor[0]
    x_high, y_high = x - (x - high), y - (y - factor[0])
    x_low, y_low = high - x_high, factor[0] - y_high
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    add_double(sums, k, product, error + high * factor[1] + low * factor[0])


@njit(cache=True, nogil=True)
def add_class(records: Any, sizes: IntArray, source: int, target: int) -> None:
    """Add what one class of a record holds to a class of another; both by their number among all classes."""
    _, weights, sums, extremes = records
    _, n_weights, n_sums, n_extremes = sizes
    for j in range(n_weights):
        add(weights, target * n_weights + j, weights, source * n_weights + j)
    for j in range(n_sums):
        add_double(sums, target * n_sums + j, sums[source * n_sums + j, 0], sums[source * n_sums + j, 1])
    for j in range(n_extremes):
        extremes[target * n_extremes + j] = min(extremes[target * n_extremes + j], extremes[source * n_extremes + j])


@njit(cache=True, nogil=True)
def add_record(records: Any, sizes: IntArray, source: int, target: int, places: IntArray) -> None:
    """Add a record to another; `places` says where each of its classes goes, -1: nowhere."""
    counts = records[0]
    add(counts, target, counts, source)
    n_classes, n_weights, n_sums, n_extremes = sizes
    if n_weights + n_sums + n_extremes:
        for c in range(n_classes):
            if places[c] >= 0:
                add_class(records, sizes, source * n_classes + c, target * n_classes + places[c])


@njit(cache=True, nogil=True)
def add_event(
    records: Any, sizes: IntArray, source: int, target: int, carries: Any, first: int, stop: int, values: Any, row: int
) -> None:
    """Add the partial trends of a record, each with the event `row` more, to another record.

    `carries[first:stop]` are (class before or -1, class after, bits of the counted symbols that the event is);
    `values` are (weights, sums, ranks) of every event, and for each of them the number of its symbol.
    """
    counts, weights, sums, extremes = records
    n_classes, n_weights, n_sums, n_extremes = sizes
    add(counts, target, counts, source)
    if n_weights + n_sums + n_extremes == 0:
        return
    before, after, bits = carries
    event_weights, event_sums, event_ranks, weight_symbol, sum_symbol, rank_symbol = values
    for carry in range(first, stop):
        to = target * n_classes + after[carry]
        if before[carry] >= 0:
            add_class(records, sizes, source * n_classes + before[carry], to)
        for j in range(n_weights):
            if bits[carry] >> weight_symbol[j] & 1:
                add_times(weights, to * n_weights + j, counts, source, event_weights[j, row])
        for j in range(n_sums):
            if bits[carry] >> sum_symbol[j] & 1 and event_sums[j, row] != 0.0:
                add_scaled(sums, to * n_sums + j, event_sums[j, row], 0.0, to_doubles(counts, source))
        for j in range(n_extremes):
            if bits[carry] >> rank_symbol[j] & 1:
                extremes[to * n_extremes + j] = min(extremes[to * n_extremes + j], event_ranks[j, row])


@njit(cache=True, nogil=True)
def add_states(cells: Any, states: IntArray, out: Any, k: int) -> None:
    """The sum of some states of every partition: `out[i, k]` for the cells `[i, state]`."""
    for i in range(cells.shape[0]):
        for state in states:
            add(out[i], k, cells[i], state)


@njit(cache=True, nogil=True)
def add_count(records: Any, source: int, target: int) -> None:
    """Add the number of partial trends alone."""
    add(records[0], target, records[0], source)


@njit(cache=True, nogil=True)
def copy_class(records: Any, sizes: IntArray, source: int, place: int, out: Any, target: int) -> None:
    """Add a record to one of `out`, whose records have one class: that at `place`, -1: none."""
    counts, weights, sums, extremes = records
    n_classes, n_weights, n_sums, n_extremes = sizes
    out_counts, out_weights, out_sums, out_extremes = out
    add(out_counts, target, counts, source)
    if place < 0:
        return
    u = source * n_classes + place
    for j in range(n_weights):
        add(out_weights, target * n_weights + j, weights, u * n_weights + j)
    for j in range(n_sums):
        add_double(out_sums, target * n_sums + j, sums[u * n_sums + j, 0], sums[u * n_sums + j, 1])
    for j in range(n_extremes):
        k = target * n_extremes + j
        out_extremes[k] = min(out_extremes[k], extremes[u * n_extremes + j])
