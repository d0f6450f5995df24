"""Slices of time by where matches begin: each may look at what lies before and behind, and none is in two slices.

Where matching goes on depends on the matches before. But what two searches find is soon the same, wherever they began:
a border is a place at which matching goes on from wherever it may have stood a few windows before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from eventide.runtime.block import MAX_US, MIN_US, within
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.protocol import Results


@dataclass(frozen=True, slots=True)
class Place:
    """A row, in the order of matching: that behind `rank` others of its instant."""

    us: int
    rank: int

    def row(self, ts_us: IntArray) -> int:
        """Its number.

        >>> Place(20, 1).row(np.array([10, 20, 20, 30]))
        2
        """
        return int(np.searchsorted(ts_us, self.us)) + self.rank


@dataclass(frozen=True, slots=True)
class Border:
    """A place at which matching goes on, the first instant that matches behind it may look at, and the first one that
    those which begin before it do not."""

    place: Place
    from_us: int
    until_us: int


@dataclass(frozen=True, slots=True)
class Beginnings:
    """The matches that begin from a border on and before another; None: from the first row on, up to the last."""

    first: Border | None
    stop: Border | None

    @property
    def from_us(self) -> int:
        return MIN_US if self.first is None else self.first.from_us

    @property
    def until_us(self) -> int:
        return MAX_US if self.stop is None else self.stop.until_us

    def cut(self, block: pa.Table) -> pa.Table:
        """The events that these matches may look at."""
        return within(block, self.from_us, self.until_us)

    def rows(self, ts_us: IntArray) -> tuple[int, int]:
        """The first row at which one may begin, and the first at which none may; `ts_us` is in row order."""
        first = 0 if self.first is None else self.first.place.row(ts_us)
        return first, ts_us.size if self.stop is None else self.stop.place.row(ts_us)


@runtime_checkable
class RunsBeginnings(Protocol):
    """An operator that returns the matches which begin between two borders."""

    def run_beginnings(self, block: pa.Table, part: Beginnings) -> Results:
        """Those matches, of a block that holds what they may look at."""


@dataclass(frozen=True, slots=True)
class NextRows:
    """For each row, in order, where matching goes on after an attempt there; known of the first `n_known` rows."""

    ts_us: IntArray
    next_row: IntArray
    n_known: int


@dataclass(frozen=True, slots=True)
class Reach:
    """All rows of a match are less than `window_us` apart; it may look at `back` rows before and `ahead` behind it."""

    window_us: int
    back: int = 0
    ahead: int = 0


def between(borders: Sequence[Border]) -> list[Beginnings]:
    """All matches, cut at the borders."""
    return [Beginnings(first, stop) for first, stop in pairwise((None, *borders, None))]


def find_border(rows: NextRows, bound_us: int, reach: Reach) -> Border | None:
    """The first place from `bound_us` on at which matching goes on, if that is the same wherever it came from.

    Here rows 2 and 3 are a match, and so would be 3 and 4:

    >>> rows = NextRows(np.array([0, 10, 20, 30, 40, 50, 60]), np.array([1, 2, 4, 5, 5, 6, 7]), 7)
    >>> find_border(rows, 30, Reach(window_us=15))
    Border(place=Place(us=40, rank=0), from_us=40, until_us=61)
    >>> find_border(rows, 20, Reach(window_us=100)) is None
    True
    """
    ts_us, n = rows.ts_us, rows.ts_us.size
    bound = int(np.searchsorted(ts_us, bound_us))
    # With fewer rows before it, PREV and the beginning of all rows would not be seen as they are.
    if reach.back >= n or rows.n_known < bound or bound >= n:
        return None
    # Of any window in which there are rows, matching goes on at one, or at the first one behind it.
    last = int(np.searchsorted(ts_us, ts_us[reach.back] + reach.window_us))
    goes_on = np.append(rows.next_row, n)
    goes_on[bound:] = np.arange(bound, n + 1)
    while not np.array_equal(further := goes_on[goes_on], goes_on):
        goes_on = further
    found = np.unique(goes_on[reach.back : last + 1])
    row = int(found[0])
    # Rows behind the window tell that there are more; those ahead may be looked at.
    behind = int(np.searchsorted(ts_us, ts_us[min(row, n - 1)] + reach.window_us)) + reach.ahead
    if found.size > 1 or row < reach.back or behind >= n:
        return None
    us = int(ts_us[row])
    place = Place(us, row - int(np.searchsorted(ts_us, us)))
    return Border(place, int(ts_us[row - reach.back]), int(ts_us[behind]) + 1)
