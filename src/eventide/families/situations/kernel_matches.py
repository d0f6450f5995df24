"""Matches of situations: a join around each instant that may decide one, over ranges of sorted runs.

The runs of a symbol follow one another in a partition, so starts and ends are both sorted, and what stands in a
relation to a given run is a range. An instant is decisive for a match when nothing it depends on comes later: a run is
`ready`, or an event has `told` that the first of two runs that both went on has ended.
"""

from __future__ import annotations

from typing import Any

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import first_from
from eventide.runtime.kernels.relations import (
    AFTER,
    BEFORE,
    CONTAINS,
    DURING,
    EQUALS,
    FINISHED_BY,
    FINISHES,
    MEETS,
    MET_BY,
    OVERLAPPED_BY,
    OVERLAPS,
    STARTED_BY,
    STARTS,
    relation,
)

READY, END = 0, 1
_LEFT = MEETS | OVERLAPS | FINISHED_BY | CONTAINS | STARTS | EQUALS | STARTED_BY
_RIGHT = FINISHES | OVERLAPPED_BY | MET_BY
_APART = BEFORE | MEETS | AFTER | MET_BY
_RANGES = 5  # before, at the left end, during, at the right end, after


@njit(cache=True, nogil=True)
def find_ranges(start: IntArray, end: IntArray, lo: int, hi: int, b: int, mask: int, out: IntArray) -> int:
    """Where runs of [lo, hi) stand that may have a relation of `mask` to run b; how many they are."""
    left = first_from(end, lo, hi, start[b])
    inside = first_from(start, left, hi, start[b] + 1)
    right = first_from(end, inside, hi, end[b])
    behind = first_from(start, right, hi, end[b] + 1)
    out[0], out[1] = lo, left if mask & BEFORE else lo
    out[2], out[3] = left, inside if mask & _LEFT else left
    out[4], out[5] = inside, right if mask & DURING else inside
    out[6], out[7] = right, behind if mask & _RIGHT else right
    out[8], out[9] = behind, hi if mask & AFTER else behind
    n = 0
    for r in range(_RANGES):
        n += out[2 * r + 1] - out[2 * r]
    return n


@njit(cache=True, nogil=True)
def _fits(start: IntArray, end: IntArray, a: int, b: int, mask: int, groups: int, at: int) -> bool:
    """Whether the relation of a to b is certain to be allowed at an instant at which both have begun.

    `groups` are the allowed relations for which it does not matter which of two runs ends first.
    """
    held = relation(start[a], end[a], start[b], end[b])
    if held & groups:
        return True
    return bool(held & mask != 0 and (held & _APART != 0 or min(end[a], end[b]) <= at))


@njit(cache=True, nogil=True)
def _decided(runs: Any, bound: IntArray, masks: IntArray, groups: IntArray, at: int) -> bool:
    """Whether the match was not certain before the instant."""
    start, end, ready, told = runs
    n = bound.size
    for k in range(n):
        if ready[bound[k]] == at:
            return True
    for k in range(n):
        for j in range(k):
            if masks[k, j]:
                a, b = bound[k], bound[j]
                held = relation(start[a], end[a], start[b], end[b])
                if held & (groups[k, j] | _APART) == 0 and min(told[a], told[b]) == at:
                    return True
    return False


@njit(cache=True, nogil=True)
def match(
    runs: Any,
    borders: IntArray,
    program: Any,
    within: int,
    times: tuple[int, int],
    resume: IntArray,
    memory: Any,
    stats: IntArray,
    out: IntArray,
) -> int:
    """Fill `out` with (instant, partition, run of each symbol) of matches decided in (times[0], times[1]].

    `program` is (masks, groups, triggers, orders, complete): allowed relations of symbol to symbol, those of whole
    groups, which instants of each symbol may decide, the order in which symbols are bound after each, and whether all
    ends must be known. Goes on from `resume` (partition, symbol, instant kind, run) and leaves it behind the last one
    done, with partition -1 when all are. `stats` counts what was tested and what fitted by pair, and runs in reach.
    """
    start, end, ready, told = runs
    triggers, complete = program[2], program[4]
    n = triggers.shape[0]
    n_out = 0
    n_partitions = borders.shape[1] - 1
    begin_symbol, begin_kind, begin_run = resume[1], resume[2], resume[3]
    for p in range(resume[0], n_partitions):
        for k in range(begin_symbol, n):
            for kind in range(begin_kind, 2):
                if not triggers[k, kind]:
                    continue
                instant = told if kind == END else ready
                first = first_from(instant, borders[k, p], borders[k, p + 1], times[0] + 1)
                first = max(first, begin_run)
                begin_run = 0
                for i in range(first, borders[k, p + 1]):
                    at = instant[i]
                    if at > times[1]:
                        break
                    if (end[i] if complete else at) - start[i] > within:
                        continue
                    found = _around((i, k, kind, at, p), runs, borders, program, within, memory, stats, out, n_out)
                    if found < 0:
                        resume[0], resume[1], resume[2], resume[3] = p, k, kind, i
                        return n_out
                    n_out = found
            begin_kind = 0
        begin_symbol = 0
    resume[0] = -1
    return n_out


@njit(cache=True, nogil=True)
def _around(
    instant: tuple[int, int, int, int, int],
    runs: Any,
    borders: IntArray,
    program: Any,
    within: int,
    memory: Any,
    stats: IntArray,
    out: IntArray,
    n_out: int,
) -> int:
    """The matches that an instant decides; -1: there is no room for them.

    It is an instant of run i of symbol k: its kind, its time, its partition.
    """
    i, k, kind, at, p = instant
    start, end, ready, told = runs
    masks, groups, _, orders, complete = program
    bound, ranges, _, which = memory
    n = masks.shape[0]
    bound[k] = i
    depth = 1
    fresh = True
    while depth > 0:
        if depth == n:
            if _is_first(k, kind, at, runs, program, within, bound):
                if n_out == out.shape[0]:
                    return -1
                out[n_out, 0] = at
                out[n_out, 1] = p
                for symbol in range(n):
                    out[n_out, symbol + 2] = bound[symbol]
                n_out += 1
            depth -= 1
            fresh = False
            continue
        symbol = orders[k, depth]
        if fresh:
            lo, hi = borders[symbol, p], borders[symbol, p + 1]
            hi = first_from(told if complete else start, lo, hi, at + 1)
            lo = first_from(start, lo, hi, (end[i] if complete else at) - within)
            narrowed = _open(symbol, depth, k, lo, hi, runs, program, memory)
            which[depth, 0], which[depth, 1] = 0, narrowed
            stats[symbol, n, 0] += 1
            stats[symbol, n, 1] += hi - lo
            if narrowed >= 0:
                stats[symbol, narrowed, 0] += hi - lo
        # The next candidate that fits all that is bound.
        candidate = -1
        while candidate < 0 and which[depth, 0] < _RANGES:
            r = which[depth, 0]
            if ranges[depth, 2 * r] >= ranges[depth, 2 * r + 1]:
                which[depth, 0] += 1
                continue
            c = ranges[depth, 2 * r]
            ranges[depth, 2 * r] += 1
            if ready[c] > at:
                continue
            fits = True
            for d in range(depth):
                other = orders[k, d]
                if masks[symbol, other]:
                    if other != which[depth, 1]:
                        stats[symbol, other, 0] += 1
                    if not _fits(start, end, c, bound[other], masks[symbol, other], groups[symbol, other], at):
                        fits = False
                        break
                    stats[symbol, other, 1] += 1
            if fits:
                candidate = c
        if candidate < 0:
            depth -= 1
            fresh = False
        else:
            bound[symbol] = candidate
            depth += 1
            fresh = True
    return n_out


@njit(cache=True, nogil=True)
def _open(symbol: int, depth: int, k: int, lo: int, hi: int, runs: Any, program: Any, memory: Any) -> int:
    """The ranges of candidates at a depth: by the bound run that leaves the fewest; its symbol, -1: none is related."""
    start, end = runs[:2]
    masks, orders = program[0], program[3]
    bound, ranges, trial, _ = memory
    fewest, chosen = -1, -1
    for d in range(depth):
        other = orders[k, d]
        if masks[symbol, other]:
            n = find_ranges(start, end, lo, hi, bound[other], masks[symbol, other], trial)
            if fewest < 0 or n < fewest:
                fewest, chosen = n, other
                for r in range(2 * _RANGES):
                    ranges[depth, r] = trial[r]
    if fewest < 0:
        for r in range(2 * _RANGES):
            ranges[depth, r] = lo
        ranges[depth, 1] = hi
    return chosen


@njit(cache=True, nogil=True)
def _is_first(k: int, kind: int, at: int, runs: Any, program: Any, within: int, bound: IntArray) -> bool:
    """Whether a full match is decided now, and no symbol before this one decides it at the same instant."""
    start, end, ready, told = runs
    masks, groups, triggers, _, complete = program
    for symbol in range(k + 1):
        for other_kind in range(2):
            if symbol == k and other_kind == kind:
                break
            instant = told if other_kind == END else ready
            if triggers[symbol, other_kind] and instant[bound[symbol]] == at:
                return False
    if not complete:
        return bool(_decided(runs, bound, masks, groups, at))
    # One event may tell several ends, and the last of them is another run's.
    first, last = start[bound[0]], end[bound[0]]
    for symbol in range(1, bound.size):
        first, last = min(first, start[bound[symbol]]), max(last, end[bound[symbol]])
    return bool(last - first <= within)


@njit(cache=True, nogil=True)
def possible(start: IntArray, end: IntArray, a: IntArray, b: IntArray, at: IntArray, out: IntArray) -> None:
    """The relations of a to b that are still possible at an instant at which both have begun."""
    for i in range(a.size):
        x, y = a[i], b[i]
        if end[x] <= at[i] or end[y] <= at[i]:
            out[i] = relation(start[x], end[x], start[y], end[y])
        elif start[x] < start[y]:
            out[i] = OVERLAPS | FINISHED_BY | CONTAINS
        elif start[x] == start[y]:
            out[i] = STARTS | EQUALS | STARTED_BY
        else:
            out[i] = DURING | FINISHES | OVERLAPPED_BY
