"""Numbers of trends by panes, nothing else: the walk of `kernel_panes` for COUNT(*) under skip-till-any.

A partition's cells lie together: `n_states` numbers that are decided, then as many that the events of one time add; of
each as many as there are rows. Constant state per partition, one pass (COGRA's type-grained counting, seed 002, 7.2).
"""

from __future__ import annotations

from typing import Any

from eventide.compilation.njit import njit

# <generated: numbers>
from eventide.families.trends.kernel_exact_numbers import add, add_product, clear, is_zero, set_one
from eventide.families.trends.kernel_two_stacks import BEGIN, GROW, KEEP, PREPEND, WINDOW_TIMES_RIGHT
from eventide.runtime.kernels.arrays import IntArray

# </generated>


@njit(cache=True, nogil=True)
def walk_counts(panes: IntArray, events: Any, steps: Any, n_states: int, entered: Any, memory: Any, out: Any) -> int:
    """Fill `out` (partition, pane, cells) with the cells of every partition in every pane; returns how many pairs.

    `events` is (partition, time, letter) in order of time, `steps` (first step of a letter, state before, state
    after, bits of the states that a letter leads to), `entered` the state in which each row begins, `memory` (cells,
    slot of each partition, partition, time and changed states of each slot).
    """
    key, ts_us, letter = events
    step_lo, step_from, step_to, reached = steps
    cells, slot_of, slot_key, slot_us, slot_changed = memory
    out_key, out_pane, out_cells = out
    n_rows = entered.size
    size = n_states * n_rows
    n_out = 0
    for pane in range(panes.shape[0]):
        n_slots = 0
        for r in range(panes[pane, 0], panes[pane, 1]):
            k = letter[r]
            if k < 0:
                continue
            slot = slot_of[key[r]]
            if slot < 0:
                slot = n_slots
                n_slots += 1
                slot_of[key[r]] = slot
                slot_key[slot] = key[r]
                slot_us[slot] = ts_us[r]
                slot_changed[slot] = 0
                base = slot * 2 * size
                for i in range(2 * size):
                    clear(cells, base + i)
                for row in range(n_rows):
                    set_one(cells, base + entered[row] * n_rows + row)
            base = slot * 2 * size
            if slot_us[slot] != ts_us[r]:
                slot_us[slot] = ts_us[r]
                state, changed = 0, slot_changed[slot]
                while changed:
                    if changed & 1:
                        for i in range(base + state * n_rows, base + (state + 1) * n_rows):
                            add(cells, i, cells, i + size)
                            clear(cells, i + size)
                    changed >>= 1
                    state += 1
                slot_changed[slot] = 0
            slot_changed[slot] |= reached[k]
            for i in range(step_lo[k], step_lo[k + 1]):
                source = base + step_from[i] * n_rows
                target = base + size + step_to[i] * n_rows
                for row in range(n_rows):
                    add(cells, target + row, cells, source + row)
        for slot in range(n_slots):
            slot_of[slot_key[slot]] = -1
            out_key[n_out] = slot_key[slot]
            out_pane[n_out] = pane
            for i in range(size):
                source, target = slot * 2 * size + i, n_out * size + i
                clear(out_cells, target)
                add(out_cells, target, cells, source)
                add(out_cells, target, cells, source + size)
            n_out += 1
    return n_out


@njit(cache=True, nogil=True)
def spread_rows(cells: Any, n: int, n_rows: int, row_of: IntArray, one: Any, out: Any) -> None:
    """Matrices of n rows from those walked: a state that goes on as the start does has its row, and itself."""
    for pair in range(cells.shape[0] // (n * n_rows)):
        for s in range(n):
            for t in range(n):
                target = (pair * n + t) * n + s
                clear(out, target)
                if row_of[s] >= 0 and not (t == 0 and s != 0):
                    add(out, target, cells, (pair * n + t) * n_rows + row_of[s])
                if s == t and s != 0 and row_of[s] == 0:
                    add(out, target, one, 0)


@njit(cache=True, nogil=True)
def multiply_cells(left: Any, i: int, right: Any, j: int, n: int, n_rows: int, out: Any, k: int) -> None:
    """The matrix out[k] becomes left[i] times right[j]; its first `n_rows` rows. Numbers stand state by state."""
    for s in range(n):
        for row in range(n_rows):
            cell = k + s * n + row
            clear(out, cell)
            for r in range(n):
                if not is_zero(left, i + r * n + row):
                    add_product(out, cell, left, i + r * n + row, right, j + s * n + r)


@njit(cache=True, nogil=True)
def _copy(source: Any, i: int, size: int, out: Any, k: int) -> None:
    for c in range(size):
        clear(out, k + c)
        add(out, k + c, source, i + c)


@njit(cache=True, nogil=True)
def compose_counts(
    plan: IntArray, matrices: Any, counted: IntArray, memory: Any, n: int, n_kept: int, out: Any
) -> None:
    """Follow a plan of `kernels.two_stacks`: fill `out` with the numbers of trends of each window, by role.

    `memory` holds `n_kept` matrices for the kept products, one for the right product, one of scratch.
    """
    size = n * n
    right, scratch = n_kept * size, (n_kept + 1) * size
    n_out = 0
    for step in range(plan.shape[0]):
        what, pane = plan[step, 0], plan[step, 1]
        kept = pane % n_kept * size
        if what == BEGIN:
            _copy(matrices, pane * size, size, memory, right)
        elif what == GROW:
            multiply_cells(memory, right, matrices, pane * size, n, n, memory, scratch)
            _copy(memory, scratch, size, memory, right)
        elif what == KEEP:
            _copy(matrices, pane * size, size, memory, kept)
        elif what == PREPEND:
            multiply_cells(matrices, pane * size, memory, (pane + 1) % n_kept * size, n, n, memory, kept)
        else:
            result = kept
            if what == WINDOW_TIMES_RIGHT:
                multiply_cells(memory, kept, memory, right, n, 1, memory, scratch)
                result = scratch
            for role in range(counted.shape[0]):
                for state in range(n):
                    if counted[role, state]:
                        add(out, n_out * counted.shape[0] + role, memory, result + state * n)
            n_out += 1
