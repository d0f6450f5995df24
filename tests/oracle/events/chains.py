"""All ways to match a pattern in a scope, by plain enumeration of chains.

Implements semantics.md, "Strategies, by adjacency" (Definition 2.7 of seed 002), "Negation" (Definition 2.2)
and AND. A chain grows event by event from every start event; each end event on a chain gives a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from tests.oracle.events.conjuncts import (
    Entries,
    adjacent_conjuncts_hold,
    aggregates_hold,
    bound_conjuncts_hold,
    linked_symbols,
)
from tests.oracle.events.pattern import And, Pattern, branches, symbols
from tests.oracle.events.query import KleeneAggregate, Query, aggregates_of, has_type
from tests.oracle.events.scope import Scope
from tests.oracle.events.template import Position, Template, build_template

NO_SYMBOLS: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Gap:
    """No match of `pattern` starts after rank `after` and ends before `before`; None: the window's edge."""

    pattern: Pattern
    after: int | None
    before: int | None


@dataclass(frozen=True)
class Way:
    """One way to match: the bound events, and the gaps that can be decided only when the match is whole."""

    entries: Entries
    gaps: frozenset[Gap]


@dataclass(frozen=True)
class Path:
    """A partial match that stands at a position of the template."""

    position: Position
    way: Way


Identity = Callable[[Entries], Any]


def by_binding(entries: Entries) -> Entries:
    """Rows: two bindings are two matches."""
    return tuple(sorted(entries, key=lambda entry: (entry[1], entry[0])))


def by_sequence(entries: Entries) -> tuple[int, ...]:
    """Aggregates: a trend is a sequence of events, however they are bound."""
    return tuple(position for _, position in entries)


@dataclass(frozen=True)
class Search:
    """What stays the same while a pattern is matched; `context` binds the symbols around a negation."""

    query: Query
    scope: Scope
    strategy: str
    identity: Identity
    context: Entries = ()

    def first_rank(self, entries: Entries) -> int:
        return min(self.scope.rank[position] for _, position in entries)

    def last_rank(self, entries: Entries) -> int:
        return max(self.scope.rank[position] for _, position in entries)

    def fits_window(self, entries: Entries) -> bool:
        places = [self.scope.place[position] for _, position in entries]
        return self.scope.reach is None or max(places) - min(places) < self.scope.reach

    def conjuncts_hold(self, entries: Entries) -> bool:
        return bound_conjuncts_hold(self.query, self.scope, self.context + entries)


def find(search: Search, pattern: Pattern) -> dict[Any, list[Way]]:
    """All results of a pattern by identity, each with every way to reach it. An outermost OR is a union."""
    found: dict[Any, list[Way]] = {}
    for branch in branches(pattern):
        ways = pairs(search, branch) if isinstance(branch, And) else _chains(search, branch)
        for way in ways:
            known = found.setdefault(search.identity(way.entries), [])
            if way not in known:
                known.append(way)
    return found


def is_whole(search: Search, way: Way) -> bool:
    """Whether the gaps left open are clear now that the match is known from first to last event."""
    return all(_is_clear(search, gap, way.entries) for gap in way.gaps)


def pairs(search: Search, conjunction: And) -> list[Way]:
    """AND: one match of every side, each side matched on its own; the sides may share events."""
    separate = Search(search.query, search.scope, search.strategy, by_binding, search.context)
    sides = [[way for ways in find(separate, part).values() for way in ways] for part in conjunction.parts]
    across = [
        aggregate
        for aggregate in aggregates_of(search.query, conjunction)
        if not any(symbols(part).issuperset(aggregate.symbols) for part in conjunction.parts)
    ]
    result = []
    for combination in product(*sides):
        entries = by_binding(tuple({entry for way in combination for entry in way.entries}))
        if (
            search.fits_window(entries)
            and search.conjuncts_hold(entries)
            and aggregates_hold(search.scope, entries, across, still_bindable=NO_SYMBOLS)
        ):
            result.append(Way(entries, frozenset().union(*(way.gaps for way in combination))))
    return result


@dataclass(frozen=True)
class _Walk:
    """A search on one template, with the aggregate conjuncts its matches can decide."""

    search: Search
    template: Template
    aggregates: list[KleeneAggregate]


def _chains(search: Search, pattern: Pattern) -> Iterator[Way]:
    walk = _Walk(search, build_template(pattern), aggregates_of(search.query, pattern))
    for paths in _partial_matches(walk):
        for path in paths:
            yield from _endings(walk, path)


def partial_matches(search: Search, pattern: Pattern) -> Iterator[list[Path]]:
    """Everything that a match of the pattern, which is no AND, is on its way: the paths of each partial match."""
    yield from _partial_matches(_Walk(search, build_template(pattern), aggregates_of(search.query, pattern)))


def _partial_matches(walk: _Walk) -> Iterator[list[Path]]:
    unfinished = _by_identity(walk.search, list(_starts(walk)))
    while unfinished:
        paths = unfinished.pop()
        yield paths
        unfinished.extend(_by_identity(walk.search, _adjacent(walk, paths)))


def _by_identity(search: Search, paths: list[Path]) -> list[list[Path]]:
    """Paths with one identity are one partial match: the strategy looks at all of them together."""
    groups: dict[Any, list[Path]] = {}
    for path in paths:
        group = groups.setdefault(search.identity(path.way.entries), [])
        if path not in group:
            group.append(path)
    return list(groups.values())


def _offers(search: Search, position: Position) -> list[Way]:
    """What one step into the position may consume: an event of the type, or a whole AND."""
    if isinstance(position.item, And):
        key = ("pairs", position.item, search.strategy, search.context)
        if key not in search.scope.memory:
            search.scope.memory[key] = pairs(search, position.item)
        return search.scope.memory[key]
    return [
        Way(((position.item.symbol, i),), frozenset())
        for i, event in search.scope.events.items()
        if has_type(search.query, event, position.item.type)
    ]


def _is_partial_match(walk: _Walk, position: Position, entries: Entries) -> bool:
    """Whether the events fit into one window and every conjunct that is now bound or closed holds."""
    return (
        walk.search.fits_window(entries)
        and walk.search.conjuncts_hold(entries)
        and aggregates_hold(walk.search.scope, entries, walk.aggregates, walk.template.still_bindable(position))
    )


def _starts(walk: _Walk) -> Iterator[Path]:
    """Every start event begins a chain; a leading NOT is decided when the match is whole."""
    for position, negations in walk.template.firsts:
        for offer in _offers(walk.search, position):
            if _is_partial_match(walk, position, offer.entries):
                before = walk.search.first_rank(offer.entries)
                leading = {Gap(negated, None, before) for negated in negations}
                yield Path(position, Way(offer.entries, offer.gaps | leading))


def _endings(walk: _Walk, path: Path) -> Iterator[Way]:
    """The results that end where the path stands; a trailing NOT is decided when the match is whole."""
    entries = path.way.entries
    after = walk.search.last_rank(entries)
    if aggregates_hold(walk.search.scope, entries, walk.aggregates, still_bindable=NO_SYMBOLS):
        for position, negations in walk.template.lasts:
            if position == path.position:
                trailing = {Gap(negated, after, None) for negated in negations}
                yield Way(entries, path.way.gaps | trailing)


def _adjacent(walk: _Walk, paths: list[Path]) -> list[Path]:
    """The strategy: every extension, the earliest ones, or the earliest ones with no event in between."""
    extensions = [extension for path in paths for extension in _extensions(walk, path)]
    if walk.search.strategy == "any" or not extensions:
        return [path for _, path in extensions]
    earliest = min(rank for rank, _ in extensions)
    last = walk.search.last_rank(paths[0].way.entries)
    between = [rank for rank in walk.search.scope.rank.values() if last < rank < earliest]
    if walk.search.strategy == "contiguous" and between:
        return []
    return [path for rank, path in extensions if rank == earliest]


def _extensions(walk: _Walk, path: Path) -> Iterator[tuple[int, Path]]:
    """Everything that can extend a partial match under skip-till-any, with the rank at which it starts."""
    search, before = walk.search, path.way.entries
    last = search.last_rank(before)
    for position, negations in walk.template.after(path.position):
        for offer in _offers(search, position):
            first = search.first_rank(offer.entries)
            if not last < first:
                continue
            entries = before + offer.entries
            ends = [entry for entry in before if search.scope.rank[entry[1]] == last]
            begins = [entry for entry in offer.entries if search.scope.rank[entry[1]] == first]
            if not adjacent_conjuncts_hold(search.query, search.scope, ends, begins):
                continue
            if not _is_partial_match(walk, position, entries):
                continue
            gaps = path.way.gaps | offer.gaps | {Gap(negated, last, first) for negated in negations}
            due = {gap for gap in gaps if _is_due(search, gap, entries)}
            if all(_is_clear(search, gap, entries) for gap in due):
                yield first, Path(position, Way(entries, gaps - due))


def _is_due(search: Search, gap: Gap, entries: Entries) -> bool:
    """A gap between two events is decided as soon as the symbols its conjuncts name outside it are bound."""
    bound = {symbol for symbol, _ in search.context + entries}
    between = gap.after is not None and gap.before is not None
    return between and linked_symbols(search.query, gap.pattern) <= bound


def _is_clear(search: Search, gap: Gap, entries: Entries) -> bool:
    """Whether no match of the negated pattern lies in the gap of a match that binds `entries`."""
    scope = search.scope
    places = [scope.place[position] for _, position in entries]
    for negated in _negated_matches(search, gap.pattern, entries):
        starts = min(scope.place[position] for _, position in negated)
        ends = max(scope.place[position] for _, position in negated)
        if gap.after is not None:
            begins_inside = search.first_rank(negated) > gap.after
        else:
            begins_inside = scope.reach is None or starts > max(places) - scope.reach
        if gap.before is not None:
            ends_inside = search.last_rank(negated) < gap.before
        else:
            ends_inside = scope.reach is None or ends < min(places) + scope.reach
        if begins_inside and ends_inside:
            return False
    return True


def _negated_matches(search: Search, pattern: Pattern, entries: Entries) -> list[Entries]:
    """All matches of a negated pattern, always skip-till-any; NOTs inside it look from its own events."""
    linked = linked_symbols(search.query, pattern)
    context = tuple(entry for entry in search.context + entries if entry[0] in linked)
    key = ("negated", pattern, context)
    if key not in search.scope.memory:
        inner = Search(search.query, search.scope, "any", by_binding, context)
        search.scope.memory[key] = [
            binding for binding, ways in find(inner, pattern).items() if any(is_whole(inner, way) for way in ways)
        ]
    return search.scope.memory[key]
