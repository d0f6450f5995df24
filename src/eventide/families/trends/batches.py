"""Scopes that share events, in batches that are walked at once: each scope has a lane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eventide.runtime.kernels.arrays import IntArray

LEAST_LANES = 16  # of scopes that overlap: with fewer, an event is walked in more batches than it need be
MOST_LANES = 64  # beyond, the walk is a small part of the work, and the records leave the processor's caches
MOST_BYTES = 1 << 27  # of the records of a batch


@dataclass(frozen=True, slots=True)
class Batches:
    """`scopes` are those that differ, `of_scope` finds each among them, `borders` are the first scopes of the batches,
    `rows` the ranges of rows that these hold."""

    scopes: IntArray
    of_scope: IntArray
    borders: IntArray
    rows: IntArray
    n_lanes: int

    @property
    def starts(self) -> IntArray:
        """Where the rows of each batch begin when those of all batches stand one after the other; and their number."""
        sizes = self.rows[:, 1] - self.rows[:, 0]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def of_rows(self, n_rows: int) -> tuple[IntArray, IntArray]:
        """The first and the last batch that holds each row."""
        rows = np.arange(n_rows)
        first = np.searchsorted(self.rows[:, 1], rows, side="right").astype(np.int64)
        last = np.searchsorted(self.rows[:, 0], rows, side="right").astype(np.int64) - 1
        return first, last


def make_batches(scopes: IntArray, size_bytes: Callable[[int, int], int] | None = None) -> Batches:
    """Batches of scopes, which stand in order; `size_bytes` is what a batch takes, of rows and lanes.

    Without it every scope is a batch of its own.
    """
    is_first = np.ones(len(scopes), dtype=np.bool_)
    is_first[1:] = (scopes[1:] != scopes[:-1]).any(axis=1)
    distinct = np.ascontiguousarray(scopes[is_first])
    lo, hi = distinct[:, 0], distinct[:, 1]
    depth = int((np.arange(lo.size) - np.searchsorted(hi, lo, side="right") + 1).max())
    n_lanes = 1 if depth == 1 or size_bytes is None else min(max(depth, LEAST_LANES), MOST_LANES)
    # Scopes that share events with the one before stand in its batch, up to the number of lanes.
    begins = np.ones(lo.size, dtype=np.bool_)
    begins[1:] = lo[1:] >= hi[:-1]
    at = np.flatnonzero(begins)
    within = np.arange(lo.size) - np.repeat(at, np.diff([*at, lo.size]))
    while True:
        borders = np.append(np.flatnonzero(within % n_lanes == 0), lo.size)
        rows = np.stack([lo[borders[:-1]], hi[borders[1:] - 1]], axis=1)
        if (
            n_lanes == 1
            or size_bytes is None
            or size_bytes(int((rows[:, 1] - rows[:, 0]).max()), n_lanes) <= MOST_BYTES
        ):
            return Batches(distinct, np.cumsum(is_first) - 1, borders, rows, n_lanes)
        n_lanes //= 2
