"""Aggregates over trends by panes: a pane of a partition is a linear map on the records of the states.

A pane lies in the same windows as a whole, so it is walked once, whatever the number of windows: by one row of records
for what begins in it, and where windows overlap, by a row for every state in which a partial trend may enter it.
`compose_windows` multiplies the maps of a window's panes. No record of a single event is held here.
"""

from __future__ import annotations

from typing import Any

from eventide.compilation.njit import njit

# <generated: numbers>
from eventide.families.trends.kernel_exact_numbers import add_product, is_zero, set_one, to_doubles
from eventide.families.trends.kernel_records import add_event, add_record, add_scaled, clear_record, copy_class
from eventide.families.trends.kernel_two_stacks import BEGIN, GROW, KEEP, PREPEND, WINDOW_TIMES_RIGHT
from eventide.runtime.kernels.arrays import IntArray

# </generated>


@njit(cache=True, nogil=True)
def count_pairs(panes: IntArray, key: Any, seen: IntArray, out: IntArray) -> None:
    """How many partitions have an event in each pane; `seen` holds -1 for every partition."""
    for pane in range(panes.shape[0]):
        n = 0
        for r in range(panes[pane, 0], panes[pane, 1]):
            if seen[key[r]] != pane:
                seen[key[r]] = pane
                n += 1
        out[pane] = n


@njit(cache=True, nogil=True)
def walk_panes(panes: IntArray, events: Any, tables: Any, values: Any, memory: Any, sizes: IntArray, out: Any) -> int:
    """Fill `out` with the records of every partition in every pane; returns how many pairs there are.

    `events` is (partition, time, letter) in order of time, `memory` (records, slot of each partition, partition, time
    and letters of each slot), `sizes` as in `kernel_records` with the number of rows behind, `out` (partition, pane,
    records): of one row the verdicts by side, of several the records of all states.
    """
    key, ts_us, letter = events
    moves, steps, keeps, verdicts, n_states, keeps_all, group_of = tables
    move_to, carry_lo, before, after, bits = moves
    step_lo, step_from, step_move = steps
    carries = (before, after, bits)
    records, slot_of, slot_key, slot_us, slot_letters = memory
    n_rows = sizes[4]
    shape = sizes[:4]
    width = 2 * n_states * n_rows
    n_out = 0
    for pane in range(panes.shape[0]):
        n_slots = 0
        for r in range(panes[pane, 0], panes[pane, 1]):
            k = letter[r]
            if k < 0 and keeps_all:
                continue
            slot = slot_of[key[r]]
            if slot < 0:
                slot = n_slots
                n_slots += 1
                slot_of[key[r]] = slot
                slot_key[slot] = key[r]
                slot_us[slot] = ts_us[r]
                slot_letters[slot] = 0
                _begin(records, shape, slot * width, n_states, n_rows, min(n_rows, panes[pane, 2]))
            elif slot_us[slot] != ts_us[r]:
                _commit(records, shape, slot * width, n_states, n_rows, keeps, keeps_all, group_of, slot_letters[slot])
                slot_us[slot] = ts_us[r]
                slot_letters[slot] = 0
            if k < 0:
                continue
            slot_letters[slot] |= 1 << k
            base = slot * width
            for i in range(step_lo[k], step_lo[k + 1]):
                move = step_move[i]
                source = base + step_from[i] * n_rows
                target = base + (n_states + move_to[move]) * n_rows
                for row in range(n_rows):
                    if not is_zero(records[0], source + row):
                        add_event(
                            records,
                            shape,
                            source + row,
                            target + row,
                            carries,
                            carry_lo[move],
                            carry_lo[move + 1],
                            values,
                            r,
                        )
        for slot in range(n_slots):
            base = slot * width
            _commit(records, shape, base, n_states, n_rows, keeps, keeps_all, group_of, slot_letters[slot])
            slot_of[slot_key[slot]] = -1
            out[0][n_out] = slot_key[slot]
            out[1][n_out] = pane
            if n_rows == 1:
                judge(records, shape, base, n_states, verdicts, out[2], n_out)
            else:
                for i in range(n_states * n_rows):
                    copy_class(records, shape, base + i, 0, out[2], n_out * n_states * n_rows + i)
            n_out += 1
    return n_out


@njit(cache=True, nogil=True)
def _begin(records: Any, shape: IntArray, base: int, n_states: int, n_rows: int, n_entered: int) -> None:
    """Row i begins with one partial trend in state i; state 0 is the start."""
    for i in range(2 * n_states * n_rows):
        clear_record(records, shape, base + i)
    for row in range(n_entered):
        set_one(records[0], base + row * n_rows + row)


@njit(cache=True, nogil=True)
def _commit(
    records: Any,
    shape: IntArray,
    base: int,
    n_states: int,
    n_rows: int,
    keeps: Any,
    keeps_all: bool,
    group_of: IntArray,
    letters: int,
) -> None:
    """What the events of one time add, beside what they leave of the records from before them."""
    after, _, settle, _, identity = keeps
    new = base + n_states * n_rows
    if not keeps_all:
        group = group_of[letters]
        scratch = records[0].shape[0] - n_states
        for row in range(n_rows):
            for state in range(n_states):
                if after[group, state] >= 0 and not is_zero(records[0], base + state * n_rows + row):
                    target = scratch + after[group, state]
                    add_record(records, shape, base + state * n_rows + row, target, identity)
            for state in range(n_states):
                clear_record(records, shape, base + state * n_rows + row)
                if not is_zero(records[0], scratch + state):
                    add_record(records, shape, scratch + state, base + state * n_rows + row, identity)
                    clear_record(records, shape, scratch + state)
    for state in range(n_states):
        for row in range(n_rows):
            source = new + state * n_rows + row
            if not is_zero(records[0], source):
                settled = state if keeps_all else settle[group_of[letters], state]
                add_record(records, shape, source, base + settled * n_rows + row, identity)
                clear_record(records, shape, source)


@njit(cache=True, nogil=True)
def judge(records: Any, shape: IntArray, base: int, n_states: int, verdicts: Any, out: Any, n_out: int) -> None:
    """What the records of the states count for when the window ends, by side."""
    counted = verdicts[0]
    n_sides = counted.shape[0]
    for side in range(n_sides):
        for state in range(n_states):
            if counted[side, state] and not is_zero(records[0], base + state):
                copy_class(records, shape, base + state, 0, out, n_out * n_sides + side)


@njit(cache=True, nogil=True)
def compose(left: Any, i: int, right: Any, j: int, shape: IntArray, n: int, out: Any, k: int) -> None:
    """Add to the row of n records at `out[k]` the row `left[i]` times the matrix at `right[j]`."""
    _, n_weights, n_sums, n_extremes = shape
    for r in range(n):
        if is_zero(left[0], i + r):
            continue
        for s in range(n):
            # Records of a matrix stand state by state, the rows of each together.
            m, o = j + s * n + r, k + s
            if is_zero(right[0], m):
                continue
            add_product(out[0], o, left[0], i + r, right[0], m)
            for w in range(n_weights):
                add_product(out[1], o * n_weights + w, left[1], (i + r) * n_weights + w, right[0], m)
                add_product(out[1], o * n_weights + w, left[0], i + r, right[1], m * n_weights + w)
            for w in range(n_sums):
                each = left[2][(i + r) * n_sums + w]
                if each[0] != 0.0:
                    add_scaled(out[2], o * n_sums + w, each[0], each[1], to_doubles(right[0], m))
                each = right[2][m * n_sums + w]
                if each[0] != 0.0:
                    add_scaled(out[2], o * n_sums + w, each[0], each[1], to_doubles(left[0], i + r))
            for w in range(n_extremes):
                least = min(left[3][(i + r) * n_extremes + w], right[3][m * n_extremes + w])
                out[3][o * n_extremes + w] = min(out[3][o * n_extremes + w], least)


@njit(cache=True, nogil=True)
def _clear(records: Any, shape: IntArray, first: int, n: int) -> None:
    for i in range(n):
        clear_record(records, shape, first + i)


@njit(cache=True, nogil=True)
def _multiply(
    left: Any, i: int, right: Any, j: int, memory: Any, scratch: int, shape: IntArray, n: int, out: int
) -> None:
    """The matrix at `memory[out]` becomes left[i] times right[j]; each row of the first is brought together first."""
    for row in range(n):
        _clear(memory, shape, scratch, 2 * n)
        for s in range(n):
            copy_class(left, shape, i + s * n + row, 0, memory, scratch + s)
        compose(memory, scratch, right, j, shape, n, memory, scratch + n)
        for s in range(n):
            clear_record(memory, shape, out + s * n + row)
            copy_class(memory, shape, scratch + n + s, 0, memory, out + s * n + row)


@njit(cache=True, nogil=True)
def _copy(left: Any, i: int, shape: IntArray, n: int, memory: Any, out: int) -> None:
    _clear(memory, shape, out, n)
    for k in range(n):
        copy_class(left, shape, i + k, 0, memory, out + k)


@njit(cache=True, nogil=True)
def compose_windows(
    plan: IntArray, matrices: Any, verdicts: Any, memory: Any, shape: IntArray, n: int, n_kept: int, out: Any
) -> None:
    """Follow a plan of `kernels.two_stacks`: fill `out` with the records of each window, by side.

    `memory` holds `n_kept` matrices for the kept products, one for the right product, three of scratch.
    """
    size = n * n
    right, scratch = n_kept * size, (n_kept + 1) * size
    n_out = 0
    for step in range(plan.shape[0]):
        what, pane = plan[step, 0], plan[step, 1]
        kept = pane % n_kept * size
        if what == BEGIN:
            _copy(matrices, pane * size, shape, size, memory, right)
        elif what == GROW:
            _multiply(memory, right, matrices, pane * size, memory, scratch + size, shape, n, scratch)
            _copy(memory, scratch, shape, size, memory, right)
        elif what == KEEP:
            _copy(matrices, pane * size, shape, size, memory, kept)
        elif what == PREPEND:
            behind = (pane + 1) % n_kept * size
            _multiply(matrices, pane * size, memory, behind, memory, scratch, shape, n, kept)
        else:
            result = scratch
            _clear(memory, shape, scratch, 2 * n)
            for state in range(n):
                copy_class(memory, shape, kept + state * n, 0, memory, scratch + state)
            if what == WINDOW_TIMES_RIGHT:
                compose(memory, scratch, memory, right, shape, n, memory, scratch + n)
                result = scratch + n
            judge(memory, shape, result, n, verdicts, out, n_out)
            n_out += 1


@njit(cache=True, nogil=True)
def multiply_runs(borders: IntArray, matrices: Any, memory: Any, shape: IntArray, n: int, out: Any) -> None:
    """Fill `out` with the product of every run of matrices; `memory` holds two of them, and two rows."""
    size = n * n
    for run in range(borders.size - 1):
        _copy(matrices, borders[run] * size, shape, size, memory, 0)
        for i in range(borders[run] + 1, borders[run + 1]):
            _multiply(memory, 0, matrices, i * size, memory, 2 * size, shape, n, size)
            _copy(memory, size, shape, size, memory, 0)
        _copy(memory, 0, shape, size, out, run * size)
