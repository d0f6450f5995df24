"""Where a pattern is matched: whole partitions, or with SLIDE every window of every partition.

Events are sorted, so a scope is a range of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from eventide.families.events.kernel_places import NEVER, PARTITION, SCOPE_SIZE, START_HI, START_LO
from eventide.families.events.spec import PatternSpec
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.ordered import Ordered
from eventide.runtime.windows import Slide


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
    for k, column in ((0, lo), (1, hi), (4, ends), (PARTITION, partition), (START_LO, lo), (START_HI, hi)):
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


def share_scopes(scopes: IntArray, n_shares: int) -> list[IntArray]:
    """The scopes in shares with about the same number of events each; a partition is never shared."""
    total = np.cumsum(scopes[:, 1] - scopes[:, 0])
    wanted = np.linspace(0, total[-1] if total.size else 0, n_shares + 1)[1:-1]
    borders = {0, len(scopes)}
    for border in np.searchsorted(total, wanted).tolist():
        while 0 < border < len(scopes) and scopes[border, PARTITION] == scopes[border - 1, PARTITION]:
            border += 1
        borders.add(border)
    return [scopes[a:b] for a, b in pairwise(sorted(borders)) if a < b]


def cut_scopes(scopes: IntArray, ts_us: IntArray, reach_us: int, n_rows: int) -> Iterator[IntArray]:
    """Pieces in which matches begin at about `n_rows` rows: some scopes, or a part of one.

    A part is at least as long as what a match that begins in it may reach, so that this is seldom looked at twice.
    """
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(scopes[:, 1] - scopes[:, 0])])
    at = 0
    while at < len(scopes):
        stop = max(at + 1, int(np.searchsorted(total, total[at] + n_rows, side="right")) - 1)
        if total[stop] - total[at] <= n_rows:
            yield scopes[at:stop]
        else:
            yield from _parts(scopes[at], ts_us, reach_us, n_rows)
        at = stop


def _parts(scope: IntArray, ts_us: IntArray, reach_us: int, n_rows: int) -> Iterator[IntArray]:
    start, stop = int(scope[START_LO]), int(scope[START_HI])
    while start < stop:
        end = min(stop, start + n_rows)
        if reach_us < NEVER:
            end = max(end, start + int(np.searchsorted(ts_us[start:stop], ts_us[start] + reach_us)))
        else:
            end = stop
        piece = scope[np.newaxis].copy()
        piece[0, START_LO], piece[0, START_HI] = start, end
        yield piece
        start = end


def needed_starts(scopes: IntArray, ts_us: IntArray, reach_us: int, n_windows: int) -> IntArray:
    """The scopes with the rows that lie so many windows before or behind the rows in which their matches begin."""
    wider = scopes.copy()
    if reach_us >= NEVER:
        wider[:, START_LO], wider[:, START_HI] = scopes[:, 0], scopes[:, 1]
        return wider
    for i in np.flatnonzero((scopes[:, START_LO] > scopes[:, 0]) | (scopes[:, START_HI] < scopes[:, 1])).tolist():
        lo, hi, start, stop = scopes[i, [0, 1, START_LO, START_HI]].tolist()
        before_us, behind_us = ts_us[start] - n_windows * reach_us, ts_us[stop - 1] + max(1, n_windows) * reach_us
        if n_windows:
            wider[i, START_LO] = lo + np.searchsorted(ts_us[lo:start], before_us, side="right")
        wider[i, START_HI] = stop + np.searchsorted(ts_us[stop:hi], behind_us)
    return wider
