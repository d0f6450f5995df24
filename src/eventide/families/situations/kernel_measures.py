"""Aggregates over the events of runs, up to a place in each; they go on from what earlier blocks have added up.

A request is a run and the event behind the last one that counts. Requests are sorted by run, then by that event, so
every event of a run is looked at once. `origin` is the row of a run among the carried values, or -1. The recurrences of
moments are those of Welford, and of Pebay (SAND2008-6212) for higher and for common moments.
"""

from __future__ import annotations

from typing import Any

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray

LARGEST = (1 << 63) - 1


def _over_runs(take: Any, opened: Any) -> Any:
    """The kernel that makes one state of the values of each run's events: `take` adds an event, `opened` reads a row.

    `start` is the state of no events. Each kernel is compiled by itself, with both functions inside its loop.
    """

    def fold_runs(
        run: IntArray,
        to: IntArray,
        lo: IntArray,
        origin: IntArray,
        values: Any,
        others: Any,
        valid: Any,
        start: Any,
        carried: Any,
        out: Any,
    ) -> None:
        current, at, state = -1, 0, opened(start)
        for r in range(run.size):
            i = run[r]
            if i != current:
                current, at = i, lo[i]
                state = opened(carried[origin[i]]) if origin[i] >= 0 else opened(start)
            while at < to[r]:
                if valid[at]:
                    state = take(state, values[at], others[at])
                at += 1
            for j in range(len(state)):
                out[r, j] = state[j]

    # Compiled code is kept by name.
    fold_runs.__qualname__ = f"fold_runs.{take.__name__}"
    return njit(cache=True, nogil=True)(fold_runs)


@njit(nogil=True)
def _one(row: Any) -> Any:
    return (row[0],)


@njit(nogil=True)
def _two(row: Any) -> Any:
    return row[0], row[1]


@njit(nogil=True)
def _three(row: Any) -> Any:
    return row[0], row[1], row[2]


@njit(nogil=True)
def _five(row: Any) -> Any:
    return row[0], row[1], row[2], row[3], row[4]


@njit(nogil=True)
def _six(row: Any) -> Any:
    return row[0], row[1], row[2], row[3], row[4], row[5]


@njit(nogil=True)
def _count(state: Any, value: Any, other: Any) -> Any:
    """How many events have a value."""
    return (state[0] + 1,)


@njit(nogil=True)
def _add_integer(state: Any, value: Any, other: Any) -> Any:
    """The sum of whole numbers; an error when it leaves 64 bits."""
    (total,) = state
    # Asked before the addition: after it the compiler may take for granted that it did not overflow.
    if (value > 0 and total > LARGEST - value) or (value < 0 and total < -LARGEST - 1 - value):
        raise OverflowError("a sum leaves 64 bits")
    return (total + value,)


@njit(nogil=True)
def _add_double(state: Any, value: Any, other: Any) -> Any:
    """The sum, and what rounding has taken from it (Neumaier)."""
    total, lost = state
    new = total + value
    return new, lost + ((total - new) + value if abs(total) >= abs(value) else (value - new) + total)


@njit(nogil=True)
def _add_moment(state: Any, value: Any, other: Any) -> Any:
    """How many values, their mean and the sum of squared distances from it."""
    n, mean, squares = state
    distance = value - mean
    mean += distance / (n + 1.0)
    return n + 1.0, mean, squares + distance * (value - mean)


@njit(nogil=True)
def _add_shape(state: Any, value: Any, other: Any) -> Any:
    """How many values, their mean, and the sums of the second, third and fourth powers of distances from it."""
    n, mean, second, third, fourth = state
    n += 1.0
    distance = value - mean
    step = distance / n
    squared, step_squared = distance * distance, step * step
    second += distance * (distance - step)
    third += distance * (squared - step_squared) - 3.0 * step * second
    cubes = distance * (distance * squared - step * step_squared)
    fourth += cubes - 4.0 * step * third - 6.0 * step_squared * second
    return n, mean + step, second, third, fourth


@njit(nogil=True)
def _add_pair(state: Any, y: Any, x: Any) -> Any:
    """How many pairs, the means of y and x, and the sums of squared distances of y, of x, and of their products."""
    n, mean_y, mean_x, yy, xx, xy = state
    n += 1.0
    distance_y, distance_x = y - mean_y, x - mean_x
    mean_y += distance_y / n
    mean_x += distance_x / n
    yy += distance_y * (y - mean_y)
    xx += distance_x * (x - mean_x)
    return n, mean_y, mean_x, yy, xx, xy + distance_x * (y - mean_y)


@njit(nogil=True)
def _and_bits(state: Any, value: Any, other: Any) -> Any:
    return (state[0] & value,)


@njit(nogil=True)
def _or_bits(state: Any, value: Any, other: Any) -> Any:
    return (state[0] | value,)


@njit(nogil=True)
def _xor_bits(state: Any, value: Any, other: Any) -> Any:
    return (state[0] ^ value,)


count_values = _over_runs(_count, _one)
add_integers = _over_runs(_add_integer, _one)
add_doubles = _over_runs(_add_double, _two)
add_moments = _over_runs(_add_moment, _three)
add_shapes = _over_runs(_add_shape, _five)
add_pairs = _over_runs(_add_pair, _six)
and_bits = _over_runs(_and_bits, _one)
or_bits = _over_runs(_or_bits, _one)
xor_bits = _over_runs(_xor_bits, _one)


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
