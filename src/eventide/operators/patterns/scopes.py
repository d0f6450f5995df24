"""Where a pattern is matched: whole partitions, or with SLIDE every window of every partition.

Events are sorted, so a scope is a range of rows.
"""

from __future__ import annotations

import numpy as np

from eventide.kernels.arrays import IntArray
from eventide.kernels.pattern_places import NEVER, SCOPE_SIZE
from eventide.operators.ordered import Ordered
from eventide.operators.patterns.spec import PatternSpec
from eventide.operators.windows import Slide


def make_scopes(spec: PatternSpec, ordered: Ordered, newer_than_us: int) -> IntArray:
    """One row per scope in which something may be decided after `newer_than_us`; see SCOPE_SIZE for its columns."""
    # A dictionary may hold partitions that have no event here.
    partition = np.flatnonzero(np.diff(ordered.offsets))
    lo, hi = ordered.offsets[partition], ordered.offsets[partition + 1]
    ends = np.full(lo.size, NEVER, dtype=np.int64)
    if spec.slide is not None:
        lo, hi, ends, partition = _windows(spec.slide, ordered, partition.tolist())
    newest_us = ordered.ts_us[hi - 1] if hi.size else np.empty(0, np.int64)
    last_us = newest_us + min(spec.delay_us, NEVER // 2)
    if spec.slide is not None and spec.program.waits:
        last_us = ends - 1
    open_ = last_us > newer_than_us
    scopes = np.zeros((int(open_.sum()), SCOPE_SIZE), dtype=np.int64)
    for k, column in ((0, lo), (1, hi), (4, ends), (5, partition)):
        scopes[:, k] = column[open_]
    return scopes


def _windows(slide: Slide, ordered: Ordered, partitions: list[int]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """First row, end, end of window, partition of every window that holds an event."""
    found: list[tuple[IntArray, IntArray, IntArray, IntArray]] = []
    for p in partitions:
        start, stop = int(ordered.offsets[p]), int(ordered.offsets[p + 1])
        ts_us = ordered.ts_us[start:stop]
        newest = (ts_us - slide.origin_us) // slide.slide_us
        oldest = (ts_us - slide.origin_us - slide.length_us) // slide.slide_us + 1
        runs = [np.arange(a, b + 1) for a, b in zip(oldest.tolist(), newest.tolist(), strict=True)]
        begins = slide.origin_us + np.unique(np.concatenate(runs)) * slide.slide_us
        lo = start + np.searchsorted(ts_us, begins)
        hi = start + np.searchsorted(ts_us, begins + slide.length_us)
        found.append((lo, hi, begins + slide.length_us, np.full(begins.size, p, dtype=np.int64)))
    if not found:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing, nothing
    lo, hi, ends, partition = (np.concatenate(column) for column in zip(*found, strict=True))
    return lo, hi, ends, partition
