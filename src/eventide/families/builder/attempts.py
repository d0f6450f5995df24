"""Which builder patterns can be matched in slices of time, and where they would go on after each event."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from eventide.families.builder.spec import DetectionSpec
from eventide.runtime.block import TS, numpy_int64
from eventide.runtime.borders import Borders, NextRows, Reach
from eventide.runtime.limit import is_exact
from eventide.runtime.row_order import order_rows
from eventide.runtime.slicing import NEEDS_EVENTS


def slicing_of(spec: DetectionSpec) -> Borders | str:
    """Parts by where matches begin; text where a match depends on more than its own events.

    With a skip strategy it does: whether what a match skips times out first depends on attempts that began earlier.
    """
    is_whole = spec.gap_us is not None or spec.layout.partition or is_exact(spec.max_matches) or spec.skip != "no_skip"
    if spec.window_us is None or is_whole:
        return NEEDS_EVENTS
    return Borders(Reach(spec.window_us), partial(next_rows, spec))


def next_rows(spec: DetectionSpec, block: pa.Table, frontier_us: int) -> NextRows:
    """Matching goes on with the next event, whatever was found before the frontier."""
    ordered = order_rows(block, (), spec.order, spec.tie_columns)
    ts_us = numpy_int64(block.column(TS))[ordered.order]
    return NextRows(ts_us, np.arange(1, ts_us.size + 1), ts_us.size)
