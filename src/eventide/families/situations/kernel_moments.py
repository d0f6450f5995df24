"""Moments of the values of runs, of one column and of two, event by event; requests as in `kernel_measures`.

The recurrences are those of Welford, and of Pebay (SAND2008-6212) for higher and for common moments.
"""

from __future__ import annotations

from typing import Any

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray


@njit(cache=True, nogil=True)
def add_shapes(
    run: IntArray, to: IntArray, lo: IntArray, origin: IntArray, values: Any, valid: Any, carried: Any, out: Any
) -> None:
    """How many values, their mean, and the sums of the second, third and fourth powers of distances from it."""
    current, at = -1, 0
    n, mean, second, third, fourth = 0.0, 0.0, 0.0, 0.0, 0.0
    for r in range(run.size):
        i = run[r]
        if i != current:
            current, at = i, lo[i]
            n, mean, second, third, fourth = 0.0, 0.0, 0.0, 0.0, 0.0
            if origin[i] >= 0:
                row = carried[origin[i]]
                n, mean, second, third, fourth = row[0], row[1], row[2], row[3], row[4]
        while at < to[r]:
            if valid[at]:
                n += 1.0
                distance = values[at] - mean
                step = distance / n
                mean += step
                squared, step_squared = distance * distance, step * step
                second += distance * (distance - step)
                third += distance * (squared - step_squared) - 3.0 * step * second
                fourth += (
                    distance * (distance * squared - step * step_squared)
                    - 4.0 * step * third
                    - 6.0 * step_squared * second
                )
            at += 1
        out[r, 0], out[r, 1], out[r, 2], out[r, 3], out[r, 4] = n, mean, second, third, fourth


@njit(cache=True, nogil=True)
def add_pairs(
    run: IntArray,
    to: IntArray,
    lo: IntArray,
    origin: IntArray,
    ys: Any,
    xs: Any,
    valid: Any,
    carried: Any,
    out: Any,
) -> None:
    """How many pairs, the means of y and x, and the sums of squared distances of y, of x, and of their products."""
    current, at = -1, 0
    n, mean_y, mean_x, yy, xx, xy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for r in range(run.size):
        i = run[r]
        if i != current:
            current, at = i, lo[i]
            n, mean_y, mean_x, yy, xx, xy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            if origin[i] >= 0:
                row = carried[origin[i]]
                n, mean_y, mean_x, yy, xx, xy = row[0], row[1], row[2], row[3], row[4], row[5]
        while at < to[r]:
            if valid[at]:
                n += 1.0
                distance_y, distance_x = ys[at] - mean_y, xs[at] - mean_x
                mean_y += distance_y / n
                mean_x += distance_x / n
                yy += distance_y * (ys[at] - mean_y)
                xx += distance_x * (xs[at] - mean_x)
                xy += distance_x * (ys[at] - mean_y)
            at += 1
        out[r, 0], out[r, 1], out[r, 2], out[r, 3], out[r, 4], out[r, 5] = n, mean_y, mean_x, yy, xx, xy
