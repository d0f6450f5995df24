"""Aggregates over trends where one comparison of adjacent events decides a step, under skip-till-any.

The records of a state's events stand in a Fenwick tree over the ranks of what is compared, or by rank where it must be
equal; the sum of those that an event may extend is one query: n log n instead of n squared.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from eventide.kernels.arrays import IntArray

# <generated: numbers>
from eventide.kernels.exact_numbers import is_zero, set_one
from eventide.kernels.trend_records import add_event, add_record, clear_record, copy_class

# </generated>


@njit(cache=True, nogil=True)
def count_indexed(
    scopes: IntArray, events: Any, tables: Any, index: Any, values: Any, memory: Any, sizes: IntArray, out: Any
) -> None:
    """As `kernels.trends.count_scopes`, with `index` for the steps that a comparison decides.

    `index` is (state, test, first node of each tree; by letter the first query, its tree and case; by test and event
    the place as earlier event or -1, and how many places it may extend as later event, or the only one; whether it is
    that; the number of places). `memory` is (records, tree and place of each entry, state and row of new entries).
    """
    _, _, holds, _, keeps, verdicts, keeps_all = tables
    records = memory[0]
    n_states = holds.size
    counted, places = verdicts
    n_sides = counted.shape[0]
    n_entries = 0
    for scope in range(scopes.shape[0]):
        for state in range(3 * n_states + 1):
            clear_record(records, sizes, state)
        set_one(records[0], 0)
        n_entries = _forget(-1, index, memory, sizes, n_entries)
        row, stop = scopes[scope, 0], scopes[scope, 1]
        while row < stop:
            behind = row + 1
            while behind < stop and events[0][behind] == events[0][row]:
                behind += 1
            n_new = _take(row, behind, events[1], tables, index, values, memory, sizes)
            group = events[2][row]
            if not keeps_all:
                n_entries = _pass_by(group, keeps, holds, index, memory, sizes, n_entries)
            for state in range(n_states):
                if not is_zero(records[0], n_states + state):
                    settled = state if keeps_all else keeps[2][group, state]
                    add_record(records, sizes, n_states + state, settled, keeps[4])
                    clear_record(records, sizes, n_states + state)
            for k in range(n_new):
                n_entries = _insert(k, index, memory, sizes, n_states, n_entries)
            row = behind
        for side in range(n_sides):
            for state in range(n_states):
                if counted[side, state] and not is_zero(records[0], state):
                    copy_class(records, sizes, state, 0, out[0], scope * n_sides + side)
                    if places[side, state] < 0:
                        out[1][scope * n_sides + side] = True


@njit(cache=True, nogil=True)
def _take(
    row: int, behind: int, letter: IntArray, tables: Any, index: Any, values: Any, memory: Any, sizes: IntArray
) -> int:
    """What the events of one time add to the new records; returns how many entries they make."""
    (move_to, carry_lo, before, after, bits), (step_lo, step_from, step_move), holds, grained = tables[:4]
    records = memory[0]
    tree_first, query_lo, query_tree, query_case = index[2], index[3], index[4], index[5]
    steps = (move_to, carry_lo, (before, after, bits), holds)
    n_states = holds.size
    scratch = 3 * n_states
    n_new = 0
    for r in range(row, behind):
        k = letter[r]
        if k < 0:
            continue
        n_mine = n_new
        for i in range(step_lo[k], step_lo[k + 1]):
            source, move = step_from[i], step_move[i]
            if not is_zero(records[0], source):
                n_new = _add(source, move, steps, values, memory, sizes, r, n_mine, n_new)
        for q in range(query_lo[k], query_lo[k + 1]):
            tree = query_tree[q]
            _query(tree, r, index, records, sizes, scratch, tree_first[tree])
            if is_zero(records[0], scratch):
                continue
            for i in range(grained[2][query_case[q]], grained[2][query_case[q] + 1]):
                move = grained[3][i]
                n_new = _add(scratch, move, steps, values, memory, sizes, r, n_mine, n_new)
            clear_record(records, sizes, scratch)
    return n_new


@njit(cache=True, nogil=True)
def _add(
    source: int, move: int, steps: Any, values: Any, memory: Any, sizes: IntArray, row: int, n_mine: int, n_new: int
) -> int:
    """Add a record, with one event more, to the new one of a state, and to the event's where the state holds events."""
    records, new_state, new_row = memory[0], memory[3], memory[4]
    move_to, carry_lo, carries, holds = steps
    n_states, state = holds.size, move_to[move]
    first, stop = carry_lo[move], carry_lo[move + 1]
    add_event(records, sizes, source, n_states + state, carries, first, stop, values, row)
    if holds[state]:
        entry = n_mine
        while entry < n_new and new_state[entry] != state:
            entry += 1
        if entry == n_new:
            new_state[entry] = state
            new_row[entry] = row
            clear_record(records, sizes, 3 * n_states + 1 + entry)
            n_new += 1
        add_event(records, sizes, source, 3 * n_states + 1 + entry, carries, first, stop, values, row)
    return n_new


@njit(cache=True, nogil=True)
def _query(tree: int, row: int, index: Any, records: Any, sizes: IntArray, out: int, first: int) -> None:
    """Add to the record `out` those that the event may extend."""
    test, reach, is_point = index[1][tree], index[7], index[8]
    place = reach[test, row]
    if is_point[test]:
        if place >= 0 and not is_zero(records[0], first + place):
            add_record(records, sizes, first + place, out, index[10])
        return
    while place > 0:
        if not is_zero(records[0], first + place - 1):
            add_record(records, sizes, first + place - 1, out, index[10])
        place -= place & -place


@njit(cache=True, nogil=True)
def _insert(k: int, index: Any, memory: Any, sizes: IntArray, n_states: int, n_entries: int) -> int:
    """Put a new entry into the trees of its state; returns how many entries there are."""
    records, entry_tree, entry_place, new_state, new_row = memory
    tree_state, tree_test, tree_first = index[0], index[1], index[2]
    place_of, is_point, n_places = index[6], index[8], index[9]
    for tree in range(tree_state.size):
        if tree_state[tree] != new_state[k]:
            continue
        test = tree_test[tree]
        place = place_of[test, new_row[k]]
        if place < 0:
            continue
        entry_tree[n_entries] = tree
        entry_place[n_entries] = place
        n_entries += 1
        if is_point[test]:
            add_record(records, sizes, 3 * n_states + 1 + k, tree_first[tree] + place, index[10])
            continue
        node = place + 1
        while node <= n_places[test]:
            add_record(records, sizes, 3 * n_states + 1 + k, tree_first[tree] + node - 1, index[10])
            node += node & -node
    return n_entries


@njit(cache=True, nogil=True)
def _forget(state: int, index: Any, memory: Any, sizes: IntArray, n_entries: int) -> int:
    """Empty the trees of a state, -1: of all; returns how many entries are left. Visits only nodes with entries."""
    records, entry_tree, entry_place = memory[0], memory[1], memory[2]
    tree_state, tree_test, tree_first = index[0], index[1], index[2]
    is_point, n_places = index[8], index[9]
    n_left = 0
    for entry in range(n_entries):
        tree = entry_tree[entry]
        if state >= 0 and tree_state[tree] != state:
            entry_tree[n_left] = tree
            entry_place[n_left] = entry_place[entry]
            n_left += 1
            continue
        node = entry_place[entry] + 1
        if is_point[tree_test[tree]]:
            clear_record(records, sizes, tree_first[tree] + node - 1)
            continue
        while node <= n_places[tree_test[tree]] and not is_zero(records[0], tree_first[tree] + node - 1):
            clear_record(records, sizes, tree_first[tree] + node - 1)
            node += node & -node
    return n_left


@njit(cache=True, nogil=True)
def _pass_by(group: int, keeps: Any, holds: IntArray, index: Any, memory: Any, sizes: IntArray, n_entries: int) -> int:
    """What a group of events leaves of the records from before it; returns how many entries are left."""
    records = memory[0]
    after, identity = keeps[0], keeps[4]
    n_states = holds.size
    for state in range(n_states):
        if is_zero(records[0], state):
            continue
        if after[group, state] >= 0:
            add_record(records, sizes, state, 2 * n_states + after[group, state], identity)
        elif holds[state]:
            n_entries = _forget(state, index, memory, sizes, n_entries)
    for state in range(n_states):
        clear_record(records, sizes, state)
        if not is_zero(records[0], 2 * n_states + state):
            add_record(records, sizes, 2 * n_states + state, state, identity)
            clear_record(records, sizes, 2 * n_states + state)
    return n_entries
