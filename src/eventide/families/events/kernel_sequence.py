"""Matching SEQ of n steps in sorted partitions: every match as one row of n row numbers.

`match_any` walks backwards from each last event (skip-till-any, 000 Definition 2.15); `match_next` walks
forward from each start event (skip-till-next and contiguous, 002 Definition 2.7). Both keep their walk in
`state`: a full `out`, or the last step that a call may take, pauses the walk, and the next call resumes it. So memory
is bounded whatever the result size. docs/matchers.md follows both walks step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IndexArray, IntArray


# <generated: holds>
@njit(cache=True, nogil=True)
def holds(step: int, rows: IntArray, cols: Any) -> bool:
    """Whether the conjuncts that became testable by binding `step` hold; replaced per query."""
    return True


# </generated>

# Places in `state`: the partition, the row bound outermost, the level that looks for a row (-1: the outermost one), how
# many steps the call may still take. Behind them, by level: the row bound, the cursor, and the end of the candidates.
PARTITION, ROW, LEVEL, STEPS_LEFT, CURSORS = 0, 1, 2, 3, 4


def new_state(n_steps: int, first_partition: int) -> IntArray:
    """A walk that has not begun."""
    state = np.full(CURSORS + 3 * n_steps, -1, dtype=np.int64)
    state[PARTITION] = first_partition
    return state


@njit(cache=True, nogil=True)
def match_any(
    offsets: IntArray,
    stop_partition: int,
    ts_us: IntArray,
    precedes: IndexArray,
    nearest: IndexArray,
    limits: IntArray,
    state: IntArray,
    cols: Any,
    out: IntArray,
) -> int:
    """Fill `out` with matches whose last event is newer than limits[1]; returns how many were written.

    `limits` is (window_us, newer_than_us). Finished when state[PARTITION] reaches `stop_partition`. `nearest` is what
    `index_steps_backward` makes; `cursor[level]` is the row from which a level looks down for its next candidate.
    """
    n_steps = out.shape[1]
    last = n_steps - 1
    window_us, newer_than_us = limits[0], limits[1]
    rows = state[CURSORS : CURSORS + n_steps]
    cursor = state[CURSORS + n_steps : CURSORS + 2 * n_steps]
    n_out = 0
    while state[PARTITION] < stop_partition:
        if state[STEPS_LEFT] <= 0:
            return n_out
        state[STEPS_LEFT] -= 1
        lo, hi = offsets[state[PARTITION]], offsets[state[PARTITION] + 1]
        if state[LEVEL] < 0:
            # Next last event, walking down from the newest: older ones than the limit end the partition.
            row = hi - 1 if state[ROW] < 0 else state[ROW] - 1
            if row >= lo:
                row = nearest[last, row]
            if row < lo or ts_us[row] <= newer_than_us:
                state[PARTITION] += 1
                state[ROW] = -1
                continue
            state[ROW] = row
            rows[last] = row
            if not holds(last, rows, cols):
                continue
            if last == 0:
                if n_out == out.shape[0]:
                    state[ROW] = row + 1
                    return n_out
                out[n_out, 0] = row
                n_out += 1
                continue
            state[LEVEL] = last - 1
            cursor[last - 1] = precedes[row] - 1
        level = state[LEVEL]
        row = lo - 1
        if cursor[level] >= lo:
            row = nearest[level, cursor[level]]
        if row < lo or ts_us[rows[last]] - ts_us[row] >= window_us:
            state[LEVEL] = level + 1 if level + 1 < last else -1
            continue
        rows[level] = row
        if level == 0:
            if n_out == out.shape[0]:
                return n_out
            cursor[0] = row - 1
            if holds(0, rows, cols):
                for k in range(n_steps):
                    out[n_out, k] = rows[k]
                n_out += 1
            continue
        cursor[level] = row - 1
        if holds(level, rows, cols):
            state[LEVEL] = level - 1
            cursor[level - 1] = precedes[row] - 1
    return n_out


@njit(cache=True, nogil=True)
def match_next(
    offsets: IntArray,
    stop_partition: int,
    ts_us: IntArray,
    follows: IndexArray,
    nearest: IndexArray,
    limits: IntArray,
    state: IntArray,
    cols: Any,
    out: IntArray,
) -> int:
    """Fill `out` with the chains that end in an event newer than limits[1]; returns how many were written.

    `limits` is (window_us, newer_than_us, contiguous). `end[level]` is where the candidates of a level end. As soon as
    one fits, that is the end of its tie group: each tied event continues the chain, later ones are not adjacent.
    """
    n_steps = out.shape[1]
    last = n_steps - 1
    window_us, newer_than_us, contiguous = limits[0], limits[1], limits[2] != 0
    rows = state[CURSORS : CURSORS + n_steps]
    cursor = state[CURSORS + n_steps : CURSORS + 2 * n_steps]
    end = state[CURSORS + 2 * n_steps : CURSORS + 3 * n_steps]
    n_out = 0
    while state[PARTITION] < stop_partition:
        if state[STEPS_LEFT] <= 0:
            return n_out
        state[STEPS_LEFT] -= 1
        lo, hi = offsets[state[PARTITION]], offsets[state[PARTITION] + 1]
        if state[LEVEL] < 0:
            row = lo if state[ROW] < 0 else state[ROW] + 1
            if row < hi:
                row = nearest[0, row]
            if row >= hi:
                state[PARTITION] += 1
                state[ROW] = -1
                continue
            state[ROW] = row
            rows[0] = row
            if not holds(0, rows, cols):
                continue
            if last == 0:
                if ts_us[row] > newer_than_us:
                    if n_out == out.shape[0]:
                        state[ROW] = row - 1 if row > lo else -1
                        return n_out
                    out[n_out, 0] = row
                    n_out += 1
                continue
            state[LEVEL] = 1
            cursor[1] = follows[row]
            end[1] = follows[follows[row]] if contiguous and follows[row] < hi else hi
        level = state[LEVEL]
        row = hi
        if cursor[level] < end[level]:
            row = nearest[level, cursor[level]]
        if row >= end[level] or ts_us[row] - ts_us[rows[0]] >= window_us:
            state[LEVEL] = level - 1 if level > 1 else -1
            continue
        rows[level] = row
        if level == last and n_out == out.shape[0]:
            return n_out
        cursor[level] = row + 1
        if not holds(level, rows, cols):
            continue
        if follows[row] < end[level]:
            end[level] = follows[row]
        if level == last:
            if ts_us[row] > newer_than_us:
                for k in range(n_steps):
                    out[n_out, k] = rows[k]
                n_out += 1
            continue
        state[LEVEL] = level + 1
        cursor[level + 1] = follows[row]
        end[level + 1] = follows[follows[row]] if contiguous and follows[row] < hi else hi
    return n_out
