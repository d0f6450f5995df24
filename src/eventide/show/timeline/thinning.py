"""Fewer elements than a browser can bear, with the same outline: ticks, bars, lines; and rows for what overlaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from eventide.show.timeline.model import Times

Floats = NDArray[np.float64]


def every_nth(ts_us: Times, limit: int) -> tuple[Times, int]:
    """At most so many instants, in order, and the n of "every n-th".

    >>> every_nth(np.arange(10), 4)
    (array([0, 3, 6, 9]), 3)
    """
    n = max(1, -(-ts_us.size // limit))
    return np.sort(ts_us)[::n], n


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars to draw, in order of time: the first and last interval of each, and the row it stands in."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    row: NDArray[np.int64]


def rows_of(starts: Iterable[float], ends: Iterable[float]) -> list[int]:
    """The lowest free row for each interval in turn, so that none overlap; starts ascend. A row is free at its end.

    >>> rows_of([0, 1, 2, 5], [5, 2, 3, 6])
    [0, 1, 1, 0]
    """
    rows: list[int] = []
    busy: list[tuple[float, int]] = []
    free: list[int] = []
    n_rows = 0
    for start, end in zip(starts, ends, strict=True):
        while busy and busy[0][0] <= start:
            heappush(free, heappop(busy)[1])
        row = heappop(free) if free else n_rows
        n_rows = max(n_rows, row + 1)
        heappush(busy, (end, row))
        rows.append(row)
    return rows


def join_bars(starts: Floats, ends: Floats, rows: NDArray[np.int64], limit: int) -> Bars:
    """At most so many bars in all rows: across the narrowest gaps, neighbours of a row become one bar.

    >>> join_bars(np.array([0.0, 2.0, 9.0]), np.array([1.0, 3.0, 9.5]), np.zeros(3, int), 2)
    Bars(first=array([0, 2]), last=array([1, 2]), row=array([0, 0]))
    """
    order = np.lexsort((starts, rows))
    by_row = rows[order]
    is_first = np.ones(order.size, dtype=bool)
    if order.size > limit:
        is_first[1:] = np.diff(by_row) != 0
        gaps = np.where(is_first[1:], -1.0, starts[order][1:] - ends[order][:-1])
        n_kept = max(0, limit - int(is_first.sum()))
        if n_kept:
            is_first[1 + np.argsort(-gaps, kind="stable")[:n_kept]] = True
    begins = np.flatnonzero(is_first)
    lasts = np.append(begins[1:], order.size) - 1
    return Bars(order[begins], order[lasts], by_row[begins])


def outline(x: Floats, y: Floats, n_buckets: int) -> tuple[Floats, Floats]:
    """The lowest and the highest point of each of so many stretches, in order: peaks stay; NaN stays where all is NaN.

    >>> outline(np.arange(6.0), np.array([1.0, 9, 2, 3, 0, 3]), 2)
    (array([0., 1., 3., 4.]), array([1., 9., 3., 0.]))
    """
    if x.size <= 2 * n_buckets:
        return x, y
    span = x[-1] - x[0]
    share = (x - x[0]) / span if span > 0 else np.zeros_like(x)
    bucket = np.minimum((share * n_buckets).astype(np.int64), n_buckets - 1)
    begins = np.flatnonzero(np.diff(bucket, prepend=-1))
    kept: set[int] = set()
    for begin, end in zip(begins, np.append(begins[1:], x.size), strict=True):
        part = y[begin:end]
        if np.isnan(part).all():
            kept.add(int(begin))
        else:
            kept |= {int(begin + np.nanargmin(part)), int(begin + np.nanargmax(part))}
    chosen = np.array(sorted(kept))
    return x[chosen], y[chosen]
