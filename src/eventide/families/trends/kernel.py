"""Aggregates over all trends of a scope, by propagating records through the states of a pattern's automaton.

GRETA and COGRA (seed 002, chapters 5 to 8): no trend is built. States whose next step depends on the last event (an
adjacent-event test) hold a record for each event; all others hold one. `tables.py` makes the tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit

# <generated: numbers>
from eventide.families.trends.kernel_exact_numbers import DTYPE, WEIGHT, is_zero, set_one
from eventide.families.trends.kernel_records import (
    add_class,
    add_count,
    add_event,
    add_record,
    clear_record,
    copy_class,
)
from eventide.families.trends.kernel_types import count_scopes_type
from eventide.runtime.kernels.arrays import IntArray

# </generated>


@njit(cache=True, nogil=True)
def _walk(
    first: int, stop: int, events: Any, tables: Any, relate: Any, cols: Any, values: Any, memory: Any, sizes: IntArray
) -> int:
    """The records at the end of a scope; returns how many events are held."""
    tie, letter, group = events
    moves, steps, holds, grained, keeps, rests, _, keeps_all = tables
    records, held_state, held_row, held_took = memory
    move_to, carry_lo, before, after, bits = moves
    step_lo, step_from, step_move = steps
    n_states = holds.size
    carries = (before, after, bits)
    for state in range(3 * n_states):
        clear_record(records, sizes, state)
    set_one(records[0], 0)
    touched = np.zeros(n_states, dtype=np.bool_)
    n_held = 0
    row = first
    while row < stop:
        behind = row + 1
        while behind < stop and tie[behind] == tie[row]:
            behind += 1
        n_before = n_held
        any_new = False
        for r in range(row, behind):
            k = letter[r]
            if k < 0:
                continue
            n_mine = n_held
            for i in range(step_lo[k], step_lo[k + 1]):
                source, move = step_from[i], step_move[i]
                if is_zero(records[0], source):
                    continue
                state = move_to[move]
                if holds[state]:
                    target, n_held = _hold(state, r, n_mine, n_held, n_states, memory, sizes)
                else:
                    target = n_states + state
                    touched[state] = True
                    any_new = True
                add_event(records, sizes, source, target, carries, carry_lo[move], carry_lo[move + 1], values, r)
            for h in range(n_before):
                case = _case(k, held_state[h], held_row[h], r, grained, relate, cols)
                if case < 0:
                    continue
                held_took[h] |= grained[4][case]
                for i in range(grained[2][case], grained[2][case + 1]):
                    move = grained[3][i]
                    state = move_to[move]
                    if holds[state]:
                        target, n_held = _hold(state, r, n_mine, n_held, n_states, memory, sizes)
                    else:
                        target = n_states + state
                        touched[state] = True
                        any_new = True
                    add_event(
                        records, sizes, 3 * n_states + h, target, carries, carry_lo[move], carry_lo[move + 1], values, r
                    )
        if not keeps_all:
            n_held = _pass_by(group[row], n_before, n_held, keeps, rests, holds, memory, sizes)
        if any_new:
            for state in range(n_states):
                if touched[state]:
                    touched[state] = False
                    if keeps_all:
                        add_record(records, sizes, n_states + state, state, keeps[4])
                    else:
                        settled = keeps[2][group[row], state]
                        add_record(records, sizes, n_states + state, settled, keeps[3][group[row], state])
                    clear_record(records, sizes, n_states + state)
        row = behind
    return n_held


@njit(cache=True, nogil=True)
def _hold(state: int, row: int, n_mine: int, n_held: int, n_states: int, memory: Any, sizes: IntArray) -> Any:
    """The record of an event in a state, a new one unless there is one; and how many there are now."""
    records, held_state, held_row, held_took = memory
    for h in range(n_mine, n_held):
        if held_state[h] == state:
            return 3 * n_states + h, n_held
    held_state[n_held] = state
    held_row[n_held] = row
    held_took[n_held] = 0
    clear_record(records, sizes, 3 * n_states + n_held)
    return 3 * n_states + n_held, n_held + 1


@njit(cache=True, nogil=True)
def _case(letter: int, state: int, left: int, right: int, grained: Any, relate: Any, cols: Any) -> int:
    """What an event does to a held one: the case by the tests that hold between them, -1: nothing."""
    first_case, tests = grained[0][letter, state], grained[1][letter, state]
    if first_case < 0:
        return -1
    passed = relate(tests, left, right, cols) if tests else 0
    case: int = first_case
    place = 0
    for k in range(62):
        if tests >> k == 0:
            break
        if tests >> k & 1:
            case += (passed >> k & 1) << place
            place += 1
    return case


@njit(cache=True, nogil=True)
def _pass_by(
    group: int, n_before: int, n_held: int, keeps: Any, rests: Any, holds: Any, memory: Any, sizes: IntArray
) -> int:
    """What a group of events does to the records from before it; returns how many events are still held."""
    records, held_state, held_row, held_took = memory
    after, places, settle, settle_places, identity = keeps
    n_states = holds.size
    scratch = 3 * n_states + held_state.size
    for state in range(n_states):
        if after[group, state] >= 0 and not is_zero(records[0], state):
            add_record(records, sizes, state, 2 * n_states + after[group, state], places[group, state])
    n_kept = 0
    for h in range(n_held):
        state, source = held_state[h], 3 * n_states + h
        if h >= n_before:
            _map(records, sizes, source, scratch, settle_places[group, state])
            state = settle[group, state]
        else:
            if held_took[h]:
                _map(records, sizes, source, scratch, rests[1][state, held_took[h]])
                state = rests[0][state, held_took[h]]
            if state >= 0:
                _map(records, sizes, source, scratch, places[group, state])
                state = after[group, state]
            if state >= 0 and not holds[state]:
                add_record(records, sizes, source, 2 * n_states + state, identity)
                state = -1
        if state < 0:
            continue
        if n_kept < h:
            clear_record(records, sizes, 3 * n_states + n_kept)
            add_record(records, sizes, source, 3 * n_states + n_kept, identity)
        held_state[n_kept], held_row[n_kept], held_took[n_kept] = state, held_row[h], 0
        n_kept += 1
    for state in range(n_states):
        clear_record(records, sizes, state)
        if not is_zero(records[0], 2 * n_states + state):
            add_record(records, sizes, 2 * n_states + state, state, identity)
            clear_record(records, sizes, 2 * n_states + state)
    return n_kept


@njit(cache=True, nogil=True)
def _map(records: Any, sizes: IntArray, r: int, scratch: int, places: IntArray) -> None:
    """Move the classes of a record to other places."""
    if sizes[0] == 1:
        return
    clear_record(records, sizes, scratch)
    add_record(records, sizes, r, scratch, places)
    clear_record(records, sizes, r)
    for c in range(sizes[0]):
        add_class(records, sizes, scratch * sizes[0] + c, r * sizes[0] + c)
    add_count(records, scratch, r)


@njit(cache=True, nogil=True)
def _judge(scope: int, n_held: int, tables: Any, memory: Any, sizes: IntArray, out: Any) -> None:
    """What the records count for when the scope ends: a record by side, and whether its binding is ambiguous."""
    holds, (counted, places) = tables[2], tables[6]
    records, held_state, _, _ = memory
    n_states, n_sides = holds.size, counted.shape[0]
    for side in range(n_sides):
        for r in range(n_states + n_held):
            state, source = r, r
            if r >= n_states:
                state, source = held_state[r - n_states], 2 * n_states + r
            if counted[side, state] and not is_zero(records[0], source):
                copy_class(records, sizes, source, places[side, state], out[0], scope * n_sides + side)
                if places[side, state] < 0:
                    out[1][scope * n_sides + side] = True


@njit(count_scopes_type(DTYPE, WEIGHT), cache=True, nogil=True)
def count_scopes(
    scopes: IntArray,
    events: Any,
    tables: Any,
    relate: Any,
    cols: Any,
    values: Any,
    memory: Any,
    sizes: IntArray,
    out: Any,
) -> None:
    """Fill `out` with the records of each scope (first row, row behind the last), by side of the pattern.

    `memory` is (records, and for those of events: state, row, branches that extended it). Records 0..n-1 are those of
    the states, n..2n-1 of a group that is being taken, 2n..3n-1 of a group that passes, the rest of single events.
    """
    for scope in range(scopes.shape[0]):
        n_held = _walk(scopes[scope, 0], scopes[scope, 1], events, tables, relate, cols, values, memory, sizes)
        _judge(scope, n_held, tables, memory, sizes, out)
