"""The longest partial match of every partition, by enumeration.

All beginnings of a pattern, tried together, bind what partial matches can bind under the strategy; each alone, under
skip-till-any, says how far a binding has come. What NOT says about the window's edges and what aggregates say is not
asked of a partial match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.oracle.chains import Search, by_binding, find
from tests.oracle.diagnosis.beginnings import Beginning, beginnings, starts
from tests.oracle.events import Event
from tests.oracle.matches import matches
from tests.oracle.pattern import Or, Pattern, Repeat, branches
from tests.oracle.query import KleeneAggregate, Query
from tests.oracle.scope import Scope, scopes


@dataclass(frozen=True)
class Longest:
    """The longest partial match: indices of its events, the events it needs more, and symbols that may come next."""

    indices: tuple[int, ...]
    missing: int
    needed: frozenset[str]


def longest_partial_matches(query: Query, events: Sequence[Event]) -> dict[tuple[Any, ...], Longest]:
    """By partition, for the partitions without a match.

    >>> from tests.oracle.events import stream
    >>> from tests.oracle.pattern import Type, plus, seq
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
    return Longest((), *starts(Or(branches(pattern))))


def _longest(query: Query, scope: Scope, branch: Pattern) -> tuple[int, Longest]:
    cuts = list(beginnings(branch))
    # A repetition of one keeps an OR inside one template.
    together = Repeat(Or((branch, *(cut.pattern for cut in cuts))), 1, 1)
    bindings = _bindings(query, scope, together, query.strategy)
    alone = [(cut, _bindings(query, scope, cut.pattern, "any")) for cut in cuts]
    best: tuple[int, tuple[Any, ...], Longest] | None = None
    for binding in bindings:
        reached = [cut for cut, own in alone if binding in own]
        rank = max((cut.rank for cut in reached), default=0)
        found = _ended(binding, reached, scope)
        key = tuple((position, symbol) for symbol, position in _in_order(binding))
        if rank and (best is None or rank > best[0] or (rank == best[0] and _comes_first(key, best[1]))):
            best = rank, key, found
    return (0, _nothing(query.pattern)) if best is None else (best[0], best[2])


def _ended(binding: tuple[Any, ...], reached: Sequence[Beginning], scope: Scope) -> Longest:
    missing = min((cut.missing for cut in reached), default=0)
    needed = frozenset().union(*(cut.needed for cut in reached if cut.missing == missing)) if missing else frozenset()
    return Longest(tuple(scope.indices[position] for _, position in _in_order(binding)), missing, needed)


def _in_order(binding: tuple[Any, ...]) -> list[tuple[str, int]]:
    return sorted(binding, key=lambda entry: entry[1])


def _comes_first(key: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Event by event the earlier one; one that continues the other comes before it."""
    if key[: len(other)] == other:
        return len(key) > len(other)
    return key < other and other[: len(key)] != key


def _bindings(query: Query, scope: Scope, pattern: Pattern, strategy: str) -> set[tuple[Any, ...]]:
    """What the pattern binds, whatever lies at the window's edges."""
    return set(find(Search(query, scope, strategy, by_binding), pattern))
