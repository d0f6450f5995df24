"""Ranks within a run of events from ranks among all: an index over them is as small as the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray


@njit(cache=True, nogil=True)
def rank_within(
    place: IntArray, reach: IntArray, is_point: bool, runs: IntArray, of_row: Any, out: Any, n_out: IntArray
) -> None:
    """Fill `out` with (place as the earlier event, reach as the later one) of every event of every run.

    `place` is an event's place among all distinct values, -1: none. As the later event it may extend those with a place
    below `reach`, or with a point the one at it, -1: none. `runs` are (first row, row behind the last, place of the
    first row in `out`), `of_row` the first and last run of each row, `n_out` becomes the number of places by run.
    """
    out_place, out_reach = out
    # Items by place: a value stands before what is above it, and before what must be equal to it.
    behind = 2 if is_point else 0
    n, n_keys = place.size, 0
    for row in range(n):
        n_keys = max(n_keys, 2 * place[row] + 2, 2 * reach[row] + behind + 1)
    start = np.zeros(n_keys + 1, np.int64)
    for row in range(n):
        if place[row] >= 0:
            start[2 * place[row] + 2] += 1
        if reach[row] >= 0:
            start[2 * reach[row] + behind + 1] += 1
    for key in range(n_keys):
        start[key + 1] += start[key]
    items = np.empty(start[n_keys], np.int64)
    for row in range(n):
        if place[row] >= 0:
            items[start[2 * place[row] + 1]] = row
            start[2 * place[row] + 1] += 1
        if reach[row] >= 0:
            items[start[2 * reach[row] + behind]] = n + row
            start[2 * reach[row] + behind] += 1
    latest = np.full(runs.shape[0], -1, np.int64)
    n_out[:] = 0
    out_place[:] = -1
    out_reach[:] = -1
    first_run, last_run = of_row
    for k in range(items.size):
        is_later = items[k] >= n
        row = items[k] - n if is_later else items[k]
        for run in range(first_run[row], last_run[row] + 1):
            i = runs[run, 2] + row - runs[run, 0]
            if not is_later:
                if latest[run] != place[row]:
                    latest[run] = place[row]
                    n_out[run] += 1
                out_place[i] = n_out[run] - 1
            elif not is_point:
                out_reach[i] = n_out[run]
            elif latest[run] == reach[row]:
                out_reach[i] = n_out[run] - 1
