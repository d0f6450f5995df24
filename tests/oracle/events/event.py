"""Events and their order.

Implements semantics.md, "Events, time, order": time is integer microseconds, NULL is None, events are ordered
by `(ts, sequence)` and then by their columns, NULLs first, so that no result depends on arrival order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """One event; `partition` holds the values of PARTITION BY and equality predicates, None for NULL.

    >>> Event(5, type="A", values={"x": 1})["x"]
    1
    """

    ts: int
    sequence: int | None = None
    type: str | None = None
    values: dict[str, Any] = field(default_factory=dict)
    partition: tuple[Any, ...] = ()

    def __getitem__(self, column: str) -> Any:
        return self.values[column]


def stream(text: str, **columns: Sequence[Any]) -> list[Event]:
    """Events from the notation of the worked examples: a letter is the type, the number the time.

    >>> [(event.type, event.ts) for event in stream("a1 b2")]
    [('A', 1), ('B', 2)]
    """
    words = text.split()
    return [
        Event(int(word[1:]), type=word[0].upper(), values={name: column[i] for name, column in columns.items()})
        for i, word in enumerate(words)
    ]


def _nulls_first(value: Any) -> tuple[bool, Any]:
    return (value is not None, 0 if value is None else value)


def ordered(events: Sequence[Event]) -> list[int]:
    """The indices of the events in the order `(ts, sequence, type, columns)`.

    >>> ordered([Event(2), Event(1, sequence=4), Event(1, sequence=3)])
    [2, 1, 0]
    """
    columns = list(dict.fromkeys(column for event in events for column in event.values))

    def key(i: int) -> tuple[Any, ...]:
        event = events[i]
        row = (event.sequence, event.type, *(event.values.get(column) for column in columns))
        return (event.ts, *map(_nulls_first, row))

    return sorted(range(len(events)), key=key)


def partitions(events: Sequence[Event]) -> dict[tuple[Any, ...], list[int]]:
    """The ordered indices of the events of every partition; a NULL key is a partition of its own."""
    result: dict[tuple[Any, ...], list[int]] = {}
    for i in ordered(events):
        result.setdefault(events[i].partition, []).append(i)
    return result
