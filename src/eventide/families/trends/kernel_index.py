"""Aggregates over trends where one comparison of adjacent events decides a step: n log n instead of n squared.

Under skip-till-any the records of a state's events stand in a Fenwick tree over the ranks of what is compared, or by
rank where it must be equal; the sum of those that an event may extend is one query. Under the other strategies an event
that is extended is gone: it waits in a queue by rank. Windows that overlap are walked at once, each in a lane.
"""

from __future__ import annotations

from typing import Any

from eventide.compilation.njit import njit

# <generated: numbers>
from eventide.families.trends.kernel_lanes import begin_lane, has, put, put_event, take_out
from eventide.families.trends.kernel_queues import chain, find, push
from eventide.runtime.kernels.arrays import IntArray

# </generated>

VECTOR = 8  # lanes
# The functions below are inlined, and none counts references: tuples of arrays are dear to pass on, event by event.


@njit(cache=True, nogil=True, borrows=True)
def count_indexed(
    batches: IntArray, scopes: IntArray, events: Any, tables: Any, index: Any, values: Any, memory: Any, out: Any
) -> None:
    """Fill `out` with the records of each scope, by side of the pattern; a batch of scopes is walked at once.

    `batches` are (first scope, scope behind the last, what turns a row into its place among the ranks); scopes stand in
    ascending order. `index` is (by letter the first query; of each its tree and case; by test and place of a row what
    it may extend as the later event; by tree its test; by test whether that must be equal; by test and place of a row
    its rank as the earlier event; by tree its first record; by case the first move, the moves; by state its first tree;
    by test and batch the number of ranks). Of the records, the first n are those of the states, then those of a time
    that is being taken, of a time that passes, one of scratch, those of events, those of trees.
    """
    tie, letter, group = events
    _, _, holds, totals, (after, settle, is_quiet), verdicts, is_any, shape = tables
    records, filled, _, current, _, queues, cell = memory
    n_states = holds.size
    for batch in range(batches.shape[0]):
        first, stop, shift = batches[batch]
        filled[: 3 * n_states + 1] = False
        _forget_all(current, queues)
        n_entries = 0
        # Scopes `a` up to `b` are open.
        a, b, row, end = first, first, scopes[first, 0], scopes[stop - 1, 1]
        while True:
            while a < b and scopes[a, 1] <= row:
                _judge(a, a - first, records, shape, filled, n_states, verdicts, cell, out)
                a += 1
            while b < stop and scopes[b, 0] <= row:
                begin_lane(records, shape, 0, not filled[0], b - first)
                filled[0] = True
                b += 1
            if a == b:
                if b == stop:
                    break
                row = scopes[b, 0]
                continue
            behind = row + 1
            while behind < end and tie[behind] == tie[row]:
                behind += 1
            # Whole vectors: lanes that have closed are not read again, those that are not open yet hold nothing.
            lanes = ((a - first) // VECTOR * VECTOR, min(shape[3], -(-(b - first) // VECTOR) * VECTOR))
            n_new = _take(row, behind, letter, shift, lanes, n_entries, tables, index, values, memory)
            if not is_quiet[group[row]]:
                _pass_by(group[row], lanes, after, holds, index, memory, shape)
            for state in range(n_states):
                if filled[n_states + state]:
                    settled = settle[group[row], state]
                    put(records, shape, n_states + state, settled, not filled[settled], lanes[0], lanes[1])
                    filled[settled] = True
                    filled[n_states + state] = False
            for k in range(n_entries, n_entries + n_new):
                _insert(k, shift, batch, lanes, is_any, totals, index, memory, shape)
            if not is_any:
                n_entries += n_new
            row = behind


@njit(cache=True, nogil=True, borrows=True, inline="always")
def _forget_all(current: IntArray, queues: Any) -> None:
    for tree in range(current.size):
        current[tree] += 1
        queues[2][tree] = 0


@njit(cache=True, nogil=True, borrows=True, inline="always")
def _judge(
    scope: int, lane: int, records: Any, shape: Any, filled: Any, n_states: int, verdicts: Any, cell: Any, out: Any
) -> None:
    """What the records of the states count for when a scope ends, by side."""
    counted, places = verdicts
    n_sides = counted.shape[0]
    n_words = (shape[0] + 1) * shape[4]
    for side in range(n_sides):
        for state in range(n_states):
            if counted[side, state] and filled[state] and has(records, state * n_words + lane):
                target = scope * n_sides + side
                take_out(records, shape, state, lane, places[side, state] >= 0, cell, out[0], target)
                if places[side, state] < 0:
                    out[1][target] = True


@njit(cache=True, nogil=True, borrows=True, inline="always")
def _take(
    row: int,
    behind: int,
    letter: IntArray,
    shift: int,
    lanes: Any,
    n_entries: int,
    tables: Any,
    index: Any,
    values: Any,
    memory: Any,
) -> int:
    """What the events of one time add to the new records; returns how many entries they make."""
    (step_lo, step_from, step_move), holds = tables[1], tables[2]
    is_any, shape = tables[6], tables[7]
    records, filled = memory[0], memory[1]
    query_lo, query_tree, query_case, reach, tree_test, is_point, _, _, case_lo, case_move, _, _ = index
    found, taken = memory[4][2], memory[4][3]
    a, b = lanes
    n_states = holds.size
    scratch = 3 * n_states
    n_new, n_found = 0, 0
    for r in range(row, behind):
        k = letter[r]
        if k < 0:
            continue
        n_mine = n_new
        for i in range(step_lo[k], step_lo[k + 1]):
            if filled[step_from[i]]:
                n_new = _add(step_from[i], step_move[i], r, lanes, n_entries, n_mine, n_new, tables, values, memory)
        for q in range(query_lo[k], query_lo[k + 1]):
            tree = query_tree[q]
            test = tree_test[tree]
            place = reach[test, shift + r]
            if is_any:
                _sum(tree, place, is_point[test], a, b, index, memory, shape, scratch)
            else:
                n_found = find(found, n_found, tree, place, is_point[test], memory[5])
                for each in range(n_found):
                    entry = found[each, 2]
                    if found[each, 0] != tree or not (taken[entry] < 0 or taken[entry] == row):
                        continue
                    if found[each, 1] == place if is_point[test] else found[each, 1] < place:
                        taken[entry] = row
                        put(records, shape, scratch + 1 + entry, scratch, not filled[scratch], a, b)
                        filled[scratch] = True
            if filled[scratch]:
                for i in range(case_lo[query_case[q]], case_lo[query_case[q] + 1]):
                    n_new = _add(scratch, case_move[i], r, lanes, n_entries, n_mine, n_new, tables, values, memory)
                filled[scratch] = False
    return n_new


@njit(cache=True, nogil=True, borrows=True, inline="always")
def _add(
    source: int,
    move: int,
    row: int,
    lanes: Any,
    n_entries: int,
    n_mine: int,
    n_new: int,
    tables: Any,
    values: Any,
    memory: Any,
) -> int:
    """Add a record, with one event more, to the event's own where the state holds events, else to the state's new."""
    (move_to, move_bits), holds, shape = tables[0], tables[2], tables[7]
    records, filled, (new_state, new_row, _, taken) = memory[0], memory[1], memory[4]
    n_states, state = holds.size, move_to[move]
    target, is_new = n_states + state, not filled[n_states + state]
    if holds[state]:
        entry = n_entries + n_mine
        while entry < n_entries + n_new and new_state[entry] != state:
            entry += 1
        target, is_new = 3 * n_states + 1 + entry, entry == n_entries + n_new
        if is_new:
            new_state[entry] = state
            new_row[entry] = row
            taken[entry] = -1
            n_new += 1
    else:
        filled[target] = True
    put_event(records, shape, source, target, is_new, lanes[0], lanes[1], move_bits[move], values, row)
    return n_new


@njit(cache=True, nogil=True, borrows=True, inline="always")
def _sum(tree: int, place: int, is_point: bool, a: int, b: int, index: Any, memory: Any, shape: Any, out: int) -> None:
    """Put into the record `out` those that stand before a place, or at it."""
    records, filled, stamps, current = memory[:4]
    first, stamp = index[7][tree], current[tree]
    is_new = True
    if is_point:
        if place >= 0 and stamps[tree, place] == stamp:
            put(records, shape, first + place, out, True, a, b)
            filled[out] = True
        return
    while place > 0:
        if stamps[tree, place - 1] == stamp:
            put(records, shape, first + place - 1, out, is_new, a, b)
            is_new = False
        place -= place & -place
    filled[out] = not is_new


@njit(cache=True, nogil=True, borrows=True, inline="always")
def _insert(
    entry: int,
    shift: int,
    batch: int,
    lanes: Any,
    is_any: bool,
    totals: Any,
    index: Any,
    memory: Any,
    shape: Any,
) -> None:
    """Put a new entry into the trees or queues of its state."""
    records, filled, stamps, current, (new_state, new_row, _, _), queues, _ = memory
    _, _, _, _, tree_test, is_point, place_of, tree_first, _, _, tree_lo, n_places = index
    a, b = lanes
    state = new_state[entry]
    source = 3 * totals.size + 1 + entry
    if totals[state]:
        put(records, shape, source, state, not filled[state], a, b)
        filled[state] = True
    for tree in range(tree_lo[state], tree_lo[state + 1]):
        test = tree_test[tree]
        place = place_of[test, shift + new_row[entry]]
        if place < 0:
            continue
        if not is_any:
            if is_point[test]:
                chain(queues[3], queues[4], queues[5], tree, place, entry, current[tree])
            else:
                push(queues[0], queues[1], tree, queues[2][tree], place, entry)
                queues[2][tree] += 1
            continue
        node, last = place + 1, n_places[test, batch]
        if is_point[test]:
            last = node
        while node <= last:
            is_new = stamps[tree, node - 1] != current[tree]
            put(records, shape, source, tree_first[tree] + node - 1, is_new, a, b)
            stamps[tree, node - 1] = current[tree]
            node += node & -node


@njit(cache=True, nogil=True, borrows=True, inline="always")
def _pass_by(group: int, lanes: Any, after: IntArray, holds: IntArray, index: Any, memory: Any, shape: Any) -> None:
    """What a group of events leaves of the records from before it."""
    records, filled, _, current, _, queues, _ = memory
    a, b = lanes
    n_states = holds.size
    for state in range(n_states):
        if holds[state] and after[group, state] < 0:
            for tree in range(index[10][state], index[10][state + 1]):
                current[tree] += 1
                queues[2][tree] = 0
        if filled[state] and after[group, state] >= 0:
            target = 2 * n_states + after[group, state]
            put(records, shape, state, target, not filled[target], a, b)
            filled[target] = True
    for state in range(n_states):
        filled[state] = filled[2 * n_states + state]
        if filled[state]:
            put(records, shape, 2 * n_states + state, state, True, a, b)
            filled[2 * n_states + state] = False
