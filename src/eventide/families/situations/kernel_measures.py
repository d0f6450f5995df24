"""Aggregates over the events of runs, up to a place in each; they go on from what earlier blocks have added up.

A request is a run and the event behind the last one that counts. Requests are sorted by run, then by that event, so
every event of a run is looked at once. `origin` is the row of a run among the carried values, or -1.
"""

from __future__ import annotations

from typing import Any

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray

LARGEST = (1 << 63) - 1


@njit(cache=True, nogil=True)
def count_values(
    run: IntArray, to: IntArray, lo: IntArray, origin: IntArray, valid: Any, carried: IntArray, out: IntArray
) -> None:
    """How many events have a value."""
    current, at, n = -1, 0, 0
    for r in range(run.size):
        i = run[r]
        if i != current:
            current, at = i, lo[i]
            n = carried[origin[i]] if origin[i] >= 0 else 0
        while at < to[r]:
            if valid[at]:
                n += 1
            at += 1
        out[r] = n


@njit(cache=True, nogil=True)
def add_integers(
    run: IntArray,
    to: IntArray,
    lo: IntArray,
    origin: IntArray,
    values: IntArray,
    valid: Any,
    carried: IntArray,
    out: IntArray,
) -> bool:
    """The sums of whole numbers; False when one leaves 64 bits."""
    current, at, total = -1, 0, 0
    for r in range(run.size):
        i = run[r]
        if i != current:
            current, at = i, lo[i]
            total = carried[origin[i]] if origin[i] >= 0 else 0
        while at < to[r]:
            if valid[at]:
                value = values[at]
                # Asked before the addition: after it the compiler may take for granted that it did not overflow.
                if (value > 0 and total > LARGEST - value) or (value < 0 and total < -LARGEST - 1 - value):
                    return False
                total += value
            at += 1
        out[r] = total
    return True


@njit(cache=True, nogil=True)
def add_doubles(
    run: IntArray, to: IntArray, lo: IntArray, origin: IntArray, values: Any, valid: Any, carried: Any, out: Any
) -> None:
    """The sums and what rounding has taken from them (Neumaier)."""
    current, at, total, lost = -1, 0, 0.0, 0.0
    for r in range(run.size):
        i = run[r]
        if i != current:
            current, at, total, lost = i, lo[i], 0.0, 0.0
            if origin[i] >= 0:
                total, lost = carried[origin[i], 0], carried[origin[i], 1]
        while at < to[r]:
            if valid[at]:
                value = values[at]
                new = total + value
                lost += (total - new) + value if abs(total) >= abs(value) else (value - new) + total
                total = new
            at += 1
        out[r, 0], out[r, 1] = total, lost


@njit(cache=True, nogil=True)
def add_moments(
    run: IntArray, to: IntArray, lo: IntArray, origin: IntArray, values: Any, valid: Any, carried: Any, out: Any
) -> None:
    """How many values, their mean and the sum of squared distances from it (Welford)."""
    current, at, n, mean, squares = -1, 0, 0.0, 0.0, 0.0
    for r in range(run.size):
        i = run[r]
        if i != current:
            current, at, n, mean, squares = i, lo[i], 0.0, 0.0, 0.0
            if origin[i] >= 0:
                n, mean, squares = carried[origin[i], 0], carried[origin[i], 1], carried[origin[i], 2]
        while at < to[r]:
            if valid[at]:
                n += 1.0
                distance = values[at] - mean
                mean += distance / n
                squares += distance * (values[at] - mean)
            at += 1
        out[r, 0], out[r, 1], out[r, 2] = n, mean, squares


@njit(cache=True, nogil=True)
def combine_bits(
    run: IntArray,
    to: IntArray,
    lo: IntArray,
    origin: IntArray,
    values: IntArray,
    valid: Any,
    operation: int,
    carried: IntArray,
    out: IntArray,
) -> None:
    """The bits of all values, combined: by and (0), or (1), exclusive or (2)."""
    none = -1 if operation == 0 else 0
    current, at, bits = -1, 0, 0
    for r in range(run.size):
        i = run[r]
        if i != current:
            current, at = i, lo[i]
            bits = carried[origin[i]] if origin[i] >= 0 else none
        while at < to[r]:
            if valid[at]:
                if operation == 0:
                    bits &= values[at]
                elif operation == 1:
                    bits |= values[at]
                else:
                    bits ^= values[at]
            at += 1
        out[r] = bits


@njit(cache=True, nogil=True)
def find_present(
    run: IntArray,
    to: IntArray,
    lo: IntArray,
    origin: IntArray,
    valid: Any,
    n_carried: int,
    latest: bool,
    out: IntArray,
) -> None:
    """Where the first or the latest value stands that is one, -1: nowhere; carried ones stand before the events'."""
    current, at, found = -1, 0, -1
    for r in range(run.size):
        i = run[r]
        if i != current:
            current, at = i, lo[i]
            found = origin[i] if origin[i] >= 0 and valid[origin[i]] else -1
        while at < to[r]:
            if valid[n_carried + at] and (latest or found < 0):
                found = n_carried + at
            at += 1
        out[r] = found


@njit(cache=True, nogil=True)
def find_extremes(
    run: IntArray,
    to: IntArray,
    lo: IntArray,
    origin: IntArray,
    values: Any,
    valid: Any,
    n_carried: int,
    by: tuple[bool, bool],
    out: IntArray,
) -> None:
    """Where the smallest or largest value stands, -1: nowhere; carried values stand before those of the events.

    `by` is whether the largest is meant, and whether the last of those that are equal is.
    """
    largest, latest = by
    current, at, best = -1, 0, -1
    for r in range(run.size):
        i = run[r]
        if i != current:
            current, at = i, lo[i]
            best = origin[i] if origin[i] >= 0 and valid[origin[i]] else -1
        while at < to[r]:
            here = n_carried + at
            if valid[here] and (best < 0 or _is_better(values[here], values[best], largest, latest)):
                best = here
            at += 1
        out[r] = best


@njit(cache=True, nogil=True)
def _is_better(value: Any, best: Any, largest: bool, latest: bool) -> bool:
    """Whether a value takes the place of the best one before it; NaN is the greatest, as Spark has it."""
    if value == best or (value != value and best != best):
        return latest
    is_less = value < best or best != best
    return not is_less if largest else is_less
