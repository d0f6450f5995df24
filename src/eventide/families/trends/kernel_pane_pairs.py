"""Pairs of a partition and a pane: how many events they have, and when."""

from __future__ import annotations

from typing import Any

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray


@njit(cache=True, nogil=True)
def mark_frequent(panes: IntArray, key: Any, least: int, counts: IntArray, out: Any) -> None:
    """Whether an event's pair has at least so many events; `counts` holds 0 for every partition."""
    for pane in range(panes.shape[0]):
        for r in range(panes[pane, 0], panes[pane, 1]):
            counts[key[r]] += 1
        for r in range(panes[pane, 0], panes[pane, 1]):
            out[r] = counts[key[r]] >= least
        for r in range(panes[pane, 0], panes[pane, 1]):
            counts[key[r]] = 0


@njit(cache=True, nogil=True)
def find_times(panes: IntArray, events: Any, pairs: Any, ends: Any, out: Any) -> None:
    """Fill `out` (first, last) with the times of each pair's first event and of the last that a symbol takes.

    `events` is (partition, time, letter) in order of time, `pairs` (partition, pane) in order of panes, `ends` the
    first and the last event of each partition: -1 before and after.
    """
    key, ts_us, letter = events
    pair_key, pair_pane = pairs
    first, last = ends
    p = 0
    for pane in range(panes.shape[0]):
        for r in range(panes[pane, 0], panes[pane, 1]):
            if first[key[r]] < 0:
                first[key[r]] = r
                last[key[r]] = -1
            if letter[r] >= 0:
                last[key[r]] = r
        while p < pair_key.size and pair_pane[p] == pane:
            out[0][p] = ts_us[first[pair_key[p]]]
            out[1][p] = ts_us[last[pair_key[p]]] if last[pair_key[p]] >= 0 else -(1 << 62)
            p += 1
        for r in range(panes[pane, 0], panes[pane, 1]):
            first[key[r]] = -1
