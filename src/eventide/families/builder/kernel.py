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

import numpy as np

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IndexArray, IntArray

# An edge: (action, target state, step, first term, end of its terms, first accepting term, end of these). One of the
# terms must hold; if one of the accepting terms holds, too, the match is complete, although it may go on.
TAKE, IGNORE = 0, 1
ACCEPTED, STOPPED = -1, -2  # targets instead of a state: the match is complete, or the run ends whatever else it may do
NEVER = 2**62

# Places in `state`.
PARTITION, ROW, MOVED, SIDE, N_RUNS, N_BINDINGS, N_COMPLETE, PROBLEM = 0, 1, 2, 3, 4, 5, 6, 7
BASE, N_KEPT_RUNS, N_KEPT_COMPLETE, N_KEPT_BINDINGS, STEPS_LEFT, STATE_SIZE = 8, 9, 10, 11, 12, 13
# state[PROBLEM]: what ended a call before its work was done.
NO_PROBLEM, OUT_FULL, RUNS_FULL, BINDINGS_FULL, COMPLETE_FULL, KEPT_FULL, NO_STEPS_LEFT = 0, 1, 2, 3, 4, 5, 6
# Places in a row of `progress`, one for each partition: the first event that was not looked at; the number of its saved
# partial matches (-1: none); whether more events will come; the event before which matches must begin.
NEXT_ROW, SAVED, IS_OPEN, STOP_ROW = 0, 1, 2, 3
# Places in `limits`.
WINDOW_US, GAP_US, END_US, SKIP, SKIP_STEP, TIMEOUTS = 0, 1, 2, 3, 4, 5
# ONLY_FIRST: of each partition the match that begins first; of several the one that is complete first.
NO_SKIP, SKIP_NEXT, SKIP_PAST_LAST, SKIP_TO_FIRST, SKIP_TO_LAST, ONLY_FIRST = 0, 1, 2, 3, 4, 5
# Rows of `out`: partition, what it is, last binding.
MATCH, TIMEOUT = 0, 1


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


@njit(cache=True, nogil=True)
def find_bound(bindings: IndexArray, node: int, members: IndexArray, from_first: bool, offset: int) -> int:
    """The row of the last event taken for one of the member steps, or of the one `offset` before it; -1: there is none.

    With `from_first`, events are counted from the first one on.
    """
    wanted = offset
    if from_first:
        n = 0
        at = node
        while at >= 0:
            n += members[bindings[1, at]]
            at = bindings[2, at]
        wanted = n - 1 - offset
    if wanted < 0:
        return -1
    while node >= 0:
        if members[bindings[1, node]]:
            if wanted == 0:
                return int(bindings[0, node])
            wanted -= 1
        node = bindings[2, node]
    return -1


@njit(cache=True, nogil=True)
def _is_one_true(
    first: int,
    last: int,
    row: int,
    node: int,
    program: Any,
    tests: IndexArray,
    masks: IntArray,
    bindings: IndexArray,
    carried: Any,
    cols: Any,
) -> bool:
    """Whether one of the terms holds.

    `tests[c]` has the bit of condition c in `masks`, -1 if it has none, and whether `holds` must be asked, too.
    """
    terms, literals = program[2], program[3]
    for term in range(first, last):
        true = True
        for at in range(terms[term], terms[term + 1]):
            c = literals[at] >> 1
            bit = tests[c, 0]
            fact = bit < 0 or (masks[bit >> 6, row] >> (bit & 63)) & 1 != 0
            if fact and tests[c, 1] != 0:
                fact = holds(c, row, node, bindings, carried, cols)
            if fact == (literals[at] & 1 != 0):
                true = False
                break
        if true:
            return True
    return False


@njit(cache=True, nogil=True)
def _by_masks(
    first: int, last: int, row: int, terms: IndexArray, literals: IndexArray, tests: IndexArray, masks: IntArray
) -> int:
    """What the event alone says of the terms. 1: one of them holds. 0: none does. -1: that depends on earlier events.

    Most events are settled here, without the many arrays that `holds` is given.
    """
    known = 0
    for term in range(first, last):
        true = 1
        for at in range(terms[term], terms[term + 1]):
            c = literals[at] >> 1
            bit = tests[c, 0]
            fact = bit < 0 or (masks[bit >> 6, row] >> (bit & 63)) & 1 != 0
            if fact and tests[c, 1] != 0:
                true = -1
            elif fact == (literals[at] & 1 != 0):
                true = 0
                break
        if true == 1:
            return 1
        if true < 0:
            known = -1
    return known


@njit(cache=True, nogil=True)
def _skip_row(bindings: IndexArray, node: int, limits: IntArray) -> int:
    """The row to which a match skips: what began before it is dropped; -1: nothing is."""
    skip = limits[SKIP]
    if skip == ONLY_FIRST:
        return NEVER
    if skip == SKIP_PAST_LAST:
        return int(bindings[0, node]) + 1
    found = -1
    while node >= 0:
        if skip == SKIP_NEXT:
            found = bindings[0, node] + 1
        elif bindings[1, node] == limits[SKIP_STEP]:
            found = bindings[0, node]
            if skip == SKIP_TO_LAST:
                break
        node = bindings[2, node]
    return int(found)


@njit(cache=True, nogil=True)
def _leave_out(starts: IndexArray, keep: IndexArray, n: int, row: int) -> int:
    """Drop the columns of `keep` that begin before a row, `starts` being one of its rows; returns how many are left."""
    kept = 0
    for i in range(n):
        if starts[i] >= row:
            for k in range(keep.shape[0]):
                keep[k, kept] = keep[k, i]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _keep_first(
    runs: IndexArray, n_runs: int, complete: IndexArray, n_complete: int, row: int, alike: IndexArray, seen: IntArray
) -> tuple[int, int]:
    """Drop what cannot become the match that begins first; returns how many partial and complete matches are left.

    Partial matches are in the order of their beginnings. In a state that is `alike`, what comes does not depend on the
    events taken, so of the partial matches in it only the first is kept: whatever the others do, it does, too.
    `seen[state]` is the row at which the state was seen last, plus one.
    """
    first = NEVER
    if n_complete > 0:
        best = 0
        for i in range(1, n_complete):
            if complete[1, i] < complete[1, best]:
                best = i
        complete[0, 0], complete[1, 0] = complete[0, best], complete[1, best]
        n_complete, first = 1, complete[1, 0]
    kept = 0
    for i in range(n_runs):
        at = runs[0, i]
        if runs[2, i] >= first:
            break
        if alike[at]:
            if seen[at] == row + 1:
                continue
            seen[at] = row + 1
        runs[0, kept], runs[1, kept], runs[2, kept] = at, runs[1, i], runs[2, i]
        kept += 1
    return kept, n_complete


@njit(cache=True, nogil=True)
def _settle(
    runs: IndexArray,
    n_runs: int,
    complete: IndexArray,
    n_complete: int,
    is_end: bool,
    partition: int,
    limits: IntArray,
    bindings: IndexArray,
    n_out: int,
    out: IntArray,
) -> tuple[int, int, int]:
    """Give out complete matches, the earliest first, as long as no partial match began earlier.

    What a match skips over is dropped, partial or complete. Returns how many partial matches, complete matches and rows
    of `out` there are then; -1 rows: there was no room.
    """
    while n_complete > 0:
        best = 0
        for i in range(1, n_complete):
            if complete[1, i] < complete[1, best]:
                best = i
        if not is_end:
            for i in range(n_runs):
                if runs[2, i] < complete[1, best]:
                    return n_runs, n_complete, n_out
        if n_out == out.shape[0]:
            return n_runs, n_complete, -1
        node = complete[0, best]
        out[n_out, 0], out[n_out, 1], out[n_out, 2] = partition, MATCH, node
        n_out += 1
        for i in range(best, n_complete - 1):
            complete[0, i], complete[1, i] = complete[0, i + 1], complete[1, i + 1]
        n_complete -= 1
        row = _skip_row(bindings, node, limits)
        if row >= 0:
            n_runs = _leave_out(runs[2], runs, n_runs, row)
            n_complete = _leave_out(complete[1], complete, n_complete, row)
    return n_runs, n_complete, n_out


@njit(cache=True, nogil=True)
def _read_saved(
    low: int,
    saved: int,
    saved_state: Any,
    state: IntArray,
    runs: IndexArray,
    complete: IndexArray,
    bindings: IndexArray,
    carried: Any,
    cols: Any,
) -> int:
    """Take up the partial matches saved for a partition, whose first row is `low`; returns what has no room.

    `saved_state` is (ends, runs, complete, bindings). The parts of number n end at ends[n + 1] in the other arrays.
    These are as in `advance_matches`, with rows counted from the partition's first row, and bindings from the number's
    first binding.
    """
    state[N_RUNS], state[N_COMPLETE], state[BASE] = 0, 0, state[N_BINDINGS]
    if saved < 0:
        return NO_PROBLEM
    ends, saved_runs, saved_complete, saved_bindings = saved_state
    n_runs, n_complete = ends[saved + 1, 0] - ends[saved, 0], ends[saved + 1, 1] - ends[saved, 1]
    n_bindings, base, side = ends[saved + 1, 2] - ends[saved, 2], state[N_BINDINGS], state[SIDE]
    if n_runs > runs.shape[2]:
        return RUNS_FULL
    if n_complete > complete.shape[2]:
        return COMPLETE_FULL
    if base + n_bindings > bindings.shape[1]:
        return BINDINGS_FULL
    for i in range(n_bindings):
        at, node = ends[saved, 2] + i, base + i
        before = saved_bindings[2, at]
        bindings[0, node], bindings[1, node] = low + saved_bindings[0, at], saved_bindings[1, at]
        bindings[2, node] = base + before if before >= 0 else -1
        carry(node, bindings[2, node], bindings[0, node], bindings[1, node], carried, cols)
    for i in range(n_runs):
        at = ends[saved, 0] + i
        runs[side, 0, i], runs[side, 1, i] = saved_runs[0, at], base + saved_runs[1, at]
        runs[side, 2, i] = low + saved_runs[2, at]
    for i in range(n_complete):
        at = ends[saved, 1] + i
        complete[side, 0, i], complete[side, 1, i] = base + saved_complete[0, at], low + saved_complete[1, at]
    state[N_RUNS], state[N_COMPLETE], state[N_BINDINGS] = n_runs, n_complete, base + n_bindings
    return NO_PROBLEM


@njit(cache=True, nogil=True)
def _keep(
    partition: int, state: IntArray, runs: IndexArray, complete: IndexArray, bindings: IndexArray, kept: Any
) -> int:
    """Write the partial matches of a partition to `kept`, how many and which; returns what has no room."""
    counts, kept_runs, kept_complete, kept_bindings = kept
    side, base, n = state[SIDE], state[BASE], state[N_BINDINGS]
    n_runs, n_complete = state[N_RUNS], state[N_COMPLETE]
    if n_runs + n_complete > 0:
        place = np.full(n - base, -1, dtype=np.int32)
        for i in range(n_runs):
            _mark(runs[side, 1, i], base, place, bindings)
        for i in range(n_complete):
            _mark(complete[side, 0, i], base, place, bindings)
        n_live = 0
        for i in range(place.size):
            if place[i] >= 0:
                place[i] = n_live
                n_live += 1
        first_run, first_complete, first = state[N_KEPT_RUNS], state[N_KEPT_COMPLETE], state[N_KEPT_BINDINGS]
        if (
            first_run + n_runs > kept_runs.shape[1]
            or first_complete + n_complete > kept_complete.shape[1]
            or first + n_live > kept_bindings.shape[1]
        ):
            return KEPT_FULL
        for i in range(place.size):
            if place[i] >= 0:
                at, before = first + place[i], bindings[2, base + i]
                kept_bindings[0, at], kept_bindings[1, at] = bindings[0, base + i], bindings[1, base + i]
                kept_bindings[2, at] = place[before - base] if before >= 0 else -1
        for i in range(n_runs):
            at = first_run + i
            kept_runs[0, at], kept_runs[1, at] = runs[side, 0, i], place[runs[side, 1, i] - base]
            kept_runs[2, at] = runs[side, 2, i]
        for i in range(n_complete):
            at = first_complete + i
            kept_complete[0, at] = place[complete[side, 0, i] - base]
            kept_complete[1, at] = complete[side, 1, i]
        state[N_KEPT_RUNS] += n_runs
        state[N_KEPT_COMPLETE] += n_complete
        state[N_KEPT_BINDINGS] += n_live
        counts[partition, 0], counts[partition, 1], counts[partition, 2] = n_runs, n_complete, n_live
    return NO_PROBLEM


@njit(cache=True, nogil=True)
def advance_matches(
    offsets: IntArray,
    stop_partition: int,
    ts_us: IntArray,
    masks: IntArray,
    program: Any,
    tests: IndexArray,
    limits: IntArray,
    progress: IntArray,
    saved_state: Any,
    kept: Any,
    state: IntArray,
    runs: IndexArray,
    complete: IndexArray,
    bindings: IndexArray,
    carried: Any,
    cols: Any,
    out: IntArray,
) -> int:
    """Write matches and timed out partial matches to `out`; returns how many.

    Finished when state[PARTITION] reaches `stop_partition`.

    Room to work in: `runs` (two sides; state, last binding, first row), `complete` (two sides; last binding, first row)
    and `bindings` (row, step, binding before). The bindings that `out` names stay until the caller compacts them.
    `program` is `Program.arrays()` with what is `alike`; `tests` is as in `_is_one_true`.
    Of an open partition, what is not decided is written to `kept`. It is as in `_read_saved`, but has counts by
    partition instead of ends, and rows as they are here.
    """
    first_edge, edges, terms, literals, pending, alike = program
    seen = np.zeros(alike.size, dtype=np.int64)
    window_us, gap_us, skip = limits[WINDOW_US], limits[GAP_US], limits[SKIP]
    is_timed = window_us < NEVER or gap_us < NEVER
    n_out = 0
    while state[PARTITION] < stop_partition:
        partition = state[PARTITION]
        lo, hi = offsets[partition], offsets[partition + 1]
        is_open = progress[partition, IS_OPEN] != 0
        stop = progress[partition, STOP_ROW]
        if state[ROW] < lo:
            problem = _read_saved(
                lo, progress[partition, SAVED], saved_state, state, runs, complete, bindings, carried, cols
            )
            if problem != NO_PROBLEM:
                state[PROBLEM] = problem
                return n_out
            state[ROW], state[MOVED] = progress[partition, NEXT_ROW], 0
        while state[ROW] <= hi:
            if state[STEPS_LEFT] <= 0:
                state[PROBLEM] = NO_STEPS_LEFT
                return n_out
            state[STEPS_LEFT] -= 1 + state[N_RUNS]
            row, side = state[ROW], state[SIDE]
            is_end = row == hi
            if is_end and is_open and state[MOVED] != 0:
                problem = _keep(partition, state, runs, complete, bindings, kept)
                if problem != NO_PROBLEM:
                    state[PROBLEM] = problem
                    return n_out
                state[MOVED] = 0
                state[ROW] += 1
                continue
            old, new = runs[side], runs[1 - side]
            old_complete, new_complete = complete[side], complete[1 - side]
            n_old, n_new, n_bound, n_before = state[N_RUNS], 0, state[N_BINDINGS], n_out
            n_complete = state[N_COMPLETE]
            problem = NO_PROBLEM
            for i in range(n_complete):
                new_complete[0, i], new_complete[1, i] = old_complete[0, i], old_complete[1, i]
            moves = is_end or (is_timed and state[MOVED] == 0)
            if moves:
                # Time moves to the event, or to the end: partial matches whose time is over leave.
                now_us = limits[END_US] if is_end else ts_us[row]
                for run in range(n_old):
                    node, start = old[1, run], old[2, run]
                    is_over = is_timed and (
                        now_us - ts_us[start] >= window_us or now_us - ts_us[bindings[0, node]] >= gap_us
                    )
                    if not is_over:
                        new[0, n_new], new[1, n_new], new[2, n_new] = old[0, run], node, start
                        n_new += 1
                    elif pending[old[0, run]] and skip != NO_SKIP:
                        if n_complete == new_complete.shape[1]:
                            problem = COMPLETE_FULL
                            break
                        new_complete[0, n_complete], new_complete[1, n_complete] = node, start
                        n_complete += 1
                    elif pending[old[0, run]] or limits[TIMEOUTS]:
                        if n_out == out.shape[0]:
                            problem = OUT_FULL
                            break
                        out[n_out, 0], out[n_out, 2] = partition, node
                        out[n_out, 1] = MATCH if pending[old[0, run]] else TIMEOUT
                        n_out += 1
            else:
                # The event is looked at by every run, and last by the one that would begin with it.
                begins = row < stop and (skip != ONLY_FIRST or n_complete == 0)
                for run in range(n_old + begins):
                    at, node, start = np.int32(0), np.int32(-1), np.int32(row)
                    if run < n_old:
                        at, node, start = old[0, run], old[1, run], old[2, run]
                    n_kept = n_new
                    is_stopped = False
                    for e in range(first_edge[at], first_edge[at + 1]):
                        edge = edges[e]
                        known = _by_masks(edge[3], edge[4], row, terms, literals, tests, masks)
                        if known == 0 or (
                            known < 0
                            and not _is_one_true(
                                edge[3], edge[4], row, node, program, tests, masks, bindings, carried, cols
                            )
                        ):
                            continue
                        target, last = edge[1], node
                        if target == STOPPED:
                            is_stopped = True
                            continue
                        if edge[0] == TAKE:
                            if n_bound == bindings.shape[1]:
                                problem = BINDINGS_FULL
                                break
                            last = np.int32(n_bound)
                            bindings[0, last], bindings[1, last], bindings[2, last] = row, edge[2], node
                            n_bound += 1
                            carry(last, node, row, edge[2], carried, cols)
                        is_complete = target == ACCEPTED or (
                            edge[5] < edge[6]
                            and _is_one_true(
                                edge[5], edge[6], row, node, program, tests, masks, bindings, carried, cols
                            )
                        )
                        if target != ACCEPTED:
                            if n_new == new.shape[1]:
                                problem = RUNS_FULL
                                break
                            new[0, n_new], new[1, n_new], new[2, n_new] = target, last, start
                            n_new += 1
                        if is_complete and skip != NO_SKIP:
                            if n_complete == new_complete.shape[1]:
                                problem = COMPLETE_FULL
                                break
                            new_complete[0, n_complete], new_complete[1, n_complete] = last, start
                            n_complete += 1
                        elif is_complete:
                            if n_out == out.shape[0]:
                                problem = OUT_FULL
                                break
                            out[n_out, 0], out[n_out, 1], out[n_out, 2] = partition, MATCH, last
                            n_out += 1
                    if problem != NO_PROBLEM:
                        break
                    if is_stopped:
                        n_new = n_kept
            if problem == NO_PROBLEM and skip == ONLY_FIRST and not moves:
                n_new, n_complete = _keep_first(new, n_new, new_complete, n_complete, row, alike, seen)
            if problem == NO_PROBLEM and n_complete > 0:
                n_new, n_complete, n_out = _settle(
                    new,
                    n_new,
                    new_complete,
                    n_complete,
                    is_end and not is_open,
                    partition,
                    limits,
                    bindings,
                    n_out,
                    out,
                )
                if n_out < 0:
                    problem = OUT_FULL
            if problem != NO_PROBLEM:
                state[PROBLEM] = problem
                return n_before
            state[SIDE] = 1 - side
            state[N_RUNS], state[N_BINDINGS], state[N_COMPLETE] = n_new, n_bound, n_complete
            state[MOVED] = 1 if moves and not (is_end and not is_open) else 0
            if not moves or (is_end and not is_open):
                state[ROW] += 1
            if skip == ONLY_FIRST and n_out > n_before:
                state[ROW], state[MOVED] = hi + 1, 0
        state[PARTITION] += 1
        state[ROW] = -1
    return n_out


@njit(cache=True, nogil=True)
def compact_bindings(
    state: IntArray, runs: IndexArray, complete: IndexArray, bindings: IndexArray, carried: Any
) -> None:
    """Forget the bindings that no partial or complete match leads to."""
    n = state[N_BINDINGS]
    own, finished = runs[state[SIDE]], complete[state[SIDE]]
    place = np.full(n, -1, dtype=np.int32)
    for i in range(state[N_RUNS]):
        _mark(own[1, i], 0, place, bindings)
    for i in range(state[N_COMPLETE]):
        _mark(finished[0, i], 0, place, bindings)
    kept = 0
    # A binding has a higher number than the one before it, whose new place is therefore known.
    for node in range(n):
        if place[node] >= 0:
            place[node] = kept
            before = bindings[2, node]
            bindings[0, kept], bindings[1, kept] = bindings[0, node], bindings[1, node]
            bindings[2, kept] = place[before] if before >= 0 else -1
            for k in range(carried[0].shape[0]):
                carried[0][k, kept] = carried[0][k, node]
            for k in range(carried[1].shape[0]):
                carried[1][k, kept] = carried[1][k, node]
            for k in range(carried[2].shape[0]):
                carried[2][k, kept] = carried[2][k, node]
            for k in range(carried[3].shape[0]):
                carried[3][k, kept] = carried[3][k, node]
            kept += 1
    for i in range(state[N_RUNS]):
        own[1, i] = place[own[1, i]]
    for i in range(state[N_COMPLETE]):
        finished[0, i] = place[finished[0, i]]
    # All that is left belongs to the present partition.
    state[N_BINDINGS], state[BASE] = kept, 0


@njit(cache=True, nogil=True)
def _mark(node: int, base: int, place: IndexArray, bindings: IndexArray) -> None:
    """Set the places, counted from `base`, of a binding and of those before it to 0."""
    while node >= 0 and place[node - base] < 0:
        place[node - base] = 0
        node = bindings[2, node]


@njit(cache=True, nogil=True)
def count_events(bindings: IndexArray, nodes: IntArray, out: IntArray) -> None:
    """How many events lead to each of the bindings."""
    for i in range(nodes.size):
        n, node = 0, nodes[i]
        while node >= 0:
            n += 1
            node = bindings[2, node]
        out[i] = n


@njit(cache=True, nogil=True)
def unwind(bindings: IndexArray, nodes: IntArray, ends: IntArray, out_rows: IntArray, out_steps: IndexArray) -> None:
    """The rows and steps that lead to each of the bindings, in order; those of the i-th end at `ends[i]`."""
    for i in range(nodes.size):
        at, node = ends[i], nodes[i]
        while node >= 0:
            at -= 1
            out_rows[at] = bindings[0, node]
            out_steps[at] = bindings[1, node]
            node = bindings[2, node]
