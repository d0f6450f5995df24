"""AND: the ways to match its sides, joined where they lie in one window; and equal bindings found by sorting.

Ways of a side stand by scope and first row. The one that begins first leads; the others are looked for from where it
begins to where its window ends, so a window's ways are compared with one another and with no others. The join keeps
its place in `state`: a full `out` pauses it, and so does the last step that a call may take. The module is compiled
when it is imported, for all queries.
"""

from __future__ import annotations

from typing import Any

from numba import types

from eventide.compilation.njit import njit
from eventide.families.events.kernel_places import (
    DONE,
    FULL,
    N_PAIR_ENTRIES,
    N_PAIR_GAPS,
    N_PAIRS,
    NEVER,
    NOT_BEGUN,
    PAIR_LEADER,
    PAIR_LEVEL,
    PAIR_LIMIT,
    PAIR_REACH,
    PAIR_SCOPE,
    PAIR_SIDES,
    PAIR_STATE,
    PAIR_STEPS_LEFT,
    PAUSED,
    START_HI,
    START_LO,
)
from eventide.families.events.kernel_stacks import write_gap
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import first_from
from eventide.runtime.kernels.pattern_types import COLS, INT, INTS, OUT, TABLE, TESTS

WAYS = types.UniTuple(INTS, 10)
BINDINGS = types.UniTuple(INTS, 9)
JOIN = INT(INTS, WAYS, TABLE, INTS, INTS, TABLE, TESTS, COLS, OUT)
SORT = types.void(BINDINGS, INTS, INTS)
MARK = types.void(BINDINGS, INTS, types.Array(types.boolean, 2, "C"))
COUNT = types.void(INTS, WAYS, TABLE, INTS, TABLE)


@njit(cache=True, nogil=True)
def next_leader(state: IntArray, following: IntArray, side_lo: IntArray, first: IntArray, n_scopes: int) -> int:
    """The side whose next way begins first; -1 where a side has none left, so that nothing can be joined."""
    leader = -1
    for k in range(following.size):
        if following[k] >= side_lo[k * (n_scopes + 1) + state[PAIR_SCOPE] + 1]:
            return -1
        if leader < 0 or first[following[k]] < first[following[leader]]:
            leader = k
    return leader


@njit(cache=True, nogil=True)
def begin_scope(state: IntArray, following: IntArray, side_lo: IntArray, first: IntArray, scopes: IntArray) -> None:
    """Set each side to its first way in the scope's range of starts."""
    scope, n_scopes = state[PAIR_SCOPE], scopes.shape[0]
    for k in range(following.size):
        at = k * (n_scopes + 1) + scope
        following[k] = first_from(first, side_lo[at], side_lo[at + 1], scopes[scope, START_LO])


@njit(cache=True, nogil=True)
def window_end(row: int, reach: int, ts_us: IntArray, hi: int) -> int:
    """The row at which the window that begins with a row ends."""
    if reach >= NEVER:
        return hi
    return first_from(ts_us, row, hi, ts_us[row] + reach)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def write_sorted(symbols: IntArray, rows: IntArray, n: int, at: int, out: IntArray) -> int:
    """Write n entries to `out` by row and symbol, equal ones once; returns where they end."""
    end = at
    for i in range(n):
        place = end
        while place > at and (
            out[1, place - 1] > rows[i] or (out[1, place - 1] == rows[i] and out[0, place - 1] > symbols[i])
        ):
            place -= 1
        if place > at and out[1, place - 1] == rows[i] and out[0, place - 1] == symbols[i]:
            continue
        for k in range(end, place, -1):
            out[0, k], out[1, k] = out[0, k - 1], out[1, k - 1]
        out[0, place], out[1, place] = symbols[i], rows[i]
        end += 1
    return end


@njit(cache=True, nogil=True)
def write_gaps(chosen: IntArray, ways: Any, at: int, out: IntArray) -> int:
    """Write the gaps of the chosen ways to `out`, equal ones once; returns where they end."""
    gap_lo, gap_negation, gap_first, gap_end = ways[6:]
    end = at
    for k in range(chosen.size):
        for i in range(gap_lo[chosen[k]], gap_lo[chosen[k] + 1]):
            known = False
            for g in range(at, end):
                same = out[0, g] == gap_negation[i] and out[1, g] == gap_first[i] and out[2, g] == gap_end[i]
                known = known or same
            if not known:
                write_gap(out, end, gap_negation[i], gap_first[i], gap_end[i])
                end += 1
    return end


@njit(JOIN, cache=True, nogil=True)
def join_sides(
    state: IntArray,
    ways: Any,
    scopes: IntArray,
    ts_us: IntArray,
    closing: IntArray,
    room: IntArray,
    tests: Any,
    cols: Any,
    out: Any,
) -> int:
    """Write to `out` one way of each side, all in one window, that the conjuncts between them allow; DONE or why not.

    `out` has scope, end of entries and end of gaps; entries; gaps. The aggregate conjuncts `closing` are about them.
    """
    side_lo, first, last, entry_lo, way_symbol, way_row = ways[:6]
    bound_holds, _, closes = tests
    n_sides, n_scopes = state[PAIR_SIDES], scopes.shape[0]
    following = state[PAIR_STATE : PAIR_STATE + n_sides]
    chosen = state[PAIR_STATE + n_sides : PAIR_STATE + 2 * n_sides]
    cursor = state[PAIR_STATE + 2 * n_sides : PAIR_STATE + 3 * n_sides]
    sizes = state[PAIR_STATE + 3 * n_sides : PAIR_STATE + 4 * n_sides]
    symbols, rows = room[0], room[1]
    while state[PAIR_SCOPE] < n_scopes:
        if state[PAIR_STEPS_LEFT] <= 0:
            return PAUSED
        state[PAIR_STEPS_LEFT] -= 1
        scope = state[PAIR_SCOPE]
        if state[PAIR_LEVEL] == NOT_BEGUN:
            begin_scope(state, following, side_lo, first, scopes)
            state[PAIR_LEVEL] = -1
        if state[PAIR_LEVEL] < 0:
            leader = next_leader(state, following, side_lo, first, n_scopes)
            if leader < 0 or first[following[leader]] >= scopes[scope, START_HI]:
                state[PAIR_SCOPE] += 1
                state[PAIR_LEVEL] = NOT_BEGUN
                continue
            way = following[leader]
            following[leader] += 1
            state[PAIR_LEADER], chosen[leader] = leader, way
            state[PAIR_LIMIT] = window_end(first[way], state[PAIR_REACH], ts_us, scopes[scope, 1])
            n = 0
            for i in range(entry_lo[way], entry_lo[way + 1]):
                symbols[n], rows[n] = way_symbol[i], way_row[i]
                n += 1
            sizes[0] = n
            cursor[0] = following[1 if leader == 0 else 0]
            state[PAIR_LEVEL] = 0
        level, leader, limit = state[PAIR_LEVEL], state[PAIR_LEADER], state[PAIR_LIMIT]
        side = level if level < leader else level + 1
        way = cursor[level]
        if way >= side_lo[side * (n_scopes + 1) + scope + 1] or first[way] >= limit:
            state[PAIR_LEVEL] = level - 1
            continue
        n = sizes[level]
        m = n + entry_lo[way + 1] - entry_lo[way]
        n_out, at, gap = state[N_PAIRS], state[N_PAIR_ENTRIES], state[N_PAIR_GAPS]
        is_last = level == n_sides - 2
        if is_last:
            n_gaps = 0
            chosen[side] = way
            for k in range(n_sides):
                n_gaps += ways[6][chosen[k] + 1] - ways[6][chosen[k]]
            if n_out >= out[0].shape[0] or at + m > out[1].shape[1] or gap + n_gaps > out[2].shape[1]:
                return FULL
        cursor[level] = way + 1
        holds = last[way] < limit
        i = n
        while holds and i < m:
            k = entry_lo[way] + i - n
            symbols[i], rows[i] = way_symbol[k], way_row[k]
            holds = bound_holds(symbols[i], rows[i], symbols, rows, i, cols)
            i += 1
        if not holds:
            continue
        chosen[side] = way
        if not is_last:
            sizes[level + 1] = m
            behind = level + 1 if level + 1 < leader else level + 2
            cursor[level + 1] = following[behind]
            state[PAIR_LEVEL] = level + 1
            continue
        end = write_sorted(symbols, rows, m, at, out[1])
        for test in closing:
            holds = holds and closes(test, out[1][0], out[1][1], at, end, cols)
        if holds:
            state[N_PAIR_ENTRIES] = end
            state[N_PAIR_GAPS] = write_gaps(chosen, ways, gap, out[2])
            out[0][n_out, 0], out[0][n_out, 1], out[0][n_out, 2] = scope, end, state[N_PAIR_GAPS]
            state[N_PAIRS] += 1
    return DONE


@njit(COUNT, cache=True, nogil=True)
def count_pairs(state: IntArray, ways: Any, scopes: IntArray, ts_us: IntArray, out: IntArray) -> None:
    """For each way, in the order in which they lead: its scope, its first row, and how many joins are tried at most.

    `out` is as wide as there are ways; what leads nothing has a count of 0 and the scope of those before it.
    """
    side_lo, first = ways[:2]
    n_sides, n_scopes = state[PAIR_SIDES], scopes.shape[0]
    following = state[PAIR_STATE : PAIR_STATE + n_sides]
    n = 0
    for scope in range(n_scopes):
        state[PAIR_SCOPE] = scope
        begin_scope(state, following, side_lo, first, scopes)
        while True:
            leader = next_leader(state, following, side_lo, first, n_scopes)
            if leader < 0 or first[following[leader]] >= scopes[scope, START_HI]:
                break
            row = first[following[leader]]
            following[leader] += 1
            limit = window_end(row, state[PAIR_REACH], ts_us, scopes[scope, 1])
            count = 1
            for k in range(n_sides):
                if k != leader:
                    end = side_lo[k * (n_scopes + 1) + scope + 1]
                    # A rough number is enough: it must only not overflow.
                    count = min(count * (first_from(first, following[k], end, limit) - following[k]), 1 << 31)
            out[0, n], out[1, n], out[2, n] = scope, row, count
            n += 1
    state[N_PAIRS] = n


@njit(cache=True, nogil=True)
def compare(one: int, two: int, bindings: Any, whole: bool) -> int:
    """Negative, 0 or positive: by scope and entries; `whole`: then by tag and gaps."""
    scope, entry_lo, symbol, row, tag, gap_lo = bindings[:6]
    if scope[one] != scope[two]:
        return -1 if scope[one] < scope[two] else 1
    n_one, n_two = entry_lo[one + 1] - entry_lo[one], entry_lo[two + 1] - entry_lo[two]
    for i in range(min(n_one, n_two)):
        a, b = entry_lo[one] + i, entry_lo[two] + i
        if row[a] != row[b]:
            return -1 if row[a] < row[b] else 1
        if symbol[a] != symbol[b]:
            return -1 if symbol[a] < symbol[b] else 1
    if n_one != n_two:
        return -1 if n_one < n_two else 1
    if not whole:
        return 0
    if tag[one] != tag[two]:
        return -1 if tag[one] < tag[two] else 1
    n_one, n_two = gap_lo[one + 1] - gap_lo[one], gap_lo[two + 1] - gap_lo[two]
    if n_one != n_two:
        return -1 if n_one < n_two else 1
    for i in range(n_one):
        a, b = gap_lo[one] + i, gap_lo[two] + i
        for k in range(6, 9):
            if bindings[k][a] != bindings[k][b]:
                return -1 if bindings[k][a] < bindings[k][b] else 1
    return 0


@njit(SORT, cache=True, nogil=True)
def sort_bindings(bindings: Any, order: IntArray, spare: IntArray) -> None:
    """Sort `order`, numbers of bindings, by all of `compare`: a merge sort from pairs up."""
    n = order.size
    width = 1
    while width < n:
        for lo in range(0, n, 2 * width):
            middle, hi = min(lo + width, n), min(lo + 2 * width, n)
            a, b = lo, middle
            for at in range(lo, hi):
                if a < middle and (b >= hi or compare(order[a], order[b], bindings, True) <= 0):
                    spare[at] = order[a]
                    a += 1
                else:
                    spare[at] = order[b]
                    b += 1
        order[:] = spare
        width *= 2


@njit(MARK, cache=True, nogil=True)
def mark_new(bindings: Any, order: IntArray, out: Any) -> None:
    """`out[0]`: where another binding begins, `out[1]`: where another one, or another tag or gaps of it."""
    for i in range(order.size):
        out[0, i] = i == 0 or compare(order[i - 1], order[i], bindings, False) != 0
        out[1, i] = i == 0 or compare(order[i - 1], order[i], bindings, True) != 0
