"""Aggregates of rows by slot: events to panes, and panes that several blocks have a part of to one.

`slot[i]` is where row i belongs. All go on from what `out` holds. Sums of whole numbers are kept in two halves, the low
32 bits and the rest, so that no sum of up to 2^31 of them leaves 64 bits. Sums of doubles are kept with what rounding
has taken from them (Neumaier), moments as Welford and Pebay (SAND2008-6212) have them.
"""

from __future__ import annotations

from typing import Any

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray

# What the rows of doubles are.
TOTALS, SPREADS, SHAPES, PAIRS = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def count_rows(slot: IntArray, valid: Any, out: IntArray) -> None:
    """How many rows have a value; without `valid`, how many rows there are."""
    if valid.size:
        for i in range(slot.size):
            out[slot[i]] += valid[i]
    else:
        for i in range(slot.size):
            out[slot[i]] += 1


@njit(cache=True, nogil=True)
def add_whole(slot: IntArray, values: IntArray, out: IntArray) -> None:
    """Sums of numbers that stay within 64 bits."""
    for i in range(slot.size):
        out[slot[i]] += values[i]


@njit(cache=True, nogil=True)
def add_halves(slot: IntArray, values: IntArray, valid: Any, low: IntArray, high: IntArray) -> None:
    """Sums of the low 32 bits of values, and of the rest."""
    for i in range(slot.size):
        if not valid.size or valid[i]:
            low[slot[i]] += values[i] & 0xFFFFFFFF
            high[slot[i]] += values[i] >> 32


@njit(cache=True, nogil=True)
def add_doubles(slot: IntArray, values: Any, valid: Any, out: Any) -> None:
    """Sums and what rounding has taken from them."""
    for i in range(slot.size):
        if not valid.size or valid[i]:
            s, value = slot[i], values[i]
            total = out[s, 0]
            new = total + value
            out[s, 1] += (total - new) + value if abs(total) >= abs(value) else (value - new) + total
            out[s, 0] = new


@njit(cache=True, nogil=True)
def add_rows(slot: IntArray, rows: Any, kind: int, out: Any) -> None:
    """Rows of doubles of some kind, each onto its slot's."""
    for i in range(slot.size):
        add_row(out, slot[i], rows, i, kind)


@njit(cache=True, nogil=True)
def add_row(left: Any, i: int, right: Any, j: int, kind: int) -> None:
    """Make row i of `left` stand for the values of both, those of `right`'s row j behind its own."""
    if kind == TOTALS:
        total, value = left[i, 0], right[j, 0]
        new = total + value
        left[i, 1] += (total - new) + value if abs(total) >= abs(value) else (value - new) + total
        left[i, 1] += right[j, 1]
        left[i, 0] = new
        return
    n_left, n_right = left[i, 0], right[j, 0]
    if n_right == 0.0:
        return
    if n_left == 0.0:
        left[i] = right[j]
        return
    n = n_left + n_right
    if kind == PAIRS:
        y, x = right[j, 1] - left[i, 1], right[j, 2] - left[i, 2]
        both = n_left * n_right / n
        left[i, 3] += right[j, 3] + y * y * both
        left[i, 4] += right[j, 4] + x * x * both
        left[i, 5] += right[j, 5] + x * y * both
        left[i, 1] += y * n_right / n
        left[i, 2] += x * n_right / n
        left[i, 0] = n
        return
    distance = right[j, 1] - left[i, 1]
    step = distance / n
    second_left, second_right = left[i, 2], right[j, 2]
    squared = distance * step * n_left * n_right
    if kind == SHAPES:
        third_left, third_right = left[i, 3], right[j, 3]
        left[i, 4] += (
            right[j, 4]
            + squared * step * step * (n_left * n_left - n_left * n_right + n_right * n_right)
            + 6.0 * step * step * (n_left * n_left * second_right + n_right * n_right * second_left)
            + 4.0 * step * (n_left * third_right - n_right * third_left)
        )
        left[i, 3] += (
            third_right
            + squared * step * (n_left - n_right)
            + 3.0 * step * (n_left * second_right - n_right * second_left)
        )
    left[i, 2] += second_right + squared
    left[i, 1] += step * n_right
    left[i, 0] = n


@njit(cache=True, nogil=True)
def combine_bits(slot: IntArray, values: IntArray, valid: Any, function: int, out: IntArray, count: IntArray) -> None:
    """The AND (0), OR (1) or XOR (2) of values; `count` tells whether there was one."""
    for i in range(slot.size):
        if not valid.size or valid[i]:
            s = slot[i]
            if count[s] == 0:
                out[s] = values[i]
            elif function == 0:
                out[s] &= values[i]
            elif function == 1:
                out[s] |= values[i]
            else:
                out[s] ^= values[i]
            count[s] += 1


@njit(cache=True, nogil=True)
def keep_extremes(slot: IntArray, values: Any, valid: Any, greatest: bool, out: Any, is_there: Any) -> None:
    """The least or the greatest value, NaN greater than all others."""
    for i in range(slot.size):
        if not valid.size or valid[i]:
            s, value = slot[i], values[i]
            if not is_there[s]:
                out[s], is_there[s] = value, True
            elif greatest:
                if value > out[s] or value != value:
                    out[s] = value
            elif value < out[s] or out[s] != out[s]:
                out[s] = value


@njit(cache=True, nogil=True)
def pick_rows(slot: IntArray, keys: Any, valid: Any, greatest: bool, out: IntArray) -> None:
    """The row with the least or the greatest keys, compared column by column; `out` holds -1 where none is yet."""
    for i in range(slot.size):
        if valid.size and not valid[i]:
            continue
        s = slot[i]
        if out[s] < 0:
            out[s] = i
            continue
        for k in range(keys.shape[0]):
            ours, best = keys[k, i], keys[k, out[s]]
            if ours != best:
                if (ours > best) == greatest:
                    out[s] = i
                break
