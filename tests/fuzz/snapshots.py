"""Damaged state of every family: it is refused by name, or goes on with the right rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from eventide.engines.computed import add_computed
from eventide.families.registry import make_operator
from eventide.runtime.protocol import Snapshot
from eventide.runtime.sealed import SNAPSHOT_VERSION
from tests.fuzz.mutations import damage
from tests.streams.test_snapshots import NAMES, Played, PlayedIntervals, play, read

Segments = dict[int, bytes]


def check(random: Random) -> str:
    """One damaged snapshot of a family, handed to its operator."""
    family = _family(random.choice(NAMES))
    kind, snapshot = family.damaged(random)
    if (snapshot.head, snapshot.segments) == (family.snapshot.head, family.snapshot.segments):
        return "nothing changed"
    family.make().restore(snapshot)
    rows = family.later(snapshot)
    assert rows == family.expected, f"{family.name}: other rows after {kind}"
    return "the same rows"


class _Family:
    """A family's saved state, another batch's state of it, and the rows that follow."""

    def __init__(self, name: str) -> None:
        self.name = name
        saved = read(name, SNAPSHOT_VERSION)
        self.snapshot = saved.snapshot
        self.played: Played | PlayedIntervals = play(name, saved.seed)
        self.other = self.played.step(None, 1)[1]
        self.expected = self.later(self.snapshot)
        plan = self.played.plan if isinstance(self.played, PlayedIntervals) else None
        physical = plan or self.played.family.plan(self.played.events.schema)  # type: ignore[union-attr]
        self.make: Callable[[], Any] = lambda: make_operator(physical.spec, compute=add_computed)

    def later(self, snapshot: Snapshot) -> list[Any]:
        return self.played.shown(self.played.step(snapshot, 1)[0])

    def damaged(self, random: Random) -> tuple[str, Snapshot]:
        head, segments = self.snapshot.head, dict(self.snapshot.segments)
        kind = random.choice([*_TO_SEGMENTS, "head", "segment", "segment", "segment", "other head", "other family"])
        if kind == "head" or not segments:
            head = damage(head, random)
        elif kind == "segment":
            number = random.choice(list(segments))
            segments[number] = damage(segments[number], random)
        elif kind == "other head":
            head = self.other.head
        elif kind == "other family":
            foreign = _family(random.choice(NAMES)).snapshot
            # Not both: two families have the same query, and the whole state of one is none of damage to the other.
            if random.random() < 0.3:
                head = foreign.head
            else:
                segments = {**segments, **foreign.segments}
        else:
            _TO_SEGMENTS[kind](segments, dict(self.other.segments), random)
        return kind, Snapshot(head, segments)


def _swap(segments: Segments, other: Segments, random: Random) -> None:
    one, two = random.choice(list(segments)), random.choice(list(segments))
    segments[one], segments[two] = segments[two], segments[one]


def _remove(segments: Segments, other: Segments, random: Random) -> None:
    del segments[random.choice(list(segments))]


def _renumber(segments: Segments, other: Segments, random: Random) -> None:
    number = random.choice(list(segments))
    segments[number + random.choice([-1, 1, 1000])] = segments.pop(number)


def _add(segments: Segments, other: Segments, random: Random) -> None:
    segments[max(segments) + 1] = random.choice(list(segments.values()))


def _of_another_batch(segments: Segments, other: Segments, random: Random) -> None:
    if other:
        segments[random.choice(list(segments))] = random.choice(list(other.values()))


def _splice(segments: Segments, other: Segments, random: Random) -> None:
    """The beginning of one and the end of another, of the same length where that can be."""
    number = random.choice(list(segments))
    data, end = segments[number], random.choice([*other.values(), *segments.values()])
    place = random.randrange(len(data) + 1)
    segments[number] = data[:place] + end[place:]


_TO_SEGMENTS: dict[str, Callable[[Segments, Segments, Random], None]] = {
    "swap": _swap,
    "remove": _remove,
    "renumber": _renumber,
    "add": _add,
    "another batch's": _of_another_batch,
    "splice": _splice,
}


@cache
def _family(name: str) -> _Family:
    return _Family(name)
