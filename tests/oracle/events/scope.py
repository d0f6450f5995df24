"""Where a query is evaluated: one partition, or one window of it.

Implements semantics.md, "WITHIN and windows". With SLIDE every window is a scope of its own that holds only
its events. Without SLIDE the partition is the scope and `reach` the length of the window a match must fit in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.events.event import Event, partitions
from tests.oracle.events.query import Query


@dataclass(frozen=True)
class Scope:
    """The events of one partition or window, by their position in the order of the partition.

    `rank` decides what follows what: the time with strict ties, the position with ties by sequence. `place`
    is what windows measure: time, or the position in a count window. `indices` point into the user's list.
    """

    partition: tuple[Any, ...]
    window: tuple[int, int] | None
    reach: int | None
    events: dict[int, Event]
    indices: dict[int, int]
    rank: dict[int, int]
    place: dict[int, int]
    memory: dict[Any, Any] = field(default_factory=dict)


def scopes(query: Query, events: Sequence[Event]) -> Iterator[Scope]:
    """Every partition, or with SLIDE every window of every partition that holds an event."""
    origin = query.origin
    if origin == "first":
        origin = min((event.ts for event in events), default=0)
    for partition, indices in partitions(events).items():
        whole = _whole_partition(query, events, partition, indices)
        if query.slide is not None:
            yield from (_cut(whole, window) for window in _time_windows(query, whole, origin))
        elif query.slide_events is not None:
            yield from (_cut(whole, window) for window in _count_windows(query, whole))
        else:
            yield whole


def _whole_partition(query: Query, events: Sequence[Event], partition: tuple, indices: list[int]) -> Scope:
    times = {position: events[i].ts for position, i in enumerate(indices)}
    positions = {position: position for position in times}
    return Scope(
        partition=partition,
        window=None,
        reach=query.within if query.within is not None else query.within_events,
        events={position: events[i] for position, i in enumerate(indices)},
        indices=dict(enumerate(indices)),
        rank=times if query.ties == "strict" else positions,
        place=positions if query.within_events is not None else times,
    )


def _time_windows(query: Query, whole: Scope, origin: int) -> list[tuple[int, int]]:
    numbers = set()
    for ts in whole.place.values():
        last = (ts - origin) // query.slide
        first = (ts - origin - query.within) // query.slide + 1
        numbers.update(range(first, last + 1))
    starts = (origin + k * query.slide for k in sorted(numbers))
    return [(start, start + query.within) for start in starts]


def _count_windows(query: Query, whole: Scope) -> list[tuple[int, int]]:
    starts = range(0, len(whole.events), query.slide_events)
    return [(start, start + query.within_events) for start in starts]


def _cut(whole: Scope, window: tuple[int, int]) -> Scope:
    inside = [position for position, place in whole.place.items() if window[0] <= place < window[1]]

    def keep(column: dict[int, Any]) -> dict[int, Any]:
        return {position: column[position] for position in inside}

    return Scope(
        partition=whole.partition,
        window=window,
        reach=None,
        events=keep(whole.events),
        indices=keep(whole.indices),
        rank=keep(whole.rank),
        place=keep(whole.place),
    )
