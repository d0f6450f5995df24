"""Where a builder pattern would go on after a match that begins at each event."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from eventide.operators.block import TS, numpy_int64
from eventide.operators.borders import NextRows, Reach
from eventide.operators.detection.partial import PartialMatches, make_progress
from eventide.operators.detection.spec import DetectionSpec
from eventide.operators.detection.walk import Search, Walk, load_kernel
from eventide.operators.limit import is_exact
from eventide.operators.marked import Held
from eventide.operators.rows.order import order_rows

MOST_TAKEN = 8  # events of matches for each event: more would cost more than slices gain


def reach_of(spec: DetectionSpec) -> Reach | None:
    """What a match may look at; None where a match depends on more than where matching goes on."""
    if spec.window_us is None or spec.gap_us is not None or spec.layout.partition or is_exact(spec.max_matches):
        return None
    # A match without the event to skip to skips nothing: then several begin at one event. With "next", what else began
    # at the event of a match times out or not by what was held before it.
    return Reach(spec.window_us) if spec.skip in ("no_skip", "past_last") else None


def next_rows(spec: DetectionSpec, block: pa.Table, frontier_us: int) -> NextRows | None:
    """Of all events whose window has ended by an instant; None where that costs too much, or a condition fails."""
    ordered = order_rows(block, (), spec.order, spec.tie_columns)
    ts_us = numpy_int64(block.column(TS))[ordered.order]
    n = ts_us.size
    goes_on = np.arange(1, n + 1)
    if spec.skip == "no_skip" or not n:
        return NextRows(ts_us, goes_on, n)
    assert spec.window_us is not None
    progress = make_progress(Held(block, ()), ordered, is_open=True)
    saved = PartialMatches.none().arrays
    search = Search.of(replace(spec, skip="next"), block, ordered, progress, saved, frontier_us - 1, 1)
    walk, kernel, n_taken = Walk(search, ordered.offsets, 0, 1), load_kernel(spec), 0
    while not walk.is_done and n_taken <= MOST_TAKEN * n:
        try:
            walk.step(kernel)
        except OverflowError:
            return None
        for found in walk.found():
            is_match = found.is_timeout == 0
            first = found.positions[found.ends - found.counts][is_match]
            goes_on[first] = found.positions[found.ends - 1][is_match] + 1
            n_taken += found.positions.size
    n_known = int(np.searchsorted(ts_us, frontier_us - spec.window_us))
    return NextRows(ts_us, goes_on, n_known) if walk.is_done else None
