"""The limit of matches in one partition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from eventide.errors import InputError
from eventide.kernels.arrays import IntArray


class TooManyMatchesError(Exception):
    """A partition, given by its number, has more matches than the limit."""

    def __init__(self, partition: int) -> None:
        super().__init__(partition)
        self.partition = partition


class Tally:
    """Counts the matches of each partition, up to a limit.

    >>> tally = Tally(2)
    >>> tally.add(np.array([0, 0, 1]))
    >>> tally.add(np.array([1, 1]))
    Traceback (most recent call last):
    ...
    eventide.operators.limit.TooManyMatchesError: 1
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._counts: dict[int, int] = {}

    def add(self, partitions: IntArray) -> None:
        """Count one match for each number of a partition; too many are an error."""
        if self._limit is None:
            return
        for number, total in self._totals(partitions):
            if total > self._limit:
                raise TooManyMatchesError(number)
            self._counts[number] = total

    def check(self, partitions: IntArray) -> None:
        """Count nothing; an error where there are far too many, of which some may turn out not to count."""
        if self._limit is None:
            return
        for number, total in self._totals(partitions):
            if total > 4 * self._limit:
                raise TooManyMatchesError(number)

    def _totals(self, partitions: IntArray) -> list[tuple[int, int]]:
        numbers, counts = np.unique(partitions, return_counts=True)
        both = zip(numbers.tolist(), counts.tolist(), strict=True)
        return [(number, self._counts.get(number, 0) + count) for number, count in both]


def too_many(block: pa.Table, names: Sequence[str], row: int, limit: int | None, what: str, hint: str) -> InputError:
    """The error about the partition of a block's row."""
    key = ", ".join(str(block.column(name)[row].as_py()) for name in names)
    where = f"the partition {key}" if names else "the input"
    return InputError(
        f"{where} has more than {limit:,} {what}", hint=f"bound them with {hint}, or raise max_matches_per_partition"
    )
