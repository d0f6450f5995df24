"""Trends of long streams by recurrences over Python integers and fractions: no limit, no rounding.

In: events of one partition and window, in order of time. Out: number of trends, number of their events of type A,
and the sum of x over these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

Rows = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Totals:
    """Over a set of trends: how many, the events of type A in all of them, and the sum of their x."""

    trends: int = 0
    events: int = 0
    total: Fraction = Fraction(0)

    def __add__(self, other: Totals) -> Totals:
        return Totals(self.trends + other.trends, self.events + other.events, self.total + other.total)

    def then(self, x: Any) -> Totals:
        """Every trend longer by an event of type A."""
        add = Fraction(0) if x is None else Fraction(x)
        return Totals(self.trends, self.events + self.trends, self.total + self.trends * add)


ONE = Totals(trends=1)


def rounds(events: Rows) -> Totals:
    """`(SEQ(A+, B))+` under skip-till-any: two counters. Events with equal times do not see one another."""
    in_a = in_b = Totals()
    for _, tied in groupby(events, key=lambda event: event["ts"]):
        new_a, new_b = Totals(), Totals()
        for event in tied:
            if event["kind"] == "A":
                new_a += (ONE + in_a + in_b).then(event["x"])
            elif event["kind"] == "B":
                new_b += in_a
        in_a, in_b = in_a + new_a, in_b + new_b
    return in_b


def loop(events: Rows, holds: Callable[[Any, Any], bool], strategy: str = "any") -> Totals:
    """`A+` where `holds(x, next x)`: for each event the trends that end in it, from those it can follow."""
    ends: list[Totals] = []
    at = [event["ts"] for event in events]
    followed: list[int | None] = [None] * len(events)  # time of the earliest event that fits
    result = Totals()
    for i, event in enumerate(events):
        found = Totals()
        if event["kind"] == "A":
            found = ONE
            for j in range(i):
                fits = events[j]["kind"] == "A" and at[j] < at[i] and _is_true(holds, events[j]["x"], event["x"])
                if not fits:
                    continue
                if strategy != "any" and followed[j] not in (None, at[i]):
                    continue
                if strategy == "contiguous" and any(at[j] < time < at[i] for time in at[j + 1 : i]):
                    continue
                followed[j] = at[i]
                found += ends[j]
            found = found.then(event["x"])
        ends.append(found)
        result += found
    return result


def _is_true(holds: Callable[[Any, Any], bool], before: Any, after: Any) -> bool:
    return before is not None and after is not None and holds(before, after)


def windows(events: Rows, within: int, slide: int) -> Iterator[tuple[int, int, list[dict[str, Any]]]]:
    """Every window of time that holds an event, with its events."""
    numbers = {k for event in events for k in range((event["ts"] - within) // slide + 1, event["ts"] // slide + 1)}
    for k in sorted(numbers):
        start = k * slide
        yield start, start + within, [event for event in events if start <= event["ts"] < start + within]
