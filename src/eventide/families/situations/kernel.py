"""Situations: maximal runs of events, by symbol, in order of their starts.

Bit k of an event's mask says whether the condition of situation k holds. A run begins with the first event that has
the bit and ends with the first one that has not; it goes on from what an earlier block left open. Where the events of
the partition pause for longer than the symbol's gap, the run ends a gap behind its last event.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray

OPEN = 1 << 62  # the end of a run that goes on, and the instant of what has not come about


@njit(cache=True, nogil=True)
def count_runs(
    ts: IntArray,
    mask: IntArray,
    offsets: IntArray,
    known: Any,
    shortest_gap: int,
    partitions: tuple[int, int],
    out: IntArray,
) -> None:
    """At most how many runs each symbol has in a range of partitions; `known` as in `derive`."""
    symbol, _, end, _, first_known = known
    for p in range(partitions[0], partitions[1]):
        before = 0
        for row in range(first_known[p], first_known[p + 1]):
            out[symbol[row]] += 1
            if end[row] == OPEN:
                before |= 1 << symbol[row]
        for i in range(offsets[p], offsets[p + 1]):
            if i == offsets[p] or ts[i] - ts[i - 1] > shortest_gap:
                before = 0  # a run from an earlier block may have ended, too
            begun = mask[i] & ~before
            before = mask[i]
            k = 0
            while begun:
                if begun & 1:
                    out[k] += 1
                begun >>= 1
                k += 1


@njit(cache=True, nogil=True)
def derive(
    events: Any,
    known: Any,
    bounds: IntArray,
    closes: bool,
    partitions: tuple[int, int],
    base: IntArray,
    out: Any,
    borders: IntArray,
) -> None:
    """Fill in the runs of a range of partitions, those of symbol k from base[k] on.

    `events` are their times, masks and offsets, and by partition the time of the last event before this block. `known`
    are runs of earlier blocks by partition: symbol, start, end, ready, first of each partition. `bounds` has the least
    and the greatest duration of each symbol, and its gap; a run that ends outside of its durations is left out.
    `closes`: the last event ends what is open. `out` is (start, end, ready, told, first event, event behind the last,
    row in `known`). `ready` is when it is certain that the run lasts as long as it must. `told` is the event that
    tells the end: its time is the end, or behind a gap.
    """
    ts, mask, offsets, last_us = events
    symbol, known_start, known_end, known_ready, first_known = known
    start, end, ready, told, lo, hi, origin = out
    n_symbols = base.size
    runs = (start, end, ready, told, hi)
    shortest_gap = bounds[:, 2].min()
    place = base.copy()
    for p in range(partitions[0], partitions[1]):
        at = p - partitions[0]
        before = 0
        waiting = 0
        next_ready = OPEN
        for k in range(n_symbols):
            borders[k, at] = place[k]
        for row in range(first_known[p], first_known[p + 1]):
            k = symbol[row]
            i = place[k]
            start[i], end[i], ready[i] = known_start[row], known_end[row], known_ready[row]
            told[i] = end[i]  # of what has ended earlier it does not matter which event told
            lo[i], hi[i], origin[i] = offsets[p], offsets[p], row
            place[k] += 1
            if end[i] == OPEN:
                before |= 1 << k
                if ready[i] == OPEN and bounds[k, 1] == OPEN:
                    waiting |= 1 << k
                    next_ready = min(next_ready, start[i] + bounds[k, 0])
        for event in range(offsets[p], offsets[p + 1]):
            now = ts[event]
            previous = ts[event - 1] if event > offsets[p] else last_us[p]
            if before and now - previous > shortest_gap:
                for k in range(n_symbols):
                    if before >> k & 1 and now - previous > bounds[k, 2]:
                        place[k] = _close(place[k], previous + bounds[k, 2], now, event, bounds[k], runs)
                        before &= ~(1 << k)
                        waiting &= ~(1 << k)
            if now >= next_ready:
                next_ready = OPEN
                for k in range(n_symbols):
                    if waiting >> k & 1:
                        i = place[k] - 1
                        if now - start[i] >= bounds[k, 0]:
                            ready[i] = now
                            waiting &= ~(1 << k)
                        else:
                            next_ready = min(next_ready, start[i] + bounds[k, 0])
            changed = mask[event] ^ before
            if changed:
                k = 0
                while changed:
                    if changed & 1:
                        if before >> k & 1:
                            waiting &= ~(1 << k)
                            place[k] = _close(place[k], now, now, event, bounds[k], runs)
                        else:
                            i = place[k]
                            start[i], end[i], ready[i], told[i] = now, OPEN, OPEN, OPEN
                            lo[i], hi[i], origin[i] = event, event, -1
                            place[k] += 1
                            if bounds[k, 1] == OPEN:
                                if bounds[k, 0] == 0:
                                    ready[i] = now
                                else:
                                    waiting |= 1 << k
                                    next_ready = min(next_ready, now + bounds[k, 0])
                    changed >>= 1
                    k += 1
                before = mask[event]
        stop = offsets[p + 1]
        last = ts[stop - 1] if stop > offsets[p] else last_us[p]
        for k in range(n_symbols):
            if before >> k & 1:
                hi[place[k] - 1] = stop
                if closes:
                    place[k] = _close(place[k], last, last, stop, bounds[k], runs)
            borders[k, at + 1] = place[k]


@njit(cache=True, nogil=True)
def _close(place: int, ended: int, now: int, event: int, bounds: IntArray, runs: Any) -> int:
    """End the last run, as the event at `now` tells; the place behind the last one that stays."""
    start, end, ready, told, hi = runs
    i = place - 1
    lasted = ended - start[i]
    if lasted == 0 or lasted < bounds[0] or lasted > bounds[1]:
        return i
    end[i], told[i] = ended, now
    hi[i] = event
    if ready[i] == OPEN:
        ready[i] = now
    return place


@njit(cache=True, nogil=True)
def cut_runs(ts: IntArray, lo: IntArray, hi: IntArray, end: IntArray, at: IntArray, out: IntArray) -> None:
    """For each run the event behind its last one up to an instant."""
    for i in range(lo.size):
        if end[i] <= at[i]:
            out[i] = hi[i]
            continue
        out[i] = lo[i] + np.searchsorted(ts[lo[i] : hi[i]], at[i], side="right")


@njit(cache=True, nogil=True)
def mark_needed(
    ts: IntArray, mask: IntArray, offsets: IntArray, stretch: IntArray, measured: int, least: IntArray, out: Any
) -> None:
    """Which events of a slice of time tell the runs that all its events tell.

    Those at which a condition changes, those of runs whose events are aggregated (`measured`), the first and the last
    of each partition, and the first at which a run has lasted as long as it must (`least`, 0: does not matter). Before
    an event of another `stretch` others may be missing, so it is like a first one; of stretch -1 all are needed.
    """
    begun = np.zeros(least.size, dtype=np.int64)
    for p in range(offsets.size - 1):
        waiting, unsure = 0, 0
        for i in range(offsets[p], offsets[p + 1]):
            is_first = i == offsets[p] or stretch[i] != stretch[i - 1] or stretch[i] < 0
            before = 0 if is_first else mask[i - 1]
            needed = is_first or i == offsets[p + 1] - 1 or mask[i] != before or mask[i] & measured != 0
            if is_first:
                waiting, unsure = 0, 0
            changed = mask[i] ^ before
            for k in range(least.size):
                bit = 1 << k
                if least[k] == 0:
                    continue
                if changed & bit:
                    waiting &= ~bit
                    unsure &= ~bit
                    if mask[i] & bit:
                        waiting |= bit
                        begun[k] = ts[i]
                        if is_first:
                            unsure |= bit
                elif waiting & bit:
                    if unsure & bit:
                        needed = True
                    if ts[i] - begun[k] >= least[k]:
                        needed = True
                        waiting &= ~bit
            out[i] = needed
