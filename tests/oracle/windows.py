"""Windowed aggregation by its definitions: windows are listed, each takes the events that lie in it.

Events are dicts with a time "ts" in whole numbers; a group is a list of such events. A window is (start, end, events)
with the end outside it; one without an event does not exist, unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.oracle.situations_aggregates import aggregate

Event = dict[str, Any]
Window = tuple[int, int, list[Event]]


def groups(events: Iterable[Event], by: Sequence[str]) -> dict[tuple[Any, ...], list[Event]]:
    """The events by their values in some columns; NULL is a value like others."""
    found: dict[tuple[Any, ...], list[Event]] = {}
    for event in events:
        found.setdefault(tuple(event[name] for name in by), []).append(event)
    return found


def hopping(events: Sequence[Event], size: int, slide: int, origin: int = 0, *, empty: bool = False) -> list[Window]:
    """Windows `[origin + k * slide, origin + k * slide + size)` of a group that hold an event.

    With `empty` also those without an event, between the first and the last with one.
    """
    if not events:
        return []
    first = (min(event["ts"] for event in events) - origin - size) // slide
    last = (max(event["ts"] for event in events) - origin) // slide
    starts = [origin + k * slide for k in range(first, last + 1)]
    return _filled(events, [(start, start + size) for start in starts], empty)


def cumulating(
    events: Sequence[Event], longest: int, step: int, origin: int = 0, *, empty: bool = False
) -> list[Window]:
    """Windows that begin every `longest` and end after each `step` of it."""
    if not events:
        return []
    first = (min(event["ts"] for event in events) - origin) // longest
    last = (max(event["ts"] for event in events) - origin) // longest
    starts = [origin + k * longest for k in range(first, last + 1)]
    ends = range(step, longest + 1, step)
    return _filled(events, [(start, start + end) for start in starts for end in ends], empty)


def _filled(events: Sequence[Event], windows: Sequence[tuple[int, int]], empty: bool) -> list[Window]:
    held = [(start, end, [e for e in events if start <= e["ts"] < end]) for start, end in windows]
    if not empty:
        return [window for window in held if window[2]]
    filled = [i for i, window in enumerate(held) if window[2]]
    return held[filled[0] : filled[-1] + 1] if filled else []


def sessions(events: Sequence[Event], gap: int) -> list[Window]:
    """Runs of events of a group in which each comes less than the gap after the one before it."""
    found: list[list[Event]] = []
    for event in sorted(events, key=lambda e: e["ts"]):
        if found and event["ts"] - found[-1][-1]["ts"] < gap:
            found[-1].append(event)
        else:
            found.append([event])
    return [(run[0]["ts"], run[-1]["ts"] + gap, run) for run in found]


def counting(events: Sequence[Event], size: int, slide: int, tie: Sequence[str]) -> list[Window]:
    """Windows of positions `[k * slide, k * slide + size)`, k from 0 on; the last ones may be incomplete.

    Positions follow time, then the `tie` columns, NULLs first.
    """
    ordered = sorted(events, key=lambda e: (e["ts"], [(e[name] is not None, e[name]) for name in tie]))
    return [(at, at + size, ordered[at : at + size]) for at in range(0, len(ordered), slide)]


def value(
    function: str, window: Window, column: str | None = None, other: str | None = None, *, ordered: bool = False
) -> Any:
    """An aggregate over a window's events; where they are not `ordered`, ties of time are broken by the value."""
    events = window[2]
    if column is None:
        return len(events)
    if not ordered:
        events = sorted(events, key=lambda e: (e["ts"], e[column] is not None, e[column]))
    values = [event[column] for event in events]
    return aggregate(function, values, [event[other] for event in events] if other is not None else ())


Step = tuple[list[Event], int | None]  # events that come, and the instant that time has come to when they are there
Early = tuple[int, tuple[Any, ...], Window]  # an instant, a group, and a window so far


def early(steps: Sequence[Step], by: Sequence[str], windows: Any, every: int) -> list[Early]:
    """The early rows of EMIT EVERY; `windows` lists those of a group's events.

    An event before the instant that time has come to is late. A window is over when time has come to its end. When time
    begins, nothing is returned early.
    """
    found: list[Early] = []
    seen: list[Event] = []
    new: list[Event] = []  # since the last multiple of the interval
    now: int | None = None
    multiple: int | None = None
    for events, next_now in steps:
        in_time = [event for event in events if now is None or event["ts"] >= now]
        seen, new = [*seen, *in_time], [*new, *in_time]
        if next_now is None:
            continue
        now = next_now
        reached = now // every * every
        if multiple is not None and reached <= multiple:
            continue
        for group, mine in groups(seen, by).items() if multiple is not None else ():
            for window in windows(mine):
                if window[1] > now and any(event is other for event in window[2] for other in new):
                    found.append((reached, group, window))
        multiple, new = reached, [] if multiple is not None else new
    return found
