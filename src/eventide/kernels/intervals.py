"""Derives intervals from events: runs of events that meet conditions, and spans from a start to an end (D2IA, 3.1).

Goes in: events in an order that is right inside each partition, and what is open, by the slot of its partition.
Comes out: closed intervals, as rows of their first and last event, with their aggregates. One pass, one state a slot.
Conditions and aggregates are written into the loops: as functions of arrays they took twenty times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np  # noqa: F401 (generated code uses it)
from numba import njit

from eventide.kernels.arrays import IntArray

# What is open in a slot: rows of its first and last event, and how many events it has; 0: nothing is open.
FIRST, LAST, COUNT = 0, 1, 2
# The limits of a run: how many events, and how far apart two of them may be.
MINIMUM, MAXIMUM, GAP_US = 0, 1, 2
# The way of a thread: the slots from LOW up to HIGH, and the next POSITION.
LOW, HIGH, POSITION, N_WAY = 0, 1, 2, 3
# Bits of the mask: of a run whether the event alone allows it; of a span what the event does.
ALLOWED = 1
STARTS, ENDS, EXCLUDED = 1, 2, ~3

# Room that one event may need: it closes an interval, and begins another that closes at once.
ROOM_PER_EVENT = 2

# <generated: functions>
# </generated>


@njit(cache=True, nogil=True)
def derive_runs(
    events: Any, limits: IntArray, way: IntArray, opened: IntArray, kept: Any, cols: Any, out: IntArray, out_kept: Any
) -> int:
    """Maximal runs, each closed by an event that does not continue it, or by reaching the maximum; how many.

    `events` are (slot of each event, order, row of the first event, time of each row, mask of each row); an empty order
    is 0, 1, 2, ... Stops when there is no room, and goes on from `way[POSITION]` when it is called again.
    """
    slots, order, base, ts_us, mask = events
    kept_integers, kept_doubles, kept_counts, kept_rows = kept
    integers, doubles, valid = cols
    low, high = way[LOW], way[HIGH]
    minimum, maximum, gap_us = limits[MINIMUM], limits[MAXIMUM], limits[GAP_US]
    n_out = 0
    for position in range(way[POSITION], slots.size):
        at = order[position] if order.size else position
        slot = slots[at]
        if slot < low or slot >= high:
            continue
        if n_out + ROOM_PER_EVENT > out.shape[0]:
            way[POSITION] = position
            return n_out
        row = base + at
        allowed = mask.size == 0 or mask[row] & ALLOWED != 0
        count = opened[slot, COUNT]
        if count > 0:
            last = opened[slot, LAST]
            holds = allowed and ts_us[row] - ts_us[last] < gap_us
            if holds:
                first = opened[slot, FIRST]
                # <generated: fold>
                # </generated>
                # <generated: goes_on>
                # </generated>
            if holds:
                # <generated: keep>
                # </generated>
                opened[slot, LAST] = row
                opened[slot, COUNT] = count + 1
                if count + 1 >= maximum:
                    n_out = _close(slot, minimum, opened, kept, out, out_kept, n_out)
                continue
            n_out = _close(slot, minimum, opened, kept, out, out_kept, n_out)
        if allowed:
            holds = True
            # <generated: fold_first>
            # </generated>
            # <generated: begins>
            # </generated>
            if holds:
                # <generated: keep>
                # </generated>
                opened[slot, FIRST] = row
                opened[slot, LAST] = row
                opened[slot, COUNT] = 1
                if maximum <= 1:
                    n_out = _close(slot, minimum, opened, kept, out, out_kept, n_out)
    way[POSITION] = slots.size
    return n_out


@njit(cache=True, nogil=True)
def derive_spans(
    events: Any, limits: IntArray, way: IntArray, opened: IntArray, kept: Any, cols: Any, out: IntArray, out_kept: Any
) -> int:
    """Spans from the earliest open start to the next end; an excluded event discards what is open. As `derive_runs`."""
    slots, order, base, _, mask = events
    kept_integers, kept_doubles, kept_counts, kept_rows = kept
    integers, doubles, valid = cols
    low, high = way[LOW], way[HIGH]
    n_out = 0
    for position in range(way[POSITION], slots.size):
        at = order[position] if order.size else position
        slot = slots[at]
        if slot < low or slot >= high:
            continue
        if n_out + ROOM_PER_EVENT > out.shape[0]:
            way[POSITION] = position
            return n_out
        row = base + at
        bits = mask[row]
        if bits & EXCLUDED:
            opened[slot, COUNT] = 0
        elif opened[slot, COUNT] > 0:
            # <generated: fold>
            # </generated>
            # <generated: keep>
            # </generated>
            opened[slot, LAST] = row
            opened[slot, COUNT] += 1
            if bits & ENDS:
                n_out = _close(slot, 1, opened, kept, out, out_kept, n_out)
        elif bits & STARTS:
            # <generated: fold_first>
            # </generated>
            # <generated: keep>
            # </generated>
            opened[slot, FIRST] = row
            opened[slot, LAST] = row
            opened[slot, COUNT] = 1
    way[POSITION] = slots.size
    return n_out


@njit(cache=True, nogil=True)
def _close(slot: int, minimum: int, opened: IntArray, kept: Any, out: IntArray, out_kept: Any, n_out: int) -> int:
    """Write what is open, unless it is too short, and forget it; how many are written now."""
    count = opened[slot, COUNT]
    opened[slot, COUNT] = 0
    if count < minimum:
        return n_out
    out[n_out, FIRST] = opened[slot, FIRST]
    out[n_out, LAST] = opened[slot, LAST]
    out[n_out, COUNT] = count
    for k in range(kept[0].shape[1]):
        out_kept[0][n_out, k] = kept[0][slot, k]
    for k in range(kept[1].shape[1]):
        out_kept[1][n_out, k] = kept[1][slot, k]
    for k in range(kept[2].shape[1]):
        out_kept[2][n_out, k] = kept[2][slot, k]
    for k in range(kept[3].shape[1]):
        out_kept[3][n_out, k] = kept[3][slot, k]
    return n_out + 1
