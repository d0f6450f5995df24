"""The matches of a query: one row per binding.

Implements semantics.md, "What counts as one" (rows), "WITHIN and windows" and MIN LENGTH. Input: a query and
events in any order. Output: every match once, or once per window with SLIDE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.oracle.events.chains import Search, by_binding, find, is_whole
from tests.oracle.events.ending import is_over
from tests.oracle.events.event import Event
from tests.oracle.events.query import Query, check_query
from tests.oracle.events.scope import scopes


@dataclass(frozen=True)
class Match:
    """A binding: `(symbol, index into the given events)` in order; the window only with SLIDE."""

    binding: tuple[tuple[str, int], ...]
    partition: tuple[Any, ...] = ()
    window_start: int | None = None
    window_end: int | None = None

    def event_indices(self, symbol: str | None = None) -> list[int]:
        """The indices of the bound events, of one symbol or of all."""
        return [i for name, i in self.binding if symbol in (None, name)]


def matches(query: Query, events: Sequence[Event]) -> list[Match]:
    """Every match of the query.

    >>> from tests.oracle.events.event import stream
    >>> from tests.oracle.events.pattern import Type, seq
    >>> [match.binding for match in matches(Query(seq(Type("A"), Type("B"))), stream("a1 b2 b3"))]
    [(('A', 0), ('B', 1)), (('A', 0), ('B', 2))]
    """
    check_query(query)
    result = []
    latest = max((event.ts for event in events), default=0)
    for scope in scopes(query, events):
        search = Search(query, scope, query.strategy, by_binding)
        for binding, ways in sorted(find(search, query.pattern).items(), key=lambda item: _order(item[0])):
            decided = [way for way in ways if query.close_at_end or is_over(query, scope, way, latest)]
            if len(binding) >= query.min_length and any(is_whole(search, way) for way in decided):
                indices = tuple((symbol, scope.indices[position]) for symbol, position in binding)
                result.append(Match(indices, scope.partition, *(scope.window or (None, None))))
    return result


def _order(binding: tuple[tuple[str, int], ...]) -> tuple[tuple[int, str], ...]:
    return tuple((position, symbol) for symbol, position in binding)
