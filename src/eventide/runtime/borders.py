"""Slices of time by where matches begin: a match belongs to the slice in which it begins, and may reach out of it.

After a match, matching goes on behind it, so where it goes on depends on all matches before. But two searches that
begin at different rows mostly come to the same row soon, and find the same from there on. A *border* is such a row:
from every row of a window some time before, matching comes to this one. So a slice can begin there without knowing what
came before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa

from eventide.runtime.block import MAX_US, MIN_US, within
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.protocol import Operator, Results
from eventide.runtime.slicing import Read, Region, Slicing, most_slices

AROUND = 3  # windows before a bound, and behind it, that are looked at for a border


@dataclass(frozen=True, slots=True)
class Place:
    """A row in the order of matching: its instant, and how many rows of the same instant come before it."""

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
    """The row at which one slice ends and the next one begins.

    Matches that begin at `place` or later look at no event before `from_us`. Matches that begin before `place` look at
    no event from `until_us` on.
    """

    place: Place
    from_us: int
    until_us: int


@dataclass(frozen=True, slots=True)
class Beginnings:
    """A slice: the matches that begin at the border `first` or later, and before the border `stop`.

    None instead of a border: from the first row on, or up to the last.
    """

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

    def run(self, operator: Operator, block: pa.Table) -> Results:
        """The rows of these matches."""
        assert isinstance(operator, RunsBeginnings)
        if block.num_rows:
            yield from operator.run_beginnings(block, self)

    def rows(self, ts_us: IntArray) -> tuple[int, int]:
        """The first row at which a match may begin, and the first behind it at which none may.

        `ts_us` are the times of all rows, in their order.
        """
        first = 0 if self.first is None else self.first.place.row(ts_us)
        return first, ts_us.size if self.stop is None else self.stop.place.row(ts_us)


@runtime_checkable
class RunsBeginnings(Protocol):
    """An operator that returns the matches which begin between two borders."""

    def run_beginnings(self, block: pa.Table, part: Beginnings) -> Results:
        """The matches of `part`; the block holds all events that these may look at."""


@dataclass(frozen=True, slots=True)
class NextRows:
    """For each row, the row at which matching goes on after an attempt there; known for the first `n_known` rows."""

    ts_us: IntArray
    next_row: IntArray
    n_known: int


@dataclass(frozen=True, slots=True)
class Reach:
    """What a match may look at: rows less than `window_us` apart, `back` rows before these and `ahead` behind."""

    window_us: int
    back: int = 0
    ahead: int = 0


# Of a block, where matching goes on after an attempt at each row before an instant; None where that costs too much.
FindNext: TypeAlias = Callable[[pa.Table, int], NextRows | None]


@dataclass(frozen=True)
class Borders(Slicing):
    """Parts that begin at borders. Fewer of them where a bound has no border close behind it."""

    reach: Reach
    next_rows: FindNext

    has_parts = True
    on_threads = True

    def count(self, n_events: int, n_slices: int, length_us: int) -> int:
        return most_slices(n_slices, length_us, 2 * AROUND * self.reach.window_us)

    def parts(self, bounds: Sequence[int], read: Read) -> list[Beginnings]:
        around_us = AROUND * self.reach.window_us
        regions: list[Region] = [(bound - around_us, bound + around_us) for bound in bounds]
        found = []
        for bound, (_, until_us), block in zip(bounds, regions, read(regions), strict=True):
            rows = self.next_rows(block, until_us) if block.num_rows else None
            found.append(None if rows is None else find_border(rows, bound, self.reach))
        borders = dict.fromkeys(border for border in found if border is not None)
        return [Beginnings(first, stop) for first, stop in pairwise((None, *borders, None))]


def find_border(rows: NextRows, bound_us: int, reach: Reach) -> Border | None:
    """The first row from `bound_us` on at which matching goes on; None if that depends on where matching came from.

    Here rows 2 and 3 are a match, and rows 3 and 4 would be one, too. From each of the rows 0, 1 and 2, matching comes
    to row 4. With a window of 100, matching may have been at any row:

    >>> rows = NextRows(np.array([0, 10, 20, 30, 40, 50, 60]), np.array([1, 2, 4, 5, 5, 6, 7]), 7)
    >>> find_border(rows, 30, Reach(window_us=15))
    Border(place=Place(us=40, rank=0), from_us=40, until_us=61)
    >>> find_border(rows, 20, Reach(window_us=100)) is None
    True
    """
    ts_us, n = rows.ts_us, rows.ts_us.size
    bound = int(np.searchsorted(ts_us, bound_us))
    # The first rows of the block lack rows before them, so attempts there may see PREV or the beginning otherwise.
    if reach.back >= n or rows.n_known < bound or bound >= n:
        return None
    # A match is shorter than a window, so matching goes on at some row of the first window, or at the first row behind.
    last = int(np.searchsorted(ts_us, ts_us[reach.back] + reach.window_us))
    goes_on = np.append(rows.next_row, n)
    goes_on[bound:] = np.arange(bound, n + 1)
    while not np.array_equal(further := goes_on[goes_on], goes_on):
        goes_on = further
    found = np.unique(goes_on[reach.back : last + 1])
    row = int(found[0])
    # A row behind the border's window shows that the window is complete; `ahead` more rows may be looked at.
    behind = int(np.searchsorted(ts_us, ts_us[min(row, n - 1)] + reach.window_us)) + reach.ahead
    if found.size > 1 or row < reach.back or behind >= n:
        return None
    us = int(ts_us[row])
    place = Place(us, row - int(np.searchsorted(ts_us, us)))
    return Border(place, int(ts_us[row - reach.back]), int(ts_us[behind]) + 1)
