"""Where MATCH_RECOGNIZE would go on after an attempt at each row: what tells borders at which slices may begin."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from eventide.families.rows.kernel_places import NEXT_ROW
from eventide.families.rows.progress import Progress
from eventide.families.rows.spec import RowsSpec
from eventide.families.rows.walk import Search, Walk, load_kernel, times_in_order
from eventide.runtime.borders import Borders, NextRows, Reach
from eventide.runtime.effort import TooManyStepsError
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.marked import Held
from eventide.runtime.measures import Found
from eventide.runtime.row_order import order_rows

MOST_TAKEN = 8  # rows of matches for each row: more would cost more than slices gain


def why_whole(spec: RowsSpec) -> str | None:
    """Why the rows are not cut by time: a match depends on more than where matching goes on."""
    if spec.layout.partition:
        return "partitions are worked off apart"
    if spec.window_us is None:
        return "without WITHIN a match may have any length"
    if spec.ttl_us is not None:
        return "state_ttl ends what has begun anywhere"
    if spec.shows_number:
        return "MATCH_NUMBER() counts all matches"
    if spec.interpreted:
        return "a condition is evaluated row by row"
    if spec.rows == "all with unmatched" and spec.skip != "past last":
        return "rows without a match are shown, and matches may overlap"
    return None


def slicing_of(spec: RowsSpec) -> Borders | str:
    """Parts by where matches begin; or why the rows are not cut."""
    why = why_whole(spec)
    if why is not None or spec.window_us is None:
        return str(why)
    return Borders(Reach(spec.window_us, spec.n_kept, spec.ahead), partial(next_rows, spec))


def next_rows(spec: RowsSpec, block: pa.Table, frontier_us: int) -> NextRows | None:
    """Of all rows before an instant; None where that costs too much, or an attempt there would fail."""
    ordered = order_rows(block, (), spec.order, spec.tie_columns)
    ts_us = times_in_order(spec, block, ordered.order, 1)
    n = ts_us.size
    goes_on = np.arange(1, n + 1)
    if spec.skip == "next" or not n:
        return NextRows(ts_us, goes_on, n)
    progress = Progress.of(Held(block, ()), ordered, np.ones(1, dtype=np.bool_))
    search = Search.of(replace(spec, skip="next"), block, ordered, ts_us, progress.table, frontier_us, 1)
    walk, kernel, n_taken = Walk(search, 0, 1), load_kernel(spec), 0
    while not walk.is_done and n_taken <= MOST_TAKEN * n:
        try:
            found = walk.step(kernel)
        except (OverflowError, TooManyStepsError):
            return None
        if found is None:
            continue
        length = _skipped(spec, found)
        if length is None:
            return None
        goes_on[found.first] = found.first + length
        n_taken += found.labels.size
    return NextRows(ts_us, goes_on, int(progress.table[0, NEXT_ROW])) if walk.is_done else None


def _skipped(spec: RowsSpec, found: Found) -> IntArray | None:
    """How many rows from its first one on a match skips; None where one has no row to skip to, or it is the first."""
    if spec.skip == "past last":
        return np.maximum(found.length, 1)
    skipped = np.ones(found.first.size, dtype=np.int64)
    _, match, depth = found.spread()
    is_member = np.isin(found.labels, spec.skip_members)
    match, depth = match[is_member], depth[is_member]
    if spec.skip == "first":
        match, depth = match[::-1], depth[::-1]
    target = np.zeros(found.first.size, dtype=np.int64)
    target[match] = depth  # of several, the last one stays
    is_some = found.length > 0
    skipped[is_some] = target[is_some]
    return skipped if skipped.all() else None
