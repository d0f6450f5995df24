"""Derived intervals by their definitions, event by event in plain Python.

A conjunct is a Python function of one of three kinds: "absolute" of the event; "relative" of the run before the event
and the event; "aggregate" of the run with the event in it. None is "not satisfied". An interval is a list of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Event = dict[str, Any]


@dataclass(frozen=True)
class Conjunct:
    """One condition; "relative" takes (run, event), "absolute" the event, "aggregate" the events of the run."""

    kind: str
    holds: Callable[..., bool | None]

    def is_met(self, run: Sequence[Event], event: Event) -> bool:
        """Whether the event may be added to the run, which may be empty."""
        if self.kind == "absolute":
            return self.holds(event) is True
        if self.kind == "aggregate":
            return self.holds([*run, event]) is True
        # The first event of a run has nothing to relate to.
        return not run or self.holds(list(run), event) is True


def ordered(events: Iterable[Event], sequence: str | None, read: Sequence[str]) -> list[Event]:
    """By time, then by the sequence, then by the columns that are read; NULLs first."""
    names = [*([sequence] if sequence else []), *read]
    return sorted(events, key=lambda e: (e["ts"], [(e[name] is not None, e[name]) for name in names]))


def partitions(events: Iterable[Event], key: str | None) -> list[list[Event]]:
    """The events by key; NULL is a key of its own."""
    found: dict[Any, list[Event]] = {}
    for event in events:
        found.setdefault(None if key is None else (event[key],), []).append(event)
    return list(found.values())


def homogeneous(
    events: Sequence[Event],
    conjuncts: Sequence[Conjunct],
    minimum: int = 1,
    maximum: int | None = None,
    gap: int | None = None,
) -> list[list[Event]]:
    """Maximal runs of one partition's events: each goes as far as it can, the next begins behind it."""
    found = []
    start = 0
    while start < len(events):
        run: list[Event] = []
        for event in events[start:]:
            is_near = gap is None or not run or event["ts"] - run[-1]["ts"] < gap
            is_full = maximum is not None and len(run) == maximum
            if is_full or not is_near or not all(conjunct.is_met(run, event) for conjunct in conjuncts):
                break
            run.append(event)
        if len(run) >= minimum:
            found.append(run)
        start += len(run) or 1
    return found


def detected_at(events: Sequence[Event], run: Sequence[Event], maximum: int | None, gap: int | None) -> int | None:
    """When a run is over for certain: with its last event if it is full, else with the next event or after the gap.

    None where only the end of the input closes it.
    """
    last = run[-1]
    if maximum is not None and len(run) == maximum:
        return int(last["ts"])
    following = [event["ts"] for event in events[events.index(last) + 1 :]][:1]
    return min([*following, *([] if gap is None else [last["ts"] + gap])], default=None)


def is_over(events: Sequence[Event], run: Sequence[Event], maximum: int | None, gap: int | None, latest: int) -> bool:
    """Whether a run is over for certain when the latest event of all partitions has been seen."""
    decided = detected_at(events, run, maximum, gap)
    return decided is not None and decided <= latest


def heterogeneous(
    events: Sequence[Event],
    start: Callable[[Event], bool | None],
    end: Callable[[Event], bool | None],
    exclude: Sequence[Callable[[Event], bool | None]] = (),
) -> list[list[Event]]:
    """From each start that nothing earlier has opened to the next end behind it, if nothing excluded is among them."""
    found = []
    at = 0
    while at < len(events):
        is_start = start(events[at]) is True and not any(test(events[at]) is True for test in exclude)
        stop = None
        if is_start:
            later = range(at + 1, len(events))
            barred = next((i for i in later if any(test(events[i]) is True for test in exclude)), len(events))
            ends = next((i for i in later if end(events[i]) is True), len(events))
            if ends < barred:
                found.append(events[at : ends + 1])
                stop = ends
            else:
                stop = barred
        at = (at if stop is None else stop) + 1
    return [list(span) for span in found]
