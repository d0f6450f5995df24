"""Situations, Allen's relations between them, and when a match of them is certain.

Implements semantics.md, "Situations and Allen relations": runs are derived by the definition, early emission is played
event time by event time, every configuration of started situations is asked about every future that is still possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise, product
from typing import Any

from tests.oracle.allen import DEFINITIONS
from tests.oracle.events.event import Event, partitions

_INVERSES = {
    "after": "before",
    "met-by": "meets",
    "overlapped-by": "overlaps",
    "started-by": "starts",
    "contains": "during",
    "finished-by": "finishes",
}
NAMES = (*DEFINITIONS, *_INVERSES)


def holds(name: str, a: int, x: int, b: int, y: int) -> bool:
    """Whether [a, x) is in the relation `name` to [b, y).

    >>> [name for name in NAMES if holds(name, 0, 5, 3, 9)]
    ['overlaps']
    """
    if name in _INVERSES:
        return DEFINITIONS[_INVERSES[name]](b, y, a, x)
    return DEFINITIONS[name](a, x, b, y)


@dataclass(frozen=True)
class Definition:
    """`symbol AS condition FOR ...`; a condition that gives None does not hold."""

    symbol: str
    condition: Callable[[Event], bool | None]
    min_us: int | None = None
    max_us: int | None = None
    gap_us: int | None = None  # MAX GAP


@dataclass(frozen=True)
class Constraint:
    """One term of PATTERN: the relations that `left` may have to `right`."""

    left: str
    right: str
    relations: frozenset[str]


@dataclass(frozen=True)
class SituationQuery:
    """`emission` is "early" or "complete"."""

    definitions: tuple[Definition, ...]
    constraints: tuple[Constraint, ...]
    within_us: int | None = None
    emission: str = "early"
    close_at_end: bool = False

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of PATTERN in the order of the definitions."""
        used = {symbol for constraint in self.constraints for symbol in (constraint.left, constraint.right)}
        return tuple(definition.symbol for definition in self.definitions if definition.symbol in used)


@dataclass(frozen=True)
class Situation:
    """A run: its interval, `te` None when the input ends before it, and its events as indices into the input."""

    ts: int
    te: int | None
    events: tuple[int, ...]

    def ended(self, t: int) -> bool:
        """Whether the end is known when all events up to `t` are applied."""
        return self.te is not None and self.te <= t


@dataclass(frozen=True)
class Match:
    """One configuration as it is known at `detected_at`."""

    partition: tuple[Any, ...]
    situations: dict[str, Situation]
    detected_at: int
    possible: tuple[frozenset[str], ...]  # per constraint

    def end(self, symbol: str) -> int | None:
        """The end of a situation, None while it is unknown."""
        situation = self.situations[symbol]
        return situation.te if situation.ended(self.detected_at) else None

    def covered(self, symbol: str, events: Sequence[Event]) -> tuple[int, ...]:
        """The events of a situation that are seen by then."""
        return tuple(i for i in self.situations[symbol].events if events[i].ts <= self.detected_at)


def derive(
    condition: Callable[[Event], bool | None],
    events: Sequence[Event],
    order: Sequence[int],
    close_at_end: bool = False,
    gap_us: int | None = None,
) -> list[Situation]:
    """The situations among the events of one partition, given in their order.

    >>> events = [Event(1, values={"a": True}), Event(4, values={"a": None}), Event(6, values={"a": True})]
    >>> derive(lambda event: event["a"], events, [0, 1, 2])
    [Situation(ts=1, te=4, events=(0,)), Situation(ts=6, te=None, events=(2,))]
    >>> derive(lambda event: event["a"], [Event(ts, values={"a": True}) for ts in (1, 2, 9)], [0, 1, 2], gap_us=3)
    [Situation(ts=1, te=5, events=(0, 1)), Situation(ts=9, te=None, events=(2,))]
    """
    found = []
    place = 0
    # A gap stands between two successive events of the partition, whether they satisfy the condition or not.
    stretch = [0]
    for before, after in pairwise(order):
        is_gap = gap_us is not None and events[after].ts - events[before].ts > gap_us
        stretch.append(stretch[-1] + is_gap)
    numbered = list(zip(stretch, order, strict=False))
    for (number, satisfied), group in groupby(numbered, key=lambda pair: (pair[0], condition(events[pair[1]]) is True)):
        run = tuple(i for _, i in group)
        place += len(run)
        if not satisfied:
            continue
        te = events[order[-1]].ts if close_at_end else None
        if place < len(order):
            is_silence = stretch[place] != number
            te = events[run[-1]].ts + gap_us if is_silence else events[order[place]].ts  # type: ignore[operator]
        if te is None or events[run[0]].ts < te:
            found.append(Situation(events[run[0]].ts, te, run))
    return found


def possible(left: Situation, right: Situation, t: int) -> frozenset[str]:
    """The relations of two started situations that what comes after `t` may still bring.

    An ongoing situation ends at some instant after `t`; two of them in either order, or at once.
    """
    return _possible(left.ts, _known_end(left, t), right.ts, _known_end(right, t), t)


def _known_end(situation: Situation, t: int) -> int | None:
    return situation.te if situation.ended(t) else None


@lru_cache(maxsize=1 << 16)
def _possible(a: int, x: int | None, b: int, y: int | None, t: int) -> frozenset[str]:
    later = (t + 1, t + 2, t + 3)
    futures = list(product(later if x is None else (x,), later if y is None else (y,)))
    return frozenset(name for name in NAMES for xx, yy in futures if holds(name, a, xx, b, yy))


def duration_certain(definition: Definition, situation: Situation, t: int) -> bool:
    """Whether the duration is one that the definition allows, whatever comes after `t`."""
    if situation.ended(t):
        lasted = situation.te - situation.ts  # type: ignore[operator]
        return (definition.min_us is None or lasted >= definition.min_us) and (
            definition.max_us is None or lasted <= definition.max_us
        )
    if definition.max_us is not None:
        return False
    return definition.min_us is None or t - situation.ts >= definition.min_us


def matches(query: SituationQuery, events: Sequence[Event]) -> list[Match]:
    """Every match, in the order of the partitions' first events and of `detected_at`.

    >>> rows = [(1, True, False), (2, True, True), (3, False, True), (4, False, False)]
    >>> events = [Event(ts, values={"a": a, "b": b}) for ts, a, b in rows]
    >>> a, b = (Definition(name, lambda event, name=name: event[name]) for name in "ab")
    >>> query = SituationQuery((a, b), (Constraint("a", "b", frozenset({"overlaps"})),))
    >>> [(match.detected_at, match.end("a"), match.end("b")) for match in matches(query, events)]
    [(3, 3, None)]
    """
    found: list[Match] = []
    for partition, order in partitions(events).items():
        for situations, detected_at in _configurations(query, events, order):
            known = dict(zip(query.symbols, situations, strict=True))
            left_over = tuple(possible(known[c.left], known[c.right], detected_at) for c in query.constraints)
            found.append(Match(partition, known, detected_at, left_over))
    return found


def _configurations(
    query: SituationQuery, events: Sequence[Event], order: Sequence[int]
) -> Iterator[tuple[tuple[Situation, ...], int]]:
    """The configurations of one partition that match, each with its instant of detection."""
    definitions = [d for symbol in query.symbols for d in query.definitions if d.symbol == symbol]
    runs = [derive(d.condition, events, order, query.close_at_end, d.gap_us) for d in definitions]
    done = set()
    for t in sorted({events[i].ts for i in order}):
        started = [[run for run in of_symbol if run.ts <= t] for of_symbol in runs]
        for configuration in product(*started):
            if configuration in done:
                continue
            if query.emission == "complete" and not all(run.ended(t) for run in configuration):
                continue
            if not all(map(duration_certain, definitions, configuration, [t] * len(definitions))):
                continue
            known = dict(zip(query.symbols, configuration, strict=True))
            if not all(possible(known[c.left], known[c.right], t) <= c.relations for c in query.constraints):
                continue
            done.add(configuration)
            # An end that a gap makes lies before the event that tells it.
            ends = [run.te for run in configuration if run.te is not None]
            detected_at = max(ends) if query.emission == "complete" else t
            if query.within_us is None or detected_at - min(run.ts for run in configuration) <= query.within_us:
                yield configuration, detected_at
