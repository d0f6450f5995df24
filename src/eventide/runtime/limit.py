"""The limit of matches in one partition: what a query says, or a default that stops an exponential enumeration.

By default a partition has at most `MATCHES` matches, or `MATCHES_PER_EVENT` for each of its events where that is more:
what grows with the events or with pairs of them in a window never comes near, what doubles with every event does soon.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from eventide.errors import InputError
from eventide.runtime.kernels.arrays import IntArray

MATCHES = 1_000_000
MATCHES_PER_EVENT = 10_000
UNLIMITED = (1 << 63) - 1  # in a spec: no limit, not even the default one


def default_most(n_events: int) -> int:
    """The most matches of a partition with so many events, where nothing else is said.

    >>> default_most(40), default_most(5_000)
    (1000000, 50000000)
    """
    return max(MATCHES, MATCHES_PER_EVENT * n_events)


def is_exact(most: int | None) -> bool:
    """Whether a spec's limit was asked for: it counts every match of a partition, wherever the matches are found."""
    return most is not None and most != UNLIMITED


def tighter(own: int | None, most: int | None) -> int | None:
    """A spec's own limit, unless the other one is lower: the default gives way to whatever is given.

    >>> tighter(None, 5), tighter(3, 5), tighter(UNLIMITED, 5), tighter(7, None)
    (5, 3, 5, 7)
    """
    if own is None or most is None:
        return most if own is None else own
    return min(own, most)


def limit_text(most: int | None) -> str:
    """What `explain` says of a spec's limit.

    >>> limit_text(5)
    '5 matches in a partition, as max_matches_per_partition says'
    """
    if most is None:
        each = f"{MATCHES:,} matches in a partition, {MATCHES_PER_EVENT:,} for each event where that is more"
        return f"{each}; max_matches_per_partition sets another"
    if most == UNLIMITED:
        return "none, as max_matches_per_partition says"
    return f"{most:,} matches in a partition, as max_matches_per_partition says"


class TooManyMatchesError(Exception):
    """A partition, given by its number, has more matches than its limit."""

    def __init__(self, partition: int, limit: int) -> None:
        super().__init__(partition, limit)
        self.partition = partition
        self.limit = limit


class Tally:
    """Counts the matches of each partition, up to a limit; partition i has the events from offsets[i] to offsets[i+1].

    >>> tally = Tally(2, np.array([0, 4, 9]))
    >>> tally.add(np.array([0, 0, 1]))
    >>> tally.add(np.array([1, 1]))
    Traceback (most recent call last):
    ...
    eventide.runtime.limit.TooManyMatchesError: (1, 2)
    """

    def __init__(self, most: int | None, offsets: IntArray) -> None:
        self._most, self.offsets = most, offsets
        self._counts: dict[int, int] = {}

    def add(self, partitions: IntArray) -> None:
        """Count one match for each number of a partition, in the order of a walk; too many are an error."""
        if is_exact(self._most):
            for number, total in self._totals(partitions):
                self._set(number, total)
        elif partitions.size:
            self.add_run(int(partitions[0]), int(partitions[-1]), partitions.size)

    def add_rows(self, rows: IntArray) -> None:
        """The same by places of events in the order of all events, one of each match."""
        if self._most != UNLIMITED and rows.size:
            looked_at = rows if is_exact(self._most) else rows[[0, -1]]
            numbers = np.searchsorted(self.offsets, looked_at, side="right") - 1
            if is_exact(self._most):
                self.add(numbers)
            else:
                self.add_run(int(numbers[0]), int(numbers[1]), rows.size)

    def add_run(self, first: int, last: int, n: int) -> None:
        """Count n matches of a walk by the partitions of its first and last one, for the default limit.

        Walks go from partition to partition, so what begins and ends in one is of that one. Matches at its borders are
        not counted: that costs nothing for each match, and a partition with too many has many such runs.
        """
        if first == last and self._most is None:
            self._set(first, self._counts.get(first, 0) + n)

    def check(self, partitions: IntArray) -> None:
        """Count nothing; an error where there are far too many, of which some may turn out not to count."""
        if self._most == UNLIMITED:
            return
        for number, total in self._totals(partitions):
            if total > 4 * self.limit_of(number):
                raise TooManyMatchesError(number, self.limit_of(number))

    def limit_of(self, partition: int) -> int:
        """The most matches of a partition."""
        if self._most is not None:
            return self._most
        return default_most(int(self.offsets[partition + 1] - self.offsets[partition]))

    def _set(self, number: int, total: int) -> None:
        if total > self.limit_of(number):
            raise TooManyMatchesError(number, self.limit_of(number))
        self._counts[number] = total

    def _totals(self, partitions: IntArray) -> list[tuple[int, int]]:
        numbers, counts = np.unique(partitions, return_counts=True)
        both = zip(numbers.tolist(), counts.tolist(), strict=True)
        return [(number, self._counts.get(number, 0) + count) for number, count in both]


def partition_text(block: pa.Table, names: Sequence[str], row: int) -> str:
    """What messages call the partition of a block's row."""
    key = ", ".join(str(block.column(name)[row].as_py()) for name in names)
    return f"the partition {key}" if names else "the input"


def too_many(block: pa.Table, names: Sequence[str], row: int, limit: int, what: str, hint: str) -> InputError:
    """The error about the partition of a block's row."""
    return InputError(
        f"{partition_text(block, names, row)} has more than {limit:,} {what}",
        hint=f"bound them with {hint}, or raise max_matches_per_partition",
    )
