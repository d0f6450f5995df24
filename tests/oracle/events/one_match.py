"""What RETURN says about one match: semantics.md, "About one match".

A symbol's events are taken in the order of the events, by time and then by their sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.oracle.events.event import Event
from tests.oracle.events.matches import Match


def in_order(match: Match, events: Sequence[Event], symbol: str | None = None) -> list[int]:
    """The events of a symbol, or of all, as indices.

    >>> from tests.oracle.events.event import stream
    >>> in_order(Match((("A", 2), ("B", 1), ("A", 0))), stream("a1 b2 a3"), "A")
    [0, 2]
    """
    return sorted(set(match.event_indices(symbol)), key=lambda i: (events[i].ts, events[i].sequence))


def values(match: Match, events: Sequence[Event], symbol: str, column: str) -> list[Any]:
    """The array that a repeated symbol's column is."""
    return [events[i][column] for i in in_order(match, events, symbol)]


def first(found: Sequence[Any]) -> Any:
    """FIRST: NULL without events, and where the first one has NULL."""
    return found[0] if found else None


def last(found: Sequence[Any]) -> Any:
    """LAST, in the same way."""
    return found[-1] if found else None


def item(found: Sequence[Any], index: int) -> Any:
    """`a.x[0]`: counted from 0; what is not there is NULL."""
    return found[index] if 0 <= index < len(found) else None


def greatest(found: Sequence[Any]) -> Any:
    """array_max: NULL is left out."""
    return max((value for value in found if value is not None), default=None)
