"""Partial matches of a builder pattern, advanced event by event in sorted partitions.

A partial match, or *run*, is (state, last binding, first row). A *binding* is (row, step, binding before); bindings are
a forest, in which runs share their beginnings. For each event, time moves first; then every run follows all its edges.
An event reads from one side of the arrays and writes to the other, so that it can be left undone if there is no room:
the caller makes room and calls again. A call has a number of steps, one for each run that looks at an event, and pauses
between two events. docs/matchers.md draws runs and bindings for a small pattern.

A partition may be open: more events will come. Its runs are read at its first event and kept at its last.
"""

from __future__ import annotations

from typing import Any

import numpy as np  # noqa: F401 (generated code reads it)

from eventide.compilation.njit import njit
from eventide.families.builder.kernel_bindings import find_bound, keep  # noqa: F401 (likewise)
from eventide.families.builder.kernel_places import (
    ACCEPTED,
    BINDINGS_FULL,
    COMPLETE_FULL,
    IS_OPEN,
    MATCH,
    NEVER,
    NEXT_ROW,
    NO_PROBLEM,
    NO_SKIP,
    NO_STEPS_LEFT,
    ONLY_FIRST,
    OUT_FULL,
    RUNS_FULL,
    SAVED,
    SKIP_NEXT,
    SKIP_PAST_LAST,
    SKIP_TO_LAST,
    STOP_ROW,
    STOPPED,
    TAKE,
    TIMEOUT,
    Events,
    Limits,
    Program,
    Room,
)
from eventide.runtime.kernels.arrays import IndexArray, IntArray


# <generated: holds>
@njit(cache=True, nogil=True)
def holds(condition: int, row: int, node: int, bindings: IndexArray, carried: Any, cols: Any) -> bool:
    """Whether `row` satisfies what a condition says about earlier events; replaced per pattern."""
    return True


# </generated>


# <generated: carry>
@njit(cache=True, nogil=True)
def carry(node: int, before: int, row: int, step: int, carried: Any, cols: Any) -> None:
    """Keep at a binding what conditions read of the events up to it, such as a running sum; replaced per pattern.

    `node` is the binding, `before` the one before it.
    """


# </generated>


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def _is_one_true(
    first: int, end: int, row: int, node: int, events: Events, program: Program, bindings: IndexArray, carried: Any
) -> bool:
    """Whether one of the terms from `first` up to `end` holds."""
    terms, literals, tests, masks = program.terms, program.literals, program.tests, events.masks
    for term in range(first, end):
        true = True
        for at in range(terms[term], terms[term + 1]):
            c = literals[at] >> 1
            bit = tests[c, 0]
            fact = bit < 0 or (masks[bit >> 6, row] >> (bit & 63)) & 1 != 0
            if fact and tests[c, 1] != 0:
                fact = holds(c, row, node, bindings, carried, events.cols)
            if fact == (literals[at] & 1 != 0):
                true = False
                break
        if true:
            return True
    return False


@njit(cache=True, nogil=True, borrows=True)
def _skip_row(bindings: IndexArray, node: int, limits: Limits) -> int:
    """The row to which a match skips: what began before it is dropped; -1: nothing is."""
    skip = limits.skip
    if skip == ONLY_FIRST:
        return NEVER
    if skip == SKIP_PAST_LAST:
        return int(bindings[0, node]) + 1
    found = -1
    while node >= 0:
        if skip == SKIP_NEXT:
            found = bindings[0, node] + 1
        elif bindings[1, node] == limits.skip_step:
            found = bindings[0, node]
            if skip == SKIP_TO_LAST:
                break
        node = bindings[2, node]
    return int(found)


@njit(cache=True, nogil=True, borrows=True)
def _leave_out(starts: IndexArray, keep: IndexArray, n: int, row: int) -> int:
    """Drop the columns of `keep` that begin before a row, `starts` being one of its rows; returns how many are left."""
    kept = 0
    for i in range(n):
        if starts[i] >= row:
            for k in range(keep.shape[0]):
                keep[k, kept] = keep[k, i]
            kept += 1
    return kept


@njit(cache=True, nogil=True, borrows=True)
def _first_complete(complete: IndexArray, n_complete: int) -> int:
    """The number of the complete match that begins first; of several the one that was complete first."""
    best = 0
    for i in range(1, n_complete):
        if complete[1, i] < complete[1, best]:
            best = i
    return best


@njit(cache=True, nogil=True, borrows=True)
def _keep_first(row: int, alike: IndexArray, state: Any, room: Room) -> None:
    """Drop what cannot become the match that begins first.

    Partial matches are in the order of their beginnings. In a state that is `alike`, what comes does not depend on the
    events taken, so of the partial matches in it only the first is kept: whatever the others do, it does, too.
    """
    runs, complete, seen = room.runs[1 - state.side], room.complete[1 - state.side], room.seen
    first = NEVER
    if state.new_complete > 0:
        best = _first_complete(complete, state.new_complete)
        complete[0, 0], complete[1, 0] = complete[0, best], complete[1, best]
        state.new_complete, first = 1, complete[1, 0]
    kept = 0
    for i in range(state.new_runs):
        at = runs[0, i]
        if runs[2, i] >= first:
            break
        if alike[at]:
            if seen[at] == row + 1:
                continue
            seen[at] = row + 1
        runs[0, kept], runs[1, kept], runs[2, kept] = at, runs[1, i], runs[2, i]
        kept += 1
    state.new_runs = kept


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def _write_out(kind: int, node: int, state: Any, out: IntArray) -> int:
    """Give out a match, or what is left of one whose time is over; returns what has no room."""
    n = state.new_out
    if n == out.shape[0]:
        return OUT_FULL
    out[n, 0], out[n, 1], out[n, 2] = state.partition, kind, node
    state.new_out = n + 1
    return NO_PROBLEM


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def _add_match(node: int, start: int, limits: Limits, state: Any, room: Room, out: IntArray) -> int:
    """A match is complete: it leaves, or waits for those that began earlier if they may skip it."""
    if limits.skip == NO_SKIP:
        return _write_out(MATCH, node, state, out)  # type: ignore[no-any-return]
    complete, n = room.complete[1 - state.side], state.new_complete
    if n == complete.shape[1]:
        return COMPLETE_FULL
    complete[0, n], complete[1, n] = node, start
    state.new_complete = n + 1
    return NO_PROBLEM


@njit(cache=True, nogil=True, borrows=True)
def _settle(is_over: bool, limits: Limits, state: Any, room: Room, out: IntArray) -> int:
    """Give out complete matches, the earliest first, as long as no partial match began earlier.

    What a match skips over is dropped, partial or complete. Returns what has no room.
    """
    runs, complete = room.runs[1 - state.side], room.complete[1 - state.side]
    while state.new_complete > 0:
        best = _first_complete(complete, state.new_complete)
        if not is_over:
            for i in range(state.new_runs):
                if runs[2, i] < complete[1, best]:
                    return NO_PROBLEM
        node = complete[0, best]
        problem: int = _write_out(MATCH, node, state, out)
        if problem != NO_PROBLEM:
            return problem
        state.new_complete -= 1
        for i in range(best, state.new_complete):
            complete[0, i], complete[1, i] = complete[0, i + 1], complete[1, i + 1]
        row = _skip_row(room.bindings, node, limits)
        if row >= 0:
            state.new_runs = _leave_out(runs[2], runs, state.new_runs, row)
            state.new_complete = _leave_out(complete[1], complete, state.new_complete, row)
    return NO_PROBLEM


@njit(cache=True, nogil=True, borrows=True)
def _read_saved(low: int, number: int, saved: Any, state: Any, room: Room, cols: Any) -> int:
    """Take up the partial matches saved for a partition, whose first row is `low`; returns what has no room.

    `saved` is (ends, runs, complete, bindings). The parts of a number end at ends[number + 1] in the other arrays. They
    are as in `Room`. Their rows count from the partition's first row, their bindings from the number's first binding.
    """
    state.n_runs, state.n_complete, state.base = 0, 0, state.n_bindings
    if number < 0:
        return NO_PROBLEM
    ends, saved_runs, saved_complete, saved_bindings = saved
    runs, complete, bindings = room.runs[state.side], room.complete[state.side], room.bindings
    n_runs, n_complete = ends[number + 1, 0] - ends[number, 0], ends[number + 1, 1] - ends[number, 1]
    n_bindings, base = ends[number + 1, 2] - ends[number, 2], state.n_bindings
    if n_runs > runs.shape[1]:
        return RUNS_FULL
    if n_complete > complete.shape[1]:
        return COMPLETE_FULL
    if base + n_bindings > bindings.shape[1]:
        return BINDINGS_FULL
    for i in range(n_bindings):
        at, node = ends[number, 2] + i, base + i
        before = saved_bindings[2, at]
        bindings[0, node], bindings[1, node] = low + saved_bindings[0, at], saved_bindings[1, at]
        bindings[2, node] = base + before if before >= 0 else -1
        carry(node, bindings[2, node], bindings[0, node], bindings[1, node], room.carried, cols)
    for i in range(n_runs):
        at = ends[number, 0] + i
        runs[0, i], runs[1, i], runs[2, i] = saved_runs[0, at], base + saved_runs[1, at], low + saved_runs[2, at]
    for i in range(n_complete):
        at = ends[number, 1] + i
        complete[0, i], complete[1, i] = base + saved_complete[0, at], low + saved_complete[1, at]
    state.n_runs, state.n_complete, state.n_bindings = n_runs, n_complete, base + n_bindings
    return NO_PROBLEM


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def _move_time(now_us: int, ts_us: IntArray, program: Program, limits: Limits, state: Any, room: Room, out: Any) -> int:
    """Time moves to an event, or to the end: partial matches whose time is over leave. Returns what has no room."""
    old, new, bindings = room.runs[state.side], room.runs[1 - state.side], room.bindings
    for run in range(state.n_runs):
        at, node, start = old[0, run], old[1, run], old[2, run]
        is_over = ts_us.size > 0 and (
            now_us - ts_us[start] >= limits.window_us or now_us - ts_us[bindings[0, node]] >= limits.gap_us
        )
        problem = NO_PROBLEM
        if not is_over:
            new[0, state.new_runs], new[1, state.new_runs], new[2, state.new_runs] = at, node, start
            state.new_runs += 1
        elif program.pending[at]:
            problem = _add_match(node, start, limits, state, room, out)
        elif limits.has_timeouts:
            problem = _write_out(TIMEOUT, node, state, out)
        if problem != NO_PROBLEM:
            return problem
    return NO_PROBLEM


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def _follow(
    at: int,
    node: int,
    start: int,
    row: int,
    events: Events,
    program: Program,
    limits: Limits,
    state: Any,
    room: Room,
    out: IntArray,
) -> int:
    """One run, in state `at`, looks at an event: it follows all edges whose terms hold. Returns what has no room."""
    new, bindings, carried = room.runs[1 - state.side], room.bindings, room.carried
    n_new, n_bound, is_stopped = state.new_runs, state.new_bindings, False
    for e in range(program.first_edge[at], program.first_edge[at + 1]):
        edge = program.edges[e]
        if not _is_one_true(edge.first, edge.end, row, node, events, program, bindings, carried):
            continue
        last = node
        if edge.target == STOPPED:
            is_stopped = True
            continue
        if edge.action == TAKE:
            if n_bound == bindings.shape[1]:
                return BINDINGS_FULL
            last = n_bound
            bindings[0, last], bindings[1, last], bindings[2, last] = row, edge.step, node
            n_bound += 1
            carry(last, node, row, edge.step, carried, events.cols)
        if edge.target != ACCEPTED:
            if n_new == new.shape[1]:
                return RUNS_FULL
            new[0, n_new], new[1, n_new], new[2, n_new] = edge.target, last, start
            n_new += 1
        if edge.target == ACCEPTED or _is_one_true(
            edge.first_accept, edge.end_accept, row, node, events, program, bindings, carried
        ):
            problem: int = _add_match(last, start, limits, state, room, out)
            if problem != NO_PROBLEM:
                return problem
    state.new_bindings = n_bound
    if not is_stopped:
        state.new_runs = n_new
    return NO_PROBLEM


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def _take_event(
    row: int, stop: int, events: Events, program: Program, limits: Limits, state: Any, room: Room, out: IntArray
) -> int:
    """Every run looks at an event, and last the one that would begin with it; returns what has no room."""
    old = room.runs[state.side]
    begins = row < stop and (limits.skip != ONLY_FIRST or state.n_complete == 0)
    for run in range(state.n_runs + begins):
        at, node, start = 0, -1, row
        if run < state.n_runs:
            at, node, start = old[0, run], old[1, run], old[2, run]
        problem: int = _follow(at, node, start, row, events, program, limits, state, room, out)
        if problem != NO_PROBLEM:
            return problem
    if limits.skip == ONLY_FIRST:
        _keep_first(row, program.alike, state, room)
    return NO_PROBLEM


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def _advance(
    row: int, is_open: bool, hi: int, events: Events, program: Program, limits: Limits, state: Any, room: Room, out: Any
) -> int:
    """Time moves to an event, or the event is looked at; behind the last one, at `hi`, time moves to the end.

    Returns what has no room: then nothing has changed.
    """
    is_end, is_timed = row == hi, events.ts_us.size > 0
    is_over = is_end and not is_open
    old_complete, new_complete = room.complete[state.side], room.complete[1 - state.side]
    for i in range(state.n_complete):
        new_complete[0, i], new_complete[1, i] = old_complete[0, i], old_complete[1, i]
    state.new_runs, state.new_bindings = 0, state.n_bindings
    state.new_complete, state.new_out = state.n_complete, state.n_out
    moves = is_end or (is_timed and state.has_moved == 0)
    if moves:
        now_us = limits.end_us if is_end else events.ts_us[row]
        problem: int = _move_time(now_us, events.ts_us, program, limits, state, room, out)
    else:
        stop = events.progress[state.partition, STOP_ROW]
        problem = _take_event(row, stop, events, program, limits, state, room, out)
    if problem == NO_PROBLEM and state.new_complete > 0:
        problem = _settle(is_over, limits, state, room, out)
    if problem != NO_PROBLEM:
        return problem
    has_found = state.new_out > state.n_out
    state.side = 1 - state.side
    state.n_runs, state.n_bindings = state.new_runs, state.new_bindings
    state.n_complete, state.n_out = state.new_complete, state.new_out
    state.has_moved = moves and not is_over
    state.row += not state.has_moved
    if limits.skip == ONLY_FIRST and has_found:
        state.row, state.has_moved = hi + 1, 0
    return NO_PROBLEM


@njit(cache=True, nogil=True, borrows=True)
def advance_matches(
    events: Events,
    stop_partition: int,
    program: Program,
    limits: Limits,
    saved: Any,
    kept: Any,
    state: Any,
    room: Room,
    out: IntArray,
) -> int:
    """Write matches and timed out partial matches to `out` from state.n_out on; returns what ended the call.

    NO_PROBLEM when `stop_partition` is reached. Of an open partition, what is not decided is written to `kept`: as in
    `_read_saved`, but with counts by partition instead of ends, and rows as they are here.
    """
    room.seen[:] = 0
    while state.partition < stop_partition:
        lo, hi = events.offsets[state.partition], events.offsets[state.partition + 1]
        progress = events.progress[state.partition]
        is_open = progress[IS_OPEN] != 0
        problem: int = NO_PROBLEM
        if state.row < lo:
            problem = _read_saved(lo, progress[SAVED], saved, state, room, events.cols)
            if problem != NO_PROBLEM:
                return problem
            state.row, state.has_moved = progress[NEXT_ROW], 0
        while state.row <= hi:
            if state.steps_left <= 0:
                return NO_STEPS_LEFT
            state.steps_left -= 1 + state.n_runs
            if state.row == hi and is_open and state.has_moved != 0:
                problem = keep(state, room, kept)
                if problem == NO_PROBLEM:
                    state.has_moved = 0
                    state.row += 1
            else:
                problem = _advance(state.row, is_open, hi, events, program, limits, state, room, out)
            if problem != NO_PROBLEM:
                return problem
        state.partition += 1
        state.row = -1
    return NO_PROBLEM
