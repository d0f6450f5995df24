"""Derives intervals from events: runs of events that meet conditions, and spans from a start to an end (D2IA, 3.1).

Goes in: events in an order that is right inside each partition, and what is open, by the slot of its partition.
Comes out: closed intervals, as rows of their first and last event, with their aggregates. One pass, one state a slot.
Conditions and aggregates are written into the loops: functions of arrays took twenty times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np  # noqa: F401 (generated code uses it)

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray

# What is open in a slot: rows of its first and last event, and how many events it has; 0: nothing is open. What is
# closed also has the row of the event that closed it.
FIRST, LAST, COUNT, BY = 0, 1, 2, 3
N_OPEN, N_CLOSED = 3, 4
# The limits of a run: how many events, and how far apart two of them may be.
MINIMUM, MAXIMUM, GAP_US = 0, 1, 2
# The way of a thread: the slots from LOW up to HIGH, the next POSITION, and where it must STOP.
LOW, HIGH, POSITION, STOP, N_WAY = 0, 1, 2, 3, 4
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
    kept_integers, kept_doubles, kept_counts, kept_rows = kept  # noqa: RUF059 (generated code reads them)
    out_integers, out_doubles, out_counts, out_rows = out_kept  # noqa: RUF059 (generated code reads them)
    integers, doubles, valid = cols  # noqa: RUF059 (generated code reads them)
    low, high = way[LOW], way[HIGH]
    minimum, maximum, gap_us = limits[MINIMUM], limits[MAXIMUM], limits[GAP_US]
    n_out = 0
    for position in range(way[POSITION], way[STOP]):
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
            first, last = opened[slot, FIRST], opened[slot, LAST]
            holds = allowed and ts_us[row] - ts_us[last] < gap_us
            if holds:
                # <generated: fold>
                # </generated>
                # <generated: goes_on>
                # </generated>
                pass
            if holds:
                # <generated: keep>
                # </generated>
                last = row
                count += 1
                opened[slot, LAST] = last
                opened[slot, COUNT] = count
            if not holds or count >= maximum:
                opened[slot, COUNT] = 0
                if count >= minimum:
                    out[n_out, FIRST] = first
                    out[n_out, LAST] = last
                    out[n_out, COUNT] = count
                    out[n_out, BY] = row
                    # <generated: write>
                    # </generated>
                    n_out += 1
            if holds:
                continue
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
                    opened[slot, COUNT] = 0
                    out[n_out, FIRST] = row
                    out[n_out, LAST] = row
                    out[n_out, COUNT] = 1
                    out[n_out, BY] = row
                    # <generated: write>
                    # </generated>
                    n_out += 1
    way[POSITION] = way[STOP]
    return n_out


@njit(cache=True, nogil=True)
def derive_spans(
    events: Any, limits: IntArray, way: IntArray, opened: IntArray, kept: Any, cols: Any, out: IntArray, out_kept: Any
) -> int:
    """Spans from the earliest open start to the next end; an excluded event discards what is open. As `derive_runs`."""
    slots, order, base, _, mask = events
    kept_integers, kept_doubles, kept_counts, kept_rows = kept  # noqa: RUF059 (generated code reads them)
    out_integers, out_doubles, out_counts, out_rows = out_kept  # noqa: RUF059 (generated code reads them)
    integers, doubles, valid = cols  # noqa: RUF059 (generated code reads them)
    low, high = way[LOW], way[HIGH]
    n_out = 0
    for position in range(way[POSITION], way[STOP]):
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
                out[n_out, FIRST] = opened[slot, FIRST]
                out[n_out, LAST] = row
                out[n_out, COUNT] = opened[slot, COUNT]
                out[n_out, BY] = row
                # <generated: write>
                # </generated>
                n_out += 1
                opened[slot, COUNT] = 0
        elif bits & STARTS:
            # <generated: fold_first>
            # </generated>
            # <generated: keep>
            # </generated>
            opened[slot, FIRST] = row
            opened[slot, LAST] = row
            opened[slot, COUNT] = 1
    way[POSITION] = way[STOP]
    return n_out
