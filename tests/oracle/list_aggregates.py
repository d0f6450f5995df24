"""Aggregates that look at all values at once, from their definitions, with Spark's rules for NULL.

Values stand in the order of their events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any


def present(values: Sequence[Any]) -> list[Any]:
    """All but NULL."""
    return [value for value in values if value is not None]


def distinct(values: Sequence[Any]) -> list[Any]:
    """Each value at its first place."""
    return list(dict.fromkeys(values))


def count_distinct(*columns: Sequence[Any]) -> int:
    """How many different rows have no NULL.

    >>> count_distinct([1, 1, None, 2], [3, 3, 3, None])
    1
    """
    return len({row for row in zip(*columns, strict=True) if None not in row})


def total(values: Sequence[Any]) -> Any:
    """The sum; of none NULL."""
    return sum(present(values)) if present(values) else None


def mean(values: Sequence[Any]) -> Any:
    """The average; of none NULL."""
    return Fraction(sum(present(values)), len(present(values))) if present(values) else None


def percentile(values: Sequence[Any], fraction: Fraction, *, descending: bool = False) -> Any:
    """Between the values on both sides of the place `fraction` of the way.

    >>> percentile([4, None, 1], Fraction(1, 2))
    Fraction(5, 2)
    """
    ordered = sorted(present(values), reverse=descending)
    if not ordered:
        return None
    place = (len(ordered) - 1) * fraction
    low, high = ordered[floor(place)], ordered[ceil(place)]
    return low + (place - floor(place)) * (high - low)


def percentile_disc(values: Sequence[Any], fraction: Fraction) -> Any:
    """The first value that at least `fraction` of all are not greater than."""
    ordered = sorted(present(values))
    return ordered[max(ceil(fraction * len(ordered)), 1) - 1] if ordered else None


def mode(values: Sequence[Any]) -> Any:
    """The most frequent value, of several the least."""
    counts = Counter(present(values))
    return min(value for value in counts if counts[value] == max(counts.values())) if counts else None


def joined(values: Sequence[Any], separator: str) -> Any:
    """Strings one after the other; of none NULL."""
    return separator.join(present(values)) if present(values) else None
