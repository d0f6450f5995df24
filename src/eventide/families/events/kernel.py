"""Matching a position automaton in sorted partitions: every binding of events to symbols once.

A depth-first walk from each start event. A *frame* of the walk is one partial match: its *entries* (symbol, row), and
the *paths* of the automaton that lead to it, each a position with its open *gaps*, in which a negation must not match.
The strategy looks at all paths of a frame together. A negation is a walk of its own, above the frames of the walk that
asks. The tests of a query come as functions, so that the module is compiled once for all queries.
Everything is kept in `job` and `stacks`: a full `out`, a full stack or the last step that a call may take pauses the
walk, and the next call resumes it. docs/matchers.md draws a walk with a negation that pauses, and defines these words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit
from eventide.families.events.kernel_ahead import first_with, lowest_bit
from eventide.families.events.kernel_places import (
    ANY,
    CONTIGUOUS,
    DONE,
    EXISTS,
    FOUND,
    GAP,
    MATCHES,
    MAX_CLOSED,
    NEVER,
    PARTIAL,
    PARTITION,
    PAUSED,
    SPACE,
    START_HI,
    START_LO,
    WAYS,
    Events,
    Offers,
    Program,
    Stacks,
)
from eventide.families.events.kernel_stacks import (
    close_edges,
    copy_gaps,
    gap_job,
    gaps_end,
    is_answered,
    is_bound,
    is_closed,
    is_known,
    needs_room,
    open_frame,
    write_entries,
    write_gap,
    write_head,
    write_kept,
)
from eventide.families.events.kernel_types import MATCH_SCOPES
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import first_from
from eventide.runtime.kernels.pattern_types import ADJACENT_HOLDS, BOUND_HOLDS, CLOSES


@njit(BOUND_HOLDS, cache=True, nogil=True)
def no_bound_test(symbol: int, row: int, symbols: IntArray, rows: IntArray, n: int, cols: Any) -> bool:
    """Whether the conjuncts between a new entry and the first n ones hold, in a query that has none."""
    return True


@njit(ADJACENT_HOLDS, cache=True, nogil=True)
def no_adjacent_test(left: int, left_row: int, right: int, right_row: int, cols: Any) -> bool:
    """Whether the conjuncts between two directly adjacent events hold, in a query that has none."""
    return True


@njit(CLOSES, cache=True, nogil=True)
def no_closing_test(test: int, symbols: IntArray, rows: IntArray, base: int, n: int, cols: Any) -> bool:
    """Whether an aggregate conjunct holds for the entries from `base` to `n`, in a query that has none."""
    return True


NO_TESTS = (no_bound_test, no_adjacent_test, no_closing_test)


@njit(cache=True, nogil=True, borrows=True)
def decided_us(job: Any, first_us: int, last_us: int, waits: int) -> int:
    """The time up to which all events must be known before a match is certain.

    That is the time of its last event, or the last instant of the window in which a NOT may still be violated.
    """
    if not waits and not job.n_windows:
        return last_us
    if job.window_end < NEVER:
        return job.window_end - 1  # type: ignore[no-any-return]
    if job.reach >= NEVER:
        return NEVER
    from_us = first_us + job.reach if waits else last_us
    return from_us + job.n_windows * job.reach - 1  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, borrows=True)
def edge_of_window(job: Any) -> int:
    """The first row of a gap before the first event; -1 where that depends on the last event, or says nothing."""
    return job.scope_lo if job.reach >= NEVER and job.keep != PARTIAL else -1


@njit(cache=True, nogil=True, borrows=True)
def gap_begin(job: Any, lo: int, last_us: int, ts_us: IntArray) -> int:
    """The first row of a gap; at the edge of the window, the first row less than a window before the last event."""
    if lo >= 0:
        return lo
    if job.reach >= NEVER:
        return job.scope_lo  # type: ignore[no-any-return]
    return first_from(ts_us, job.scope_lo, job.scope_hi, last_us - job.reach + 1)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, borrows=True)
def gap_end(job: Any, hi: int, first_us: int, ts_us: IntArray) -> int:
    """The row at which a gap ends; at the edge of the window, the first row that is a window behind the first event."""
    if hi >= 0:
        return hi
    if job.reach >= NEVER:
        return job.scope_hi  # type: ignore[no-any-return]
    return first_from(ts_us, job.scope_lo, job.scope_hi, first_us + job.reach)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, borrows=True)
def begin_walk(job: Any, program: Program, offers: Offers, stacks: Stacks) -> int:
    """Open the first frame of a walk; its number, or -1 where a stack must grow."""
    depth, path = job.frame, job.path
    if depth >= stacks.frames.shape[0] or path >= stacks.paths.shape[1]:
        return -1
    start = program.item.size + job.branch
    stacks.paths[0, path] = start
    stacks.paths[1, path] = stacks.paths[2, path] = job.open
    frame = stacks.frames[depth]
    open_frame(frame, job.lo, job.last_start, job.hi, job.entry, path, path + 1, job.open, -1)
    frame.offer = first_from(offers.first, job.offer_lo, job.offer_hi, job.lo)
    frame.want, frame.want_offer = program.want[start], program.want_offer[start]
    return depth  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def take_candidate(job: Any, frame: Any, events: Events, offers: Offers, stacks: Stacks) -> bool:
    """Look for the next candidate of a frame, a row with one symbol or an offer, and write its entries; False: none."""
    row, bits, n = frame.row, frame.bits, frame.n
    if bits == 0:
        row = first_with(events.mask, events.ahead, frame.want, row, frame.end)
        if row < frame.end:
            bits = events.mask[row] & frame.want
    if not job.is_again:
        # Looking at bound rows is quick.
        job.steps_left -= 1 + ((n - job.entry) >> 5)
    offer, is_offer = frame.offer, False
    if frame.want_offer:
        while offer < job.offer_hi and offers.first[offer] < frame.end and offers.last[offer] >= frame.limit_row:
            offer += 1
        if offer < job.offer_hi and offers.first[offer] < frame.end:
            is_offer = bits == 0 or offers.first[offer] <= row
    if bits == 0 and not is_offer:
        return False
    symbols, rows = stacks.entries[0], stacks.entries[1]
    job.row, job.bits, job.offer, job.is_offer = row, bits, offer, is_offer
    if is_offer:
        job.symbol, m = -1, n
        for i in range(offers.entry_lo[offer], offers.entry_lo[offer + 1]):
            symbols[m], rows[m] = offers.symbol[i], offers.row[i]
            m += 1
        job.n_entries, job.first_row, job.last_row = m, offers.first[offer], offers.last[offer]
    else:
        job.symbol = lowest_bit(bits)
        symbols[n], rows[n] = job.symbol, row
        job.n_entries, job.first_row, job.last_row = n + 1, row, row
    job.limit = frame.limit_row
    if n == job.entry and job.reach < NEVER:
        job.limit = first_from(events.ts_us, job.first_row, job.hi, events.ts_us[job.first_row] + job.reach)
    job.top, job.gap_top, job.asked, job.is_adjacent, job.closed = frame.path_hi, frame.gap_top, 0, 0, 0
    return True


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def is_allowed(job: Any, frame: Any, events: Events, stacks: Stacks, tests: Any, cols: Any) -> bool:
    """Whether the candidate lies in the window, and what relates it to the events before it holds."""
    bound_holds, adjacent_holds, _ = tests
    symbols, rows, precedes = stacks.entries[0], stacks.entries[1], events.precedes
    n, m = frame.n, job.n_entries
    holds = job.last_row < job.limit
    i = n - 1
    while holds and i >= job.entry and precedes[rows[i]] == precedes[frame.last]:
        j = n
        while holds and j < m and precedes[rows[j]] == precedes[job.first_row]:
            holds = adjacent_holds(symbols[i], rows[i], symbols[j], rows[j], cols)
            j += 1
        i -= 1
    i = n
    while holds and i < m:
        holds = bound_holds(symbols[i], rows[i], symbols, rows, i, cols)
        i += 1
    return holds  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def are_closed(job: Any, lo: int, hi: int, closings: IntArray, stacks: Stacks, tests: Any, cols: Any) -> bool:
    """Whether the aggregate conjuncts from `lo` up to `hi` hold for the entries of the extended match."""
    symbols, rows, closes = stacks.entries[0], stacks.entries[1], tests[2]
    for i in range(lo, hi):  # noqa: SIM110
        if not closes(closings[i], symbols, rows, job.entry, job.n_entries, cols):
            return False
    return True


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def is_due(gap: int, job: Any, program: Program, stacks: Stacks) -> bool:
    """Whether a gap can be asked about: it has both ends, and all that its negation mentions is bound."""
    gaps = stacks.gaps
    due = gaps[1, gap] >= 0 and gaps[2, gap] >= 0
    for k in range(program.link_lo[gaps[0, gap]], program.link_lo[gaps[0, gap] + 1]):
        due = due and is_bound(program.link[k], stacks.entries[0], job.n_entries)
    return due  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def has_event(bits: int, lo: int, hi: int, events: Events) -> bool:
    """Whether one of the rows from `lo` to `hi` has one of the bits: the answer about a negation of one event."""
    return first_with(events.mask, events.ahead, bits, lo, hi) < hi  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def stays_violated(negation: int, job: Any, program: Program) -> bool:
    """Whether a negation that is violated up to the candidate is so up to every later one: the gap only gets longer.

    That is not known where its conditions mention what the candidate binds.
    """
    for k in range(program.link_lo[negation], program.link_lo[negation + 1]):
        if job.is_offer or program.link[k] == job.symbol:
            return False
    return True


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def is_dead(job: Any, target: int, events: Events) -> bool:
    """Whether no match that binds the candidate's row to a position can end in the window."""
    if events.completion.shape[0] == 0 or job.is_offer:
        return False
    end = events.completion[target, job.row]
    return end < 0 or end >= job.limit  # type: ignore[no-any-return]


# The next two functions ask about negations, by a walk of `search` above the frame. They are part of `search`: Numba
# keeps compiled code of a function that calls itself, but not of two that call one another.
@njit(cache=True, nogil=True, borrows=True, inline="always")
def add_paths(
    depth: int,
    job: Any,
    program: Program,
    events: Events,
    offers: Offers,
    stacks: Stacks,
    tests: Any,
    cols: Any,
    out: Any,
) -> int:
    """The paths of the match that the candidate extends, by all edges from the paths of the frame; DONE or a pause."""
    frame, paths, gaps, jobs = stacks.frames[depth], stacks.paths, stacks.gaps, stacks.jobs
    begins = edge_of_window(job) if frame.n == job.entry else events.follows[frame.last]
    ends = events.precedes[job.first_row]
    number = -1
    for path in range(frame.path_lo, frame.path_hi):
        position = paths[0, path]
        for edge in range(program.edge_lo[position], program.edge_lo[position + 1]):
            number += 1
            target = program.edge_to[edge]
            if (not job.is_offer and program.item[target] != job.symbol) or is_closed(frame.closed, number):
                continue
            dead = is_dead(job, target, events)
            if dead and program.strategies[job.branch] == ANY:
                continue
            close_lo, close_hi = program.edge_close_lo[edge], program.edge_close_lo[edge + 1]
            if not are_closed(job, close_lo, close_hi, program.closings, stacks, tests, cols):
                continue
            way, last_way = 0, 1
            if job.is_offer:
                way, last_way = offers.member_lo[job.offer], offers.member_lo[job.offer + 1]
            while way < last_way:
                way += 1
                if job.is_offer and offers.member_of[way - 1] != -1 - program.item[target]:
                    continue
                own = copy_gaps(paths[1, path], paths[2, path], job.gap_top, gaps)
                g = own
                for i in range(program.edge_neg_lo[edge], program.edge_neg_lo[edge + 1]):
                    write_gap(gaps, g, program.negations[i], begins, ends)
                    g += 1
                own_end = g
                if job.is_offer:
                    for i in range(offers.member_gap_lo[way - 1], offers.member_gap_lo[way]):
                        write_gap(gaps, g, offers.gap_negation[i], offers.gap_lo[i], offers.gap_hi[i])
                        g += 1
                kept, violated = job.gap_top, False
                i = job.gap_top
                while i < g and not violated:
                    negation, lo, hi = gaps[0, i], gaps[1, i], gaps[2, i]
                    if not is_due(i, job, program, stacks):
                        write_gap(gaps, kept, negation, lo, hi)
                        kept += 1
                    elif program.neg_bits[negation]:
                        violated = has_event(program.neg_bits[negation], lo, hi, events)
                    else:
                        status: int = FOUND if job.answers >> job.asked & 1 else DONE
                        if job.asked >= job.n_answers:
                            above = gaps_end(job, frame)
                            inner = gap_job(job, jobs, negation, lo, hi, depth + 1, job.n_entries, job.top, above)
                            status = search(inner, program, events, offers, stacks, tests, cols, out)
                            if not is_answered(job, inner, status):
                                return status
                        job.asked += 1
                        violated = status == FOUND
                    if violated and own <= i < own_end and number < MAX_CLOSED:
                        job.closed |= np.int64(stays_violated(negation, job, program)) << number
                    i += 1
                if violated:
                    continue
                job.is_adjacent = 1
                if not dead and not is_known(paths, frame.path_hi, job.top, target, gaps, job.gap_top, kept):
                    paths[0, job.top], paths[1, job.top], paths[2, job.top] = target, job.gap_top, kept
                    job.top += 1
                    job.gap_top = kept
    return DONE


@njit(cache=True, nogil=True, borrows=True, inline="always")
def end_matches(
    depth: int,
    job: Any,
    program: Program,
    events: Events,
    offers: Offers,
    stacks: Stacks,
    tests: Any,
    cols: Any,
    out: Any,
) -> int:
    """Write the matches that end with the candidate; DONE, FOUND where one is enough, or a pause."""
    frame, paths, gaps, mode = stacks.frames[depth], stacks.paths, stacks.gaps, job.mode
    symbols, rows, base, m = stacks.entries[0], stacks.entries[1], job.entry, job.n_entries
    first_us, last_us = events.ts_us[rows[base]], events.ts_us[job.last_row]
    best, waited = np.int64(NEVER) + 1, 0
    n_out, n_out_entries, n_out_gaps = job.n_out, job.n_out_entries, job.n_out_gaps
    for path in range(frame.path_hi, job.top):
        position = paths[0, path]
        for ending in range(program.end_lo[position], program.end_lo[position + 1]):
            close_lo, close_hi = program.end_close_lo[ending], program.end_close_lo[ending + 1]
            if not are_closed(job, close_lo, close_hi, program.closings, stacks, tests, cols):
                continue
            g = copy_gaps(paths[1, path], paths[2, path], job.gap_top, gaps)
            for i in range(program.end_neg_lo[ending], program.end_neg_lo[ending + 1]):
                write_gap(gaps, g, program.negations[i], events.follows[job.last_row], -1)
                g += 1
            if mode == MATCHES and job.keep == PARTIAL:
                g = job.gap_top
            if mode == WAYS:
                for i in range(job.gap_top, g):
                    write_gap(out[2], n_out_gaps, gaps[0, i], gaps[1, i], gaps[2, i])
                    n_out_gaps += 1
                n_out_entries = write_entries(symbols, rows, base, m, n_out_entries, out[1])
                write_head(out[0], n_out, n_out_entries, job.scope, last_us, 0, n_out_gaps)
                n_out += 1
                continue
            waits = 0
            for i in range(job.gap_top, g):
                waits |= gaps[2, i] < 0
            decided = decided_us(job, first_us, last_us, waits)
            if mode == MATCHES and (decided > job.up_to or decided >= best or m < job.min_length):
                continue
            violated = False
            i = job.gap_top
            while i < g and not violated:
                negation = gaps[0, i]
                lo = gap_begin(job, gaps[1, i], last_us, events.ts_us)
                up = gap_end(job, gaps[2, i], first_us, events.ts_us)
                if program.neg_bits[negation]:
                    violated = has_event(program.neg_bits[negation], lo, up, events)
                else:
                    status: int = FOUND if job.answers >> job.asked & 1 else DONE
                    if job.asked >= job.n_answers:
                        above = gaps_end(job, frame)
                        inner = gap_job(job, stacks.jobs, negation, lo, up, depth + 1, m, job.top, above)
                        status = search(inner, program, events, offers, stacks, tests, cols, out)
                        if not is_answered(job, inner, status):
                            return status
                    job.asked += 1
                    violated = status == FOUND
                i += 1
            if not violated and mode == EXISTS:
                return FOUND
            if not violated:
                best, waited = decided, waits
    if mode == MATCHES and job.keep and best <= job.up_to:
        # From here on only what continues this one is looked at, and kept instead.
        if not job.first_size:
            job.first_size = m
        job.frame = depth + 1
    elif best <= job.up_to and best > job.newer_than:
        n_out_entries = write_entries(symbols, rows, base, m, n_out_entries, out[1])
        write_head(out[0], n_out, n_out_entries, job.scope, best, waited, n_out_gaps)
        n_out += 1
    if mode != EXISTS:
        job.n_out, job.n_out_entries, job.n_out_gaps = n_out, n_out_entries, n_out_gaps
    return DONE


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def leave_candidate(depth: int, job: Any, program: Program, events: Events, offers: Offers, stacks: Stacks) -> int:
    """The candidate is used up; returns the frame that is next: the one above if a path leads there."""
    frame, follows, strategy = stacks.frames[depth], events.follows, program.strategies[job.branch]
    if job.asked:
        job.n_answers = job.answers = 0
    frame.offer = job.offer + job.is_offer
    if not job.is_offer:
        job.bits &= job.bits - 1
        if job.bits == 0:
            job.row += 1
    if job.closed:
        close_edges(frame, job.closed, program, stacks.paths)
        job.bits &= frame.want
    frame.row, frame.bits = job.row, job.bits
    if job.is_adjacent and frame.n > job.entry and strategy != ANY and follows[job.first_row] < frame.end:
        # Only the earliest events that fit, with their ties, extend a match. Every start event begins a chain.
        frame.end = follows[job.first_row]
    if job.top == frame.path_hi:
        return depth
    deeper = stacks.frames[depth + 1]
    after = follows[job.last_row]
    until = job.limit
    if strategy == CONTIGUOUS and after < job.limit and follows[after] < job.limit:
        until = np.int64(follows[after])
    open_frame(deeper, after, until, job.limit, job.n_entries, frame.path_hi, job.top, job.gap_top, job.last_row)
    for path in range(frame.path_hi, job.top):
        deeper.want |= program.want[stacks.paths[0, path]]
        deeper.want_offer |= program.want_offer[stacks.paths[0, path]]
    # What is kept is read from its frame, even if nothing can continue it.
    if not (deeper.want or deeper.want_offer or job.keep):
        return depth
    deeper.offer = job.offer_hi
    if deeper.want_offer:
        deeper.offer = first_from(offers.first, job.offer_lo, job.offer_hi, after)
    return depth + 1


@njit(cache=True, nogil=True, borrows=True)
def search(
    job: Any, program: Program, events: Events, offers: Offers, stacks: Stacks, tests: Any, cols: Any, out: Any
) -> int:
    """Walk one branch over the rows from job.lo to job.hi; DONE, FOUND, or why the walk paused.

    In mode GAP, walk the branches of a negation one after the other until one is FOUND.
    Every round of the loop takes one candidate of the topmost frame. A candidate changes its frame only after all that
    may pause; if one of its negations pauses, the next call looks at the candidate again (`is_again`), at no cost in
    steps, with the answers that it had.
    """
    if job.lo >= job.hi:
        return DONE
    if job.mode == GAP:
        first, last = program.neg_lo[job.negation], program.neg_lo[job.negation + 1]
        while first + job.branch_idx < last:
            job.branch = program.neg_branch[first + job.branch_idx]
            job.mode = EXISTS
            status: int = search(job, program, events, offers, stacks, tests, cols, out)
            job.mode = GAP
            if status != DONE:
                return status
            job.depth = -1
            job.branch_idx += 1
        return DONE
    job.is_again = job.is_asking
    depth = job.depth
    if depth < 0:
        depth = begin_walk(job, program, offers, stacks)
        if depth < 0:
            return SPACE
    while depth >= job.frame:
        frame = stacks.frames[depth]
        room: int = needs_room(job, frame, depth, stacks, out)
        if room != DONE or (job.steps_left <= 0 and not job.is_again):
            job.depth = depth
            return room if room != DONE else PAUSED
        if not take_candidate(job, frame, events, offers, stacks):
            depth -= 1
            continue
        paused = DONE
        if is_allowed(job, frame, events, stacks, tests, cols):
            paused = add_paths(depth, job, program, events, offers, stacks, tests, cols, out)
        if paused == DONE and job.top > frame.path_hi:
            paused = end_matches(depth, job, program, events, offers, stacks, tests, cols, out)
        if paused != DONE:
            job.depth = depth
            return paused
        depth = leave_candidate(depth, job, program, events, offers, stacks)
    if job.mode == MATCHES and job.first_size:
        write_kept(job, stacks.frames[job.frame], stacks, out)
        return FOUND
    return DONE


@njit(MATCH_SCOPES, cache=True, nogil=True, borrows=True)
def match_scopes(
    scopes: IntArray,
    branches: IntArray,
    job: Any,
    program: Program,
    events: Events,
    offers: Offers,
    stacks: Stacks,
    tests: Any,
    cols: Any,
    out: Any,
) -> int:
    """Walk the scopes from job.scope to job.stop, each branch in each; DONE, or why the walk paused.

    Where one match is enough, the other scopes of its partition are passed over.
    """
    while job.scope < job.stop:
        scope = scopes[job.scope]
        status: int = DONE
        while status == DONE and job.branch_idx < branches.size:
            job.branch = branches[job.branch_idx]
            job.scope_lo, job.lo, job.last_start = scope[0], scope[START_LO], scope[START_HI]
            job.hi = job.scope_hi = scope[1]
            job.offer_lo, job.offer_hi, job.window_end = scope[2], scope[3], scope[4]
            status = search(job, program, events, offers, stacks, tests, cols, out)
            if status not in (DONE, FOUND):
                return status
            job.depth = -1
            job.branch_idx += 1
        job.branch_idx = 0
        job.scope += 1
        while status == FOUND and job.scope < job.stop and scopes[job.scope, PARTITION] == scope[PARTITION]:
            job.scope += 1
    return DONE
