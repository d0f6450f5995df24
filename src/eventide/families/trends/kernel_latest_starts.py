"""The matches of a negation, as far as trends need them: how late one that has ended by now began.

Skip-till-any, by the greatest start over the events that one may extend: a match that begins later lies in every gap
that an earlier one with the same end lies in. GRETA (seed 002, chapter 7) watches negations; here they have conditions.
"""

from __future__ import annotations

from typing import Any

from numba import types

from eventide.compilation.njit import njit
from eventide.families.trends.kernel_types import RELATE
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.pattern_types import COLS, INT, INTS, TABLE

FREE, SCAN = -2, -1  # kinds of steps: without a test, with tests that no index answers; others have one comparison
_PROGRAM = types.UniTuple(INTS, 10)
_INDEX = types.Tuple((TABLE, TABLE, INTS, INTS))
_MEMORY = types.Tuple((TABLE, TABLE, INTS, INTS, INTS))
FIND = types.void(
    INT, TABLE, types.UniTuple(INTS, 3), _PROGRAM, _INDEX, types.FunctionType(RELATE), COLS, INTS, _MEMORY, TABLE
)


@njit(cache=True, nogil=True)
def _is_free(first: int, stop: int, absent: IntArray, number: int, latest: Any, up_to: int) -> bool:
    """Whether one of the ways has no negation that began later."""
    for i in range(first, stop):
        free = True
        for n in range(number):
            if absent[i] >> n & 1 and latest[n] > up_to:
                free = False
        if free:
            return True
    return False


@njit(cache=True, nogil=True)
def _extend(
    r: int,
    p: int,
    first: int,
    events: Any,
    program: Any,
    index: Any,
    relate: Any,
    cols: Any,
    within: IntArray,
    memory: Any,
) -> int:
    """The latest start of a partial match that the event may extend to a position, -1: none."""
    tie, ts_us, _ = events
    edge_lo, edge_from, edge_tests, edge_kind, edge_first = program[1], program[2], program[3], program[4], program[5]
    _, reach, is_point, _ = index
    starts, held, n_held, best, nodes = memory
    found = -1
    for e in range(edge_lo[p], edge_lo[p + 1]):
        source, kind = edge_from[e], edge_kind[e]
        if kind == FREE:
            found = max(found, best[source])
        elif kind == SCAN:
            # None begins later than its last event: further back there is nothing better.
            for k in range(n_held[source] - 1, -1, -1):
                q = held[source, k]
                if tie[q] <= found or (within[1] >= 0 and ts_us[q] <= ts_us[r] - within[1]):
                    break
                start = starts[q - first, source]
                if start > found and relate(edge_tests[e], q, r, cols) == edge_tests[e]:
                    found = start
        elif is_point[kind]:
            if reach[kind, r] >= 0:
                found = max(found, nodes[edge_first[e] + reach[kind, r]])
        else:
            place = reach[kind, r]
            while place > 0:
                found = max(found, nodes[edge_first[e] + place - 1])
                place -= place & -place
    # What is left of the runs before began before this one.
    return found if found >= tie[first] else -1


@njit(cache=True, nogil=True)
def _insert(r: int, p: int, start: int, program: Any, index: Any, memory: Any) -> None:
    """Put an event's start into the trees of the steps that leave a position."""
    edge_from, edge_kind, edge_first = program[2], program[4], program[5]
    places, _, is_point, n_places = index
    nodes = memory[4]
    for e in range(edge_from.size):
        if edge_from[e] != p or edge_kind[e] < 0 or places[edge_kind[e], r] < 0:
            continue
        node = places[edge_kind[e], r] + 1
        if is_point[edge_kind[e]]:
            nodes[edge_first[e] + node - 1] = max(nodes[edge_first[e] + node - 1], start)
            continue
        while node <= n_places[edge_kind[e]]:
            nodes[edge_first[e] + node - 1] = max(nodes[edge_first[e] + node - 1], start)
            node += node & -node


@njit(FIND, cache=True, nogil=True)
def find_latest_starts(
    number: int,
    runs: IntArray,
    events: Any,
    program: Any,
    index: Any,
    relate: Any,
    cols: Any,
    within: IntArray,
    memory: Any,
    out: Any,
) -> None:
    """Fill the row of negation `number` in `cols[0]`, and `out[number]` for what has ended when each run ends.

    `events` are (tie, ts_us, mask), `within` (row of the events' ranks in `cols[0]`, those of the negations follow;
    the length of windows or -1). `program` is (symbols of the positions; steps into each: first, from, tests, kind,
    first node of its tree; starts of each position: first, negations that must not have ended; the same of ends,
    negations that must not begin behind them). `index` is by kind (place of each event, what it may extend, whether
    that is one place only, number of places). `memory` is (by event of a run and position the latest start; by position
    the events that have one, how many, the latest of all; nodes of trees, -1).
    """
    tie, _, mask = events
    symbol, start_lo, start_not, end_lo, end_not = program[0], program[6], program[7], program[8], program[9]
    starts, held, n_held, best, _ = memory
    ints, base = cols[0], within[0]
    for run in range(runs.shape[0]):
        first, stop = runs[run, 0], runs[run, 1]
        n_held[:] = 0
        best[:] = -1
        latest = -1
        floor = tie[first]
        row = first
        while row < stop:
            behind = row + 1
            while behind < stop and tie[behind] == tie[row]:
                behind += 1
            ended = latest
            for r in range(row, behind):
                ints[base + 1 + number, r] = latest - floor if latest >= 0 else -1
                for p in range(symbol.size):
                    found = -1
                    if mask[r] >> symbol[p] & 1:
                        if _is_free(start_lo[p], start_lo[p + 1], start_not, number, ints[base + 1 :, r], -1):
                            found = tie[r]
                        else:
                            found = _extend(r, p, first, events, program, index, relate, cols, within, memory)
                    starts[r - first, p] = found
                    if found > ended and _is_free(
                        end_lo[p], end_lo[p + 1], end_not, number, out[:, run], tie[r] - floor
                    ):
                        ended = found
            for r in range(row, behind):
                for p in range(symbol.size):
                    if starts[r - first, p] >= 0:
                        held[p, n_held[p]] = r
                        n_held[p] += 1
                        best[p] = max(best[p], starts[r - first, p])
                        _insert(r, p, starts[r - first, p], program, index, memory)
            latest = ended
            row = behind
        out[number, run] = latest - floor if latest >= 0 else -1
