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
from eventide.families.events.kernel_places import (
    ANSWERS,
    ANY,
    BITS,
    BRANCH,
    BRANCH_IDX,
    CONTIGUOUS,
    DEPTH,
    DONE,
    END,
    ENTRY,
    EXISTS,
    FAN_OUT,
    FIRST_SIZE,
    FOUND,
    FRAME,
    FULL,
    GAP,
    GAP_TOP,
    HI,
    IS_ASKING,
    KEEP,
    LAST,
    LAST_START,
    LEVEL,
    LIMIT_ROW,
    LO,
    MATCHES,
    MAX_ANSWERS,
    MAX_ENDS,
    MAX_ENTRIES,
    MAX_GAPS,
    MIN_LENGTH,
    MODE,
    N_ANSWERS,
    N_OUT,
    N_OUT_ENTRIES,
    N_OUT_GAPS,
    N_WINDOWS,
    NEGATION,
    NEVER,
    NEWER_THAN,
    OFFER,
    OFFER_HI,
    OFFER_LO,
    OPEN,
    OUT_DECIDED,
    OUT_ENTRIES,
    OUT_GAPS,
    OUT_SCOPE,
    OUT_WAITED,
    PARTIAL,
    PARTITION,
    PATH,
    PATH_HI,
    PATH_LO,
    PAUSED,
    REACH,
    ROW,
    SCOPE,
    SCOPE_HI,
    SCOPE_LO,
    SPACE,
    START_HI,
    START_LO,
    STEPS_LEFT,
    STOP,
    UP_TO,
    WANT,
    WANT_OFFER,
    WAYS,
    WINDOW_END,
    N,
)
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import first_from
from eventide.runtime.kernels.pattern_types import ADJACENT_HOLDS, BOUND_HOLDS, CLOSES, MATCH_SCOPES, SEARCH


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


@njit(cache=True, nogil=True)
def gap_job(
    job: IntArray, jobs: IntArray, negation: int, lo: int, hi: int, frame: int, entry: int, path: int, gap: int
) -> IntArray:
    """The job of the walk that looks for a match of a negation between two rows, above what the asking walk uses.

    A walk that was paused goes on instead. The gaps of the inner walk begin at `gap`, above all that the candidate may
    write: after a pause the candidate is looked at again, and writes its own gaps once more.
    """
    inner: IntArray = jobs[job[LEVEL]]
    if job[IS_ASKING]:
        job[IS_ASKING] = 0
        inner[STEPS_LEFT] = job[STEPS_LEFT]
        return inner
    inner[:] = job
    inner[MODE], inner[NEGATION], inner[LO], inner[HI], inner[DEPTH] = GAP, negation, lo, hi, -1
    inner[FRAME], inner[ENTRY], inner[PATH], inner[OPEN], inner[LAST_START] = frame, entry, path, gap, hi
    inner[BRANCH_IDX], inner[N_ANSWERS], inner[ANSWERS], inner[LEVEL] = 0, 0, 0, job[LEVEL] + 1
    if job[N_ANSWERS] >= MAX_ANSWERS:
        inner[STEPS_LEFT] = NEVER
    return inner


@njit(cache=True, nogil=True)
def is_answered(job: IntArray, inner: IntArray, status: int) -> bool:
    """Whether the walk of a negation has ended; if not, it is paused, and the asking walk must pause, too.

    An answer is remembered until the candidate is used up. Those beyond MAX_ANSWERS are not, so that their walks got
    steps without limit from `gap_job`; the steps that such a walk took are subtracted here.
    """
    is_kept = job[N_ANSWERS] < MAX_ANSWERS
    job[STEPS_LEFT] = inner[STEPS_LEFT] if is_kept else job[STEPS_LEFT] - (NEVER - inner[STEPS_LEFT])
    if status in (SPACE, PAUSED):
        job[IS_ASKING] = is_kept
        return False
    if is_kept:
        job[ANSWERS] |= np.int64(status == FOUND) << job[N_ANSWERS]
        job[N_ANSWERS] += 1
    return True


@njit(cache=True, nogil=True)
def decided_us(job: IntArray, first_us: int, last_us: int, waits: int) -> int:
    """The time up to which all events must be known before a match is certain.

    That is the time of its last event, or the last instant of the window in which a NOT may still be violated.
    """
    if not waits and not job[N_WINDOWS]:
        return last_us
    if job[WINDOW_END] < NEVER:
        return job[WINDOW_END] - 1  # type: ignore[no-any-return]
    if job[REACH] >= NEVER:
        return NEVER
    from_us = first_us + job[REACH] if waits else last_us
    return from_us + job[N_WINDOWS] * job[REACH] - 1  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def lowest_bit(bits: int) -> int:
    """The number of the lowest bit that is set."""
    number = 0
    while bits & 1 == 0:
        bits >>= 1
        number += 1
    return number


@njit(cache=True, nogil=True)
def gaps_end(job: IntArray, frame: IntArray) -> int:
    """The place behind all gaps that one step may write, counted as `needs_room` counts them."""
    n_new = (frame[PATH_HI] - frame[PATH_LO]) * job[FAN_OUT]
    n_open = frame[GAP_TOP] - job[OPEN] + 2 * job[MAX_GAPS]
    return frame[GAP_TOP] + (n_new + 1) * n_open  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def needs_room(job: IntArray, frame: IntArray, depth: int, stacks: Any, out: Any) -> int:
    """DONE if there is room for all that one step may add; SPACE if a stack must grow, FULL if `out` has no room.

    Asked before a candidate is looked at, so that a step is either done as a whole or not begun.
    """
    frames, entries, paths, gaps, _ = stacks
    n = frame[N]
    n_new = (frame[PATH_HI] - frame[PATH_LO]) * job[FAN_OUT]
    # A path carries its open gaps on, an edge adds some, and an ending may add as many again.
    n_open = frame[GAP_TOP] - job[OPEN] + 2 * job[MAX_GAPS]
    if depth + 2 >= frames.shape[0] or n + job[MAX_ENTRIES] > entries.shape[1]:
        return SPACE
    if frame[PATH_HI] + n_new + 1 > paths.shape[1] or frame[GAP_TOP] + (n_new + 1) * n_open > gaps.shape[1]:
        return SPACE
    if job[MODE] == EXISTS:
        return DONE
    n_ways = n_new * job[MAX_ENDS] if job[MODE] == WAYS else 1
    n_entries = n_ways * (n - job[ENTRY] + job[MAX_ENTRIES])
    if job[N_OUT] + n_ways > out[0].shape[0] or job[N_OUT_ENTRIES] + n_entries > out[1].shape[1]:
        return FULL
    if job[MODE] == WAYS and job[N_OUT_GAPS] + n_ways * n_open > out[2].shape[1]:
        return FULL
    if job[KEEP] and job[N_OUT_GAPS] + frame[PATH_HI] - frame[PATH_LO] > out[2].shape[1]:
        return FULL
    return DONE


@njit(cache=True, nogil=True)
def open_frame(
    frame: IntArray, row: int, end: int, limit: int, n: int, path_lo: int, path_hi: int, gap_top: int, last: int
) -> None:
    """Fill a frame: candidates from `row` up to `end`, the window up to `limit`, n entries, its paths, its last row."""
    frame[ROW] = row
    frame[BITS] = 0
    frame[END] = end
    frame[LIMIT_ROW] = limit
    frame[N] = n
    frame[PATH_LO] = path_lo
    frame[PATH_HI] = path_hi
    frame[GAP_TOP] = gap_top
    frame[LAST] = last
    frame[WANT] = 0
    frame[WANT_OFFER] = 0


@njit(cache=True, nogil=True)
def write_gap(gaps: IntArray, i: int, negation: int, lo: int, hi: int) -> None:
    """Gap i: the negation must not match from row `lo` up to `hi`; -1 stands for the edge of the window."""
    gaps[0, i] = negation
    gaps[1, i] = lo
    gaps[2, i] = hi


@njit(cache=True, nogil=True)
def gap_begin(job: IntArray, lo: int, last_us: int, ts_us: IntArray) -> int:
    """The first row of a gap; at the edge of the window, the first row less than a window before the last event."""
    if lo >= 0:
        return lo
    if job[REACH] >= NEVER:
        return job[SCOPE_LO]  # type: ignore[no-any-return]
    return first_from(ts_us, job[SCOPE_LO], job[SCOPE_HI], last_us - job[REACH] + 1)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def gap_end(job: IntArray, hi: int, first_us: int, ts_us: IntArray) -> int:
    """The row at which a gap ends; at the edge of the window, the first row that is a window behind the first event."""
    if hi >= 0:
        return hi
    if job[REACH] >= NEVER:
        return job[SCOPE_HI]  # type: ignore[no-any-return]
    return first_from(ts_us, job[SCOPE_LO], job[SCOPE_HI], first_us + job[REACH])  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def first_with(mask: IntArray, bit: int, lo: int, hi: int) -> int:
    """The first of the rows from `lo` to `hi` that has the bit, or where they end."""
    for row in range(lo, hi):
        if mask[row] & bit:
            return row
    return hi


@njit(cache=True, nogil=True)
def is_bound(symbol: int, symbols: IntArray, n: int) -> bool:
    """Whether one of the first n entries is of the symbol."""
    for i in range(n):  # noqa: SIM110 (Numba compiles a loop, not a generator)
        if symbols[i] == symbol:
            return True
    return False


@njit(cache=True, nogil=True)
def is_known(paths: IntArray, start: int, stop: int, position: int, gaps: IntArray, gap_lo: int, gap_hi: int) -> bool:
    """Whether one of the paths from `start` up to `stop` has this position and the same open gaps."""
    for path in range(start, stop):
        if paths[0, path] != position or paths[2, path] - paths[1, path] != gap_hi - gap_lo:
            continue
        same = True
        for i in range(gap_hi - gap_lo):
            for k in range(3):
                same = same and gaps[k, paths[1, path] + i] == gaps[k, gap_lo + i]
        if same:
            return True
    return False


@njit(cache=True, nogil=True)
def write_entries(symbols: IntArray, rows: IntArray, lo: int, hi: int, at: int, out: IntArray) -> int:
    """Copy entries to `out` from `at` on; returns where they end."""
    for i in range(lo, hi):
        out[0, at], out[1, at] = symbols[i], rows[i]
        at += 1
    return at


@njit(cache=True, nogil=True)
def write_head(out: IntArray, i: int, entries: int, scope: int, decided: int, waited: int, gaps: int) -> None:
    """Describe match i: where its entries and gaps end, its scope, and when it was decided."""
    out[i, OUT_ENTRIES], out[i, OUT_SCOPE], out[i, OUT_DECIDED] = entries, scope, decided
    out[i, OUT_WAITED], out[i, OUT_GAPS] = waited, gaps


@njit(cache=True, nogil=True)
def write_kept(job: IntArray, frame: IntArray, stacks: Any, out: Any) -> None:
    """Write the match that a frame is, with the positions of its paths in place of gaps, and begin anew."""
    i, at, place = job[N_OUT], job[N_OUT_ENTRIES], job[N_OUT_GAPS]
    for path in range(frame[PATH_LO], frame[PATH_HI]):
        write_gap(out[2], place, stacks[2][0, path], 0, 0)
        place += 1
    at = write_entries(stacks[1][0], stacks[1][1], 0, frame[N], at, out[1])
    write_head(out[0], i, at, job[SCOPE], 0, job[FIRST_SIZE], place)
    job[N_OUT], job[N_OUT_ENTRIES], job[N_OUT_GAPS] = i + 1, at, place
    job[FRAME] = job[FIRST_SIZE] = 0


@njit(SEARCH, cache=True, nogil=True)
def search(job: IntArray, program: Any, events: Any, offers: Any, stacks: Any, tests: Any, cols: Any, out: Any) -> int:
    """Walk one branch over the rows from job[LO] to job[HI]; DONE, FOUND, or why the walk paused.

    In mode GAP, walk the branches of a negation one after the other until one is FOUND. `program` is
    `PatternProgram.tables`, `offers` what `offers.py` makes, `stacks` are (frames, entries, paths, gaps, jobs).
    Every round of the loop takes one candidate of the topmost frame. A candidate changes its frame only after all that
    may pause; if one of its negations pauses, the next call looks at the candidate again (`is_again`), at no cost in
    steps, with the answers that it had.
    """
    item, edge_lo, edge_to, edge_neg_lo, edge_close_lo, end_lo, end_neg_lo, end_close_lo = program[:8]
    negations, closings, want, want_offer, neg_lo, neg_branch, link_lo, link, neg_bit, strategies = program[8:]
    ts_us, mask, follows, precedes, completion = events
    offer_first, offer_last, offer_entry_lo, offer_symbol, offer_row, member_lo, member_of = offers[:7]
    member_gap_lo, gap_negation, gap_lo, gap_hi = offers[7:]
    frames, entries, paths, gaps, jobs = stacks
    bound_holds, adjacent_holds, closes = tests
    if job[LO] >= job[HI]:
        return DONE
    mode = job[MODE]
    if mode == GAP:
        first, last = neg_lo[job[NEGATION]], neg_lo[job[NEGATION] + 1]
        while first + job[BRANCH_IDX] < last:
            job[BRANCH] = neg_branch[first + job[BRANCH_IDX]]
            job[MODE] = EXISTS
            status: int = search(job, program, events, offers, stacks, tests, cols, out)
            job[MODE] = GAP
            if status != DONE:
                return status
            job[DEPTH] = -1
            job[BRANCH_IDX] += 1
        return DONE
    symbols, rows = entries[0], entries[1]
    base, floor, hi, reach = job[ENTRY], job[FRAME], job[HI], job[REACH]
    strategy = strategies[job[BRANCH]]
    left, is_again = job[STEPS_LEFT], job[IS_ASKING] != 0
    depth = job[DEPTH]
    if depth < 0:
        if floor >= frames.shape[0] or job[PATH] >= paths.shape[1]:
            return SPACE
        depth = floor
        start = item.size + job[BRANCH]
        paths[0, job[PATH]] = start
        paths[1, job[PATH]] = paths[2, job[PATH]] = job[OPEN]
        frame = frames[depth]
        open_frame(frame, job[LO], job[LAST_START], hi, base, job[PATH], job[PATH] + 1, job[OPEN], -1)
        frame[OFFER] = first_from(offer_first, job[OFFER_LO], job[OFFER_HI], job[LO])
        frame[WANT], frame[WANT_OFFER] = want[start], want_offer[start]
    while depth >= floor:
        frame = frames[depth]
        n, end = frame[N], frame[END]
        room: int = needs_room(job, frame, depth, stacks, out)
        if room != DONE or (left <= 0 and not is_again):
            job[DEPTH], job[STEPS_LEFT] = depth, left
            return room if room != DONE else PAUSED
        # --- the next candidate: an event for a symbol, or a pair of matches ---
        row, bits = frame[ROW], frame[BITS]
        if bits == 0:
            while row < end and mask[row] & frame[WANT] == 0:
                row += 1
            if row < end:
                bits = mask[row] & frame[WANT]
        if not is_again:
            # Passing over rows and looking at bound ones is quick.
            left -= 1 + ((row - frame[ROW] + n - base) >> 5)
        asked = 0
        offer = frame[OFFER]
        is_offer = False
        if frame[WANT_OFFER]:
            while offer < job[OFFER_HI] and offer_first[offer] < end and offer_last[offer] >= frame[LIMIT_ROW]:
                offer += 1
            if offer < job[OFFER_HI] and offer_first[offer] < end:
                is_offer = bits == 0 or offer_first[offer] <= row
        if bits == 0 and not is_offer:
            depth -= 1
            continue
        symbol = -1
        if is_offer:
            m = n
            for i in range(offer_entry_lo[offer], offer_entry_lo[offer + 1]):
                symbols[m], rows[m] = offer_symbol[i], offer_row[i]
                m += 1
            first_row, last_row = offer_first[offer], offer_last[offer]
        else:
            symbol = lowest_bit(bits)
            symbols[n], rows[n] = symbol, row
            m = n + 1
            first_row = last_row = row
        limit = frame[LIMIT_ROW]
        if n == base and reach < NEVER:
            limit = first_from(ts_us, first_row, hi, ts_us[first_row] + reach)
        # --- what relates it to the events before ---
        holds = last_row < limit
        i = n - 1
        while holds and i >= base and precedes[rows[i]] == precedes[frame[LAST]]:
            j = n
            while holds and j < m and precedes[rows[j]] == precedes[first_row]:
                holds = adjacent_holds(symbols[i], rows[i], symbols[j], rows[j], cols)
                j += 1
            i -= 1
        i = n
        while holds and i < m:
            holds = bound_holds(symbols[i], rows[i], symbols, rows, i, cols)
            i += 1
        # --- the paths of the extended match ---
        top, gap_top = frame[PATH_HI], frame[GAP_TOP]
        begins = -1 if n == base else follows[frame[LAST]]
        is_adjacent = False
        path = frame[PATH_LO] if holds else frame[PATH_HI]
        while path < frame[PATH_HI]:
            position = paths[0, path]
            for edge in range(edge_lo[position], edge_lo[position + 1]):
                target = edge_to[edge]
                member, last_member = 0, 1
                if is_offer:
                    member, last_member = member_lo[offer], member_lo[offer + 1]
                elif item[target] != symbol:
                    continue
                dead = False
                if completion.shape[0] and not is_offer:
                    dead = completion[target, row] < 0 or completion[target, row] >= limit
                    if dead and strategy == ANY:
                        continue
                holds = True
                for i in range(edge_close_lo[edge], edge_close_lo[edge + 1]):
                    holds = holds and closes(closings[i], symbols, rows, base, m, cols)
                if not holds:
                    continue
                for way in range(member, last_member):
                    if is_offer and member_of[way] != -1 - item[target]:
                        continue
                    g = gap_top
                    for i in range(paths[1, path], paths[2, path]):
                        write_gap(gaps, g, gaps[0, i], gaps[1, i], gaps[2, i])
                        g += 1
                    for i in range(edge_neg_lo[edge], edge_neg_lo[edge + 1]):
                        write_gap(gaps, g, negations[i], begins, precedes[first_row])
                        g += 1
                    if is_offer:
                        for i in range(member_gap_lo[way], member_gap_lo[way + 1]):
                            write_gap(gaps, g, gap_negation[i], gap_lo[i], gap_hi[i])
                            g += 1
                    kept = gap_top
                    holds = True
                    for i in range(gap_top, g):
                        due = gaps[1, i] >= 0 and gaps[2, i] >= 0
                        for k in range(link_lo[gaps[0, i]], link_lo[gaps[0, i] + 1]):
                            due = due and is_bound(link[k], symbols, m)
                        if due and neg_bit[gaps[0, i]]:
                            at = first_with(mask, neg_bit[gaps[0, i]], gaps[1, i], gaps[2, i])
                            left -= 0 if is_again else (at - gaps[1, i]) >> 5
                            if at < gaps[2, i]:
                                holds = False
                                break
                        elif due:
                            status = FOUND if job[ANSWERS] >> asked & 1 else DONE
                            if asked >= job[N_ANSWERS]:
                                job[STEPS_LEFT], above = left, gaps_end(job, frame)
                                inner = gap_job(job, jobs, gaps[0, i], gaps[1, i], gaps[2, i], depth + 1, m, top, above)
                                status = search(inner, program, events, offers, stacks, tests, cols, out)
                                if not is_answered(job, inner, status):
                                    job[DEPTH] = depth
                                    return status
                                left, is_again = job[STEPS_LEFT], False
                            asked += 1
                            if status == FOUND:
                                holds = False
                                break
                        else:
                            write_gap(gaps, kept, gaps[0, i], gaps[1, i], gaps[2, i])
                            kept += 1
                    if not holds:
                        continue
                    is_adjacent = True
                    if not dead and not is_known(paths, frame[PATH_HI], top, target, gaps, gap_top, kept):
                        paths[0, top], paths[1, top], paths[2, top] = target, gap_top, kept
                        top += 1
                        gap_top = kept
            path += 1
        # --- the matches that end here ---
        first_us, last_us = ts_us[rows[base]], ts_us[last_row]
        best, waited = np.int64(NEVER) + 1, 0
        n_out, n_out_entries, n_out_gaps = job[N_OUT], job[N_OUT_ENTRIES], job[N_OUT_GAPS]
        for path in range(frame[PATH_HI], top):
            position = paths[0, path]
            for ending in range(end_lo[position], end_lo[position + 1]):
                holds = True
                for i in range(end_close_lo[ending], end_close_lo[ending + 1]):
                    holds = holds and closes(closings[i], symbols, rows, base, m, cols)
                if not holds:
                    continue
                g = gap_top
                for i in range(paths[1, path], paths[2, path]):
                    write_gap(gaps, g, gaps[0, i], gaps[1, i], gaps[2, i])
                    g += 1
                for i in range(end_neg_lo[ending], end_neg_lo[ending + 1]):
                    write_gap(gaps, g, negations[i], follows[last_row], -1)
                    g += 1
                if mode == MATCHES and job[KEEP] == PARTIAL:
                    g = gap_top
                if mode == WAYS:
                    for i in range(gap_top, g):
                        write_gap(out[2], n_out_gaps, gaps[0, i], gaps[1, i], gaps[2, i])
                        n_out_gaps += 1
                    n_out_entries = write_entries(symbols, rows, base, m, n_out_entries, out[1])
                    write_head(out[0], n_out, n_out_entries, job[SCOPE], last_us, 0, n_out_gaps)
                    n_out += 1
                    continue
                waits = 0
                for i in range(gap_top, g):
                    waits |= gaps[2, i] < 0
                decided = decided_us(job, first_us, last_us, waits)
                if mode == MATCHES and (decided > job[UP_TO] or decided >= best or m < job[MIN_LENGTH]):
                    continue
                i = gap_top
                while holds and i < g:
                    lo = gap_begin(job, gaps[1, i], last_us, ts_us)
                    up = gap_end(job, gaps[2, i], first_us, ts_us)
                    if neg_bit[gaps[0, i]]:
                        at = first_with(mask, neg_bit[gaps[0, i]], lo, up)
                        left -= 0 if is_again else (at - lo) >> 5
                        holds = at >= up
                    else:
                        status = FOUND if job[ANSWERS] >> asked & 1 else DONE
                        if asked >= job[N_ANSWERS]:
                            job[STEPS_LEFT], above = left, gaps_end(job, frame)
                            inner = gap_job(job, jobs, gaps[0, i], lo, up, depth + 1, m, top, above)
                            status = search(inner, program, events, offers, stacks, tests, cols, out)
                            if not is_answered(job, inner, status):
                                job[DEPTH] = depth
                                return status
                            left, is_again = job[STEPS_LEFT], False
                        asked += 1
                        holds = status != FOUND
                    i += 1
                if holds and mode == EXISTS:
                    job[STEPS_LEFT] = left
                    return FOUND
                if holds:
                    best, waited = decided, waits
        if mode == MATCHES and job[KEEP] and best <= job[UP_TO]:
            # From here on only what continues this one is looked at, and kept instead.
            if not job[FIRST_SIZE]:
                job[FIRST_SIZE] = m
            floor = job[FRAME] = depth + 1
        elif best <= job[UP_TO] and best > job[NEWER_THAN]:
            n_out_entries = write_entries(symbols, rows, base, m, n_out_entries, out[1])
            write_head(out[0], n_out, n_out_entries, job[SCOPE], best, waited, n_out_gaps)
            n_out += 1
        # --- from here on nothing pauses: the candidate is used up ---
        if asked:
            job[N_ANSWERS] = job[ANSWERS] = 0
        if mode != EXISTS:
            job[N_OUT], job[N_OUT_ENTRIES], job[N_OUT_GAPS] = n_out, n_out_entries, n_out_gaps
        frame[OFFER] = offer + 1 if is_offer else offer
        if not is_offer:
            bits &= bits - 1
            if bits == 0:
                row += 1
        frame[ROW], frame[BITS] = row, bits
        if is_adjacent and n > base and strategy != ANY and follows[first_row] < end:
            # Only the earliest events that fit, with their ties, extend a match. Every start event begins a chain.
            frame[END] = follows[first_row]
        if top == frame[PATH_HI]:
            continue
        deeper = frames[depth + 1]
        after = follows[last_row]
        until = limit
        if strategy == CONTIGUOUS and after < limit and follows[after] < limit:
            until = np.int64(follows[after])
        open_frame(deeper, after, until, limit, m, frame[PATH_HI], top, gap_top, last_row)
        for path in range(frame[PATH_HI], top):
            deeper[WANT] |= want[paths[0, path]]
            deeper[WANT_OFFER] |= want_offer[paths[0, path]]
        deeper[OFFER] = job[OFFER_HI]
        if deeper[WANT_OFFER]:
            deeper[OFFER] = first_from(offer_first, job[OFFER_LO], job[OFFER_HI], after)
        depth += 1
    job[STEPS_LEFT] = left
    if mode == MATCHES and job[FIRST_SIZE]:
        write_kept(job, frames[floor], stacks, out)
        return FOUND
    return DONE


@njit(MATCH_SCOPES, cache=True, nogil=True)
def match_scopes(
    scopes: IntArray,
    branches: IntArray,
    job: IntArray,
    program: Any,
    events: Any,
    offers: Any,
    stacks: Any,
    tests: Any,
    cols: Any,
    out: Any,
) -> int:
    """Walk the scopes from job[SCOPE] to job[STOP], each branch in each; DONE, or why the walk paused.

    Where one match is enough, the other scopes of its partition are passed over.
    """
    stop = job[STOP]
    while job[SCOPE] < stop:
        scope = scopes[job[SCOPE]]
        status: int = DONE
        while status == DONE and job[BRANCH_IDX] < branches.size:
            job[BRANCH] = branches[job[BRANCH_IDX]]
            job[SCOPE_LO], job[LO], job[LAST_START] = scope[0], scope[START_LO], scope[START_HI]
            job[HI] = job[SCOPE_HI] = scope[1]
            job[OFFER_LO], job[OFFER_HI], job[WINDOW_END] = scope[2], scope[3], scope[4]
            status = search(job, program, events, offers, stacks, tests, cols, out)
            if status not in (DONE, FOUND):
                return status
            job[DEPTH] = -1
            job[BRANCH_IDX] += 1
        job[BRANCH_IDX] = 0
        job[SCOPE] += 1
        while status == FOUND and job[SCOPE] < stop and scopes[job[SCOPE], PARTITION] == scope[PARTITION]:
            job[SCOPE] += 1
    return DONE
