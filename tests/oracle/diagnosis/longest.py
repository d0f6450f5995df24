"""The longest partial match of every partition: of all that the search for matches passes, the furthest.

What NOT says about the window's edges and what aggregates say is not asked of a partial match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.oracle.diagnosis.progress import progress
from tests.oracle.events.chains import Search, by_binding, partial_matches
from tests.oracle.events.event import Event
from tests.oracle.events.matches import matches
from tests.oracle.events.pattern import Or, Pattern, branches
from tests.oracle.events.query import KleeneAggregate, Query
from tests.oracle.events.scope import Scope, scopes
from tests.oracle.events.template import Position


@dataclass(frozen=True)
class Longest:
    """The longest partial match: indices of its events, the events it needs more, and symbols that may come next."""

    indices: tuple[int, ...]
    missing: int
    needed: frozenset[str]


def longest_partial_matches(query: Query, events: Sequence[Event]) -> dict[tuple[Any, ...], Longest]:
    """By partition, for the partitions without a match.

    >>> from tests.oracle.events.event import stream
    >>> from tests.oracle.events.pattern import Type, plus, seq
    >>> query = Query(seq(Type("A"), plus(Type("B")), Type("C")))
    >>> longest_partial_matches(query, stream("a1 b2 b3"))[()].indices
    (0, 1, 2)
    """
    if any(isinstance(predicate, KleeneAggregate) for predicate in query.predicates):
        raise NotImplementedError("aggregates of a partial match")
    matched = {match.partition for match in matches(query, events)}
    ranked: dict[tuple[Any, ...], tuple[int, Longest]] = {}
    for scope in scopes(query, events):
        if scope.partition in matched:
            continue
        ranked.setdefault(scope.partition, (0, _nothing(query.pattern)))
        for branch in branches(query.pattern):
            rank, found = _longest(query, scope, branch)
            if rank > ranked[scope.partition][0]:
                ranked[scope.partition] = rank, found
    return {partition: found for partition, (_, found) in ranked.items()}


def _nothing(pattern: Pattern) -> Longest:
    found = progress(Or(branches(pattern)))
    return Longest((), found.missing[None], _symbols(found.needed[None]))


def _longest(query: Query, scope: Scope, branch: Pattern) -> tuple[int, Longest]:
    found = progress(branch)
    best: tuple[int, tuple[Any, ...], Longest] | None = None
    for paths in partial_matches(Search(query, scope, query.strategy, by_binding), branch):
        positions = [path.position for path in paths]
        rank = max(found.rank[position] for position in positions)
        bound = sorted(paths[0].way.entries, key=lambda entry: entry[1])
        key = tuple((position, symbol) for symbol, position in bound)
        if best is None or rank > best[0] or (rank == best[0] and _comes_first(key, best[1])):
            missing = min(found.missing[position] for position in positions)
            nearest = [found.needed[position] for position in positions if found.missing[position] == missing]
            indices = tuple(scope.indices[position] for _, position in bound)
            best = rank, key, Longest(indices, missing, _symbols(frozenset().union(*nearest)))
    return (0, _nothing(query.pattern)) if best is None else (best[0], best[2])


def _symbols(positions: frozenset[Position]) -> frozenset[str]:
    return frozenset(position.item.symbol for position in positions)


def _comes_first(key: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Event by event the earlier one; one that continues the other comes before it."""
    if key[: len(other)] == other:
        return len(key) > len(other)
    return key < other and other[: len(key)] != key
