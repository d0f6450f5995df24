"""The longest partial match of each partition: how far into a position automaton the events lead.

The walk is that of `kernel.search`, with another aim: it stops at a partition's first match, and until then
keeps the partial match whose last position has the highest rank. Of several the first in event order is kept, and one
that continues it is kept instead of it. What can neither match nor get further is not entered.
"""

from __future__ import annotations

from typing import Any

from numba import types

from eventide.compilation.njit import njit
from eventide.families.events.kernel import (
    decided_us,
    first_at_least,
    first_with,
    gap_begin,
    gap_end,
    gap_job,
    gaps_end,
    is_bound,
    is_known,
    lowest_bit,
    needs_room,
    open_frame,
    search,
    write_gap,
)
from eventide.families.events.kernel_partial_places import (
    BEST_SCOPE,
    FIRST_SIZE,
    HEAD_ENTRIES,
    HEAD_FIRST_SIZE,
    HEAD_PARTITION,
    HEAD_POSITIONS,
    HEAD_RESULT,
    HEAD_SCOPE,
    MAX_STEPS,
    RANK,
    RESULT,
    SINCE,
    SIZE,
    STEPS,
)
from eventide.families.events.kernel_places import (
    ANY,
    BITS,
    BRANCH,
    BRANCH_IDX,
    CONTIGUOUS,
    DEPTH,
    DONE,
    END,
    FOUND,
    FULL,
    GAP_TOP,
    HI,
    LAST,
    LAST_START,
    LIMIT,
    LIMIT_ROW,
    LO,
    MAX_ENTRIES,
    MIN_LENGTH,
    N_OUT,
    NEVER,
    OFFER,
    OFFER_HI,
    OFFER_LO,
    PATH_HI,
    PATH_LO,
    PAUSED,
    REACH,
    ROW,
    SCOPE,
    SCOPE_HI,
    SCOPE_LO,
    SPACE,
    STEPS_LEFT,
    STOP,
    UP_TO,
    WANT,
    WANT_OFFER,
    WINDOW_END,
    N,
)
from eventide.runtime.kernels.arrays import IndexArray, IntArray
from eventide.runtime.kernels.pattern_types import COLS, EVENTS, INT, INTS, OFFERS, OUT, PROGRAM, STACKS, TABLE, TESTS

GUIDE = types.Tuple((TABLE, INTS, INTS, types.Array(types.int32, 2, "C")))
WALK = INT(INTS, PROGRAM, EVENTS, OFFERS, STACKS, TESTS, COLS, GUIDE, OUT)
FIND = INT(INTS, PROGRAM, EVENTS, OFFERS, STACKS, TESTS, COLS, GUIDE, OUT, OUT)


@njit(cache=True, nogil=True)
def index_ranks(
    offsets: IntArray,
    precedes: IndexArray,
    mask: IntArray,
    item: IntArray,
    edge_lo: IntArray,
    edge_to: IntArray,
    rank: IntArray,
    most: IntArray,
    out: IndexArray,
) -> None:
    """`out[position, row]`: the highest rank that a partial match which stands there may reach, 0 for other events.

    Only what one event decides counts. `most` is the highest rank behind each position, whatever the events are.
    """
    n_positions = item.size
    highest = most.copy()
    fresh = most.copy()
    for p in range(offsets.size - 1):
        highest[:] = 0
        stop = offsets[p + 1]
        while stop > offsets[p]:
            start = precedes[stop - 1]
            fresh[:] = 0
            for row in range(start, stop):
                for position in range(n_positions):
                    reached = 0
                    if item[position] >= 0 and mask[row] >> item[position] & 1:
                        reached = rank[position]
                        for edge in range(edge_lo[position], edge_lo[position + 1]):
                            target = edge_to[edge]
                            # What follows a conjunction is not known before its pairs are.
                            reached = max(reached, most[target] if item[target] < 0 else highest[target])
                    out[position, row] = reached
                    fresh[position] = max(fresh[position], reached)
            for position in range(n_positions):
                highest[position] = max(highest[position], fresh[position])
            stop = start


@njit(cache=True, nogil=True)
def keep_best(
    state: IntArray, out: Any, entries: IntArray, start: int, stop: int, paths: IntArray, lo: int, hi: int
) -> None:
    """Keep the entries, those before `start` being kept already, and the positions of the paths that lead to them."""
    for i in range(start, stop):
        out[0][0, i], out[0][1, i] = entries[0, i], entries[1, i]
    out[1][0, :] = 0
    for path in range(lo, hi):
        out[1][0, paths[0, path]] = 1
    state[SIZE] = stop


@njit(WALK, cache=True, nogil=True)
def walk_longest(
    job: IntArray,
    program: Any,
    events: Any,
    offers: Any,
    stacks: Any,
    tests: Any,
    cols: Any,
    guide: Any,
    out: Any,
) -> int:
    """Walk one branch over the rows from job[LO] to job[HI]; FOUND at a match, LIMIT when the steps are used up."""
    item, edge_lo, edge_to, edge_neg_lo, edge_close_lo, end_lo, end_neg_lo, end_close_lo = program[:8]
    negations, closings, want, want_offer = program[8:12]
    link_lo, link, neg_bit, strategies = program[14:]
    ts_us, mask, follows, precedes, completion = events
    offer_first, offer_last, offer_entry_lo, offer_symbol, offer_row, member_lo, member_of = offers[:7]
    member_gap_lo, gap_negation, gap_lo, gap_hi = offers[7:]
    frames, entries, paths, gaps, jobs = stacks
    bound_holds, adjacent_holds, closes = tests
    rank, ahead = guide[2], guide[3]
    state = out[2][0]
    symbols, rows = entries[0], entries[1]
    hi, reach = job[HI], job[REACH]
    strategy = strategies[job[BRANCH]]
    depth = job[DEPTH]
    if job[LO] >= hi:
        return DONE
    if depth < 0:
        depth = 0
        start = item.size + job[BRANCH]
        paths[0, 0] = start
        paths[1, 0] = paths[2, 0] = 0
        frame = frames[0]
        open_frame(frame, job[LO], hi, hi, 0, 0, 1, 0, -1)
        frame[OFFER] = first_at_least(offer_first, job[LO], job[OFFER_LO], job[OFFER_HI])
        frame[WANT], frame[WANT_OFFER] = want[start], want_offer[start]
    while depth >= 0:
        if depth < state[SINCE]:
            # All that continues the best one has been looked at.
            state[SINCE] = NEVER
        frame = frames[depth]
        n, end = frame[N], frame[END]
        room: int = needs_room(job, frame, depth, stacks, out)
        if room != DONE or n + job[MAX_ENTRIES] > out[0].shape[1]:
            job[DEPTH] = depth
            return SPACE
        # --- the next candidate: an event for a symbol, or a pair of matches ---
        row, bits = frame[ROW], frame[BITS]
        if bits == 0:
            while row < end and mask[row] & frame[WANT] == 0:
                row += 1
            if row < end:
                bits = mask[row] & frame[WANT]
        # A condition may look at all entries.
        state[STEPS] += row - frame[ROW] + 1 + n // 256
        if state[STEPS] > state[MAX_STEPS]:
            return LIMIT
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
        if n == 0 and reach < NEVER:
            limit = first_at_least(ts_us, ts_us[first_row] + reach, first_row, hi)
        # --- what relates it to the events before ---
        holds = last_row < limit
        i = n - 1
        while holds and i >= 0 and precedes[rows[i]] == precedes[frame[LAST]]:
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
        begins = -1 if n == 0 else follows[frame[LAST]]
        is_adjacent = False
        reached = 0
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
                if completion.shape[0] and ahead.shape[0] and not is_offer:
                    completes = 0 <= completion[target, row] < limit
                    least = state[RANK] if depth >= state[SINCE] else state[RANK] + 1
                    dead = not completes and ahead[target, row] < least
                    if dead and strategy == ANY:
                        continue
                holds = True
                for i in range(edge_close_lo[edge], edge_close_lo[edge + 1]):
                    holds = holds and closes(closings[i], symbols, rows, 0, m, cols)
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
                            if first_with(mask, neg_bit[gaps[0, i]], gaps[1, i], gaps[2, i]) < gaps[2, i]:
                                holds = False
                                break
                        elif due:
                            job[STEPS_LEFT], above = state[MAX_STEPS] - state[STEPS], gaps_end(job, frame)
                            inner = gap_job(job, jobs, gaps[0, i], gaps[1, i], gaps[2, i], depth + 1, m, top, above)
                            status: int = search(inner, program, events, offers, stacks, tests, cols, out)
                            state[STEPS] = state[MAX_STEPS] - inner[STEPS_LEFT]
                            if status in (SPACE, PAUSED):
                                job[DEPTH] = depth
                                return SPACE if status == SPACE else LIMIT
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
                        reached = max(reached, rank[target])
            path += 1
        # --- a match that ends here ---
        first_us, last_us = ts_us[rows[0]], ts_us[last_row]
        for path in range(frame[PATH_HI], top):
            position = paths[0, path]
            for ending in range(end_lo[position], end_lo[position + 1]):
                holds = m >= job[MIN_LENGTH]
                for i in range(end_close_lo[ending], end_close_lo[ending + 1]):
                    holds = holds and closes(closings[i], symbols, rows, 0, m, cols)
                g = gap_top
                for i in range(paths[1, path], paths[2, path]):
                    write_gap(gaps, g, gaps[0, i], gaps[1, i], gaps[2, i])
                    g += 1
                for i in range(end_neg_lo[ending], end_neg_lo[ending + 1]):
                    write_gap(gaps, g, negations[i], follows[last_row], -1)
                    g += 1
                waits = 0
                for i in range(gap_top, g):
                    waits |= gaps[2, i] < 0
                holds = holds and decided_us(job, first_us, last_us, waits) <= job[UP_TO]
                i = gap_top
                while holds and i < g:
                    lo = gap_begin(job, gaps[1, i], last_us, ts_us)
                    up = gap_end(job, gaps[2, i], first_us, ts_us)
                    if neg_bit[gaps[0, i]]:
                        holds = first_with(mask, neg_bit[gaps[0, i]], lo, up) >= up
                    else:
                        job[STEPS_LEFT], above = state[MAX_STEPS] - state[STEPS], gaps_end(job, frame)
                        inner = gap_job(job, jobs, gaps[0, i], lo, up, depth + 1, m, top, above)
                        status = search(inner, program, events, offers, stacks, tests, cols, out)
                        state[STEPS] = state[MAX_STEPS] - inner[STEPS_LEFT]
                        if status in (SPACE, PAUSED):
                            job[DEPTH] = depth
                            return SPACE if status == SPACE else LIMIT
                        holds = status != FOUND
                    i += 1
                if holds:
                    state[RANK], state[FIRST_SIZE], state[BEST_SCOPE] = reached, m, job[SCOPE]
                    keep_best(state, out, entries, 0, m, paths, frame[PATH_HI], top)
                    return FOUND
        # --- from here on nothing pauses: the candidate is used up ---
        continues = depth >= state[SINCE]
        if reached > state[RANK]:
            state[RANK], state[FIRST_SIZE], state[BEST_SCOPE], state[SINCE] = reached, m, job[SCOPE], depth + 1
            keep_best(state, out, entries, state[SIZE] if continues else 0, m, paths, frame[PATH_HI], top)
        elif reached == state[RANK] and reached > 0 and continues:
            state[SINCE] = depth + 1
            keep_best(state, out, entries, state[SIZE], m, paths, frame[PATH_HI], top)
        frame[OFFER] = offer + 1 if is_offer else offer
        if not is_offer:
            bits &= bits - 1
            if bits == 0:
                row += 1
        frame[ROW], frame[BITS] = row, bits
        if is_adjacent and n > 0 and strategy != ANY and follows[first_row] < end:
            # The earliest events that fit, all tied ones; every start event begins a chain.
            frame[END] = follows[first_row]
        if top == frame[PATH_HI]:
            continue
        deeper = frames[depth + 1]
        after = follows[last_row]
        until = limit
        if strategy == CONTIGUOUS and after < limit and follows[after] < limit:
            until = follows[after]
        open_frame(deeper, after, until, limit, m, frame[PATH_HI], top, gap_top, last_row)
        for path in range(frame[PATH_HI], top):
            deeper[WANT] |= want[paths[0, path]]
            deeper[WANT_OFFER] |= want_offer[paths[0, path]]
        deeper[OFFER] = job[OFFER_HI]
        if deeper[WANT_OFFER]:
            deeper[OFFER] = first_at_least(offer_first, after, job[OFFER_LO], job[OFFER_HI])
        depth += 1
    return DONE


@njit(FIND, cache=True, nogil=True)
def find_longest(
    job: IntArray,
    program: Any,
    events: Any,
    offers: Any,
    stacks: Any,
    tests: Any,
    cols: Any,
    guide: Any,
    out: Any,
    found: Any,
) -> int:
    """Walk the scopes from job[SCOPE] to job[STOP]; one row of `found` per partition. DONE, or why the walk paused."""
    scopes, branches = guide[0], guide[1]
    state = out[2][0]
    head, kept, positions = found
    while job[SCOPE] < job[STOP]:
        scope = scopes[job[SCOPE]]
        while state[RESULT] == DONE and job[BRANCH_IDX] < branches.size:
            job[BRANCH] = branches[job[BRANCH_IDX]]
            job[LO] = job[SCOPE_LO] = scope[0]
            job[HI] = job[SCOPE_HI] = job[LAST_START] = scope[1]
            job[OFFER_LO], job[OFFER_HI], job[WINDOW_END] = scope[2], scope[3], scope[4]
            status: int = walk_longest(job, program, events, offers, stacks, tests, cols, guide, out)
            if status == SPACE:
                return SPACE
            state[RESULT] = status
            state[SINCE] = NEVER
            job[DEPTH] = -1
            job[BRANCH_IDX] += 1
        if job[SCOPE] + 1 >= job[STOP] or scopes[job[SCOPE] + 1, 5] != scope[5]:
            i = job[N_OUT]
            size, at, place = state[SIZE], 0, 0
            if i > 0:
                at, place = head[i - 1, HEAD_ENTRIES], head[i - 1, HEAD_POSITIONS]
            if i >= head.shape[0] or at + size > kept.shape[1] or place + out[1].shape[1] > positions.shape[1]:
                return FULL
            for k in range(size):
                kept[0, at + k], kept[1, at + k] = out[0][0, k], out[0][1, k]
            if size:
                for k in range(out[1].shape[1]):
                    if out[1][0, k]:
                        positions[0, place] = k
                        place += 1
            head[i, HEAD_ENTRIES], head[i, HEAD_POSITIONS] = at + size, place
            head[i, HEAD_PARTITION], head[i, HEAD_SCOPE] = scope[5], state[BEST_SCOPE]
            head[i, HEAD_FIRST_SIZE], head[i, HEAD_RESULT] = state[FIRST_SIZE], state[RESULT]
            job[N_OUT] += 1
            state[RANK] = state[SIZE] = state[STEPS] = 0
            state[RESULT] = DONE
        job[BRANCH_IDX] = 0
        job[SCOPE] += 1
    return DONE
