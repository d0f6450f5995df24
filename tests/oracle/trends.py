"""Trends, complete trends, and aggregates over trends.

Implements semantics.md, "What counts as one" (aggregates), "Trend aggregates", and Definitions 2.6 and 3.1 of
seed 002. A trend is a sequence of events: the strategy applies to sequences, however they are bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from tests.oracle.events.chains import Search, by_binding, by_sequence, find, is_whole
from tests.oracle.events.conjuncts import Entries
from tests.oracle.events.event import Event
from tests.oracle.events.pattern import And, Pattern, Type, branches, nodes, symbols
from tests.oracle.events.query import Bound, KleeneAggregate, Local, Query, check_query, has_conjunction, has_type
from tests.oracle.events.scope import Scope, scopes

Window = tuple[int | None, int | None]


class AmbiguousBinding(ValueError):  # noqa: N818 - it names what is wrong with the query
    """An aggregate on a symbol, where two bindings of one trend give the symbol different events."""


@dataclass(frozen=True)
class Trend:
    """A sequence of events, as indices into the given events, in order; the window only with SLIDE."""

    events: tuple[int, ...]
    partition: tuple[Any, ...] = ()
    window_start: int | None = None
    window_end: int | None = None


@dataclass(frozen=True)
class Aggregate:
    """`COUNT(*)`, `COUNT(E)`, and COUNT, SUM, MIN, MAX, AVG of `E.x`; E is a symbol or else a type."""

    function: str
    symbol: str = "*"
    column: str | None = None


@dataclass(frozen=True)
class AggregateRow:
    """The aggregates of one group and window, in the order of RETURN."""

    group: tuple[Any, ...]
    window_start: int | None
    window_end: int | None
    values: tuple[Any, ...]
    detected_at: int | None = field(default=None, compare=False, repr=False)


def trends(query: Query, events: Sequence[Event]) -> list[Trend]:
    """Every trend of the query; per window with SLIDE.

    >>> from tests.oracle.events.event import stream
    >>> from tests.oracle.events.pattern import plus
    >>> [trend.events for trend in trends(Query(plus(plus(Type("A")))), stream("a1 a2"))]
    [(0,), (0, 1), (1,)]
    """
    check_query(query)
    if has_conjunction(query.pattern):
        raise ValueError("AND has pairs of trends, not trends")
    return [
        Trend(tuple(scope.indices[position] for position in sequence), scope.partition, *_window(scope))
        for scope in scopes(query, events)
        for sequence in sorted(_bindings(query, scope, query.pattern))
        if len(sequence) >= query.min_length
    ]


def complete_trends(query: Query, events: Sequence[Event]) -> list[Trend]:
    """The trends whose events are not all part of another trend of the same partition and window."""
    found = trends(query, events)
    return [
        trend
        for trend in found
        if not any(
            set(trend.events) < set(other.events)
            and (trend.partition, trend.window_start) == (other.partition, other.window_start)
            for other in found
        )
    ]


def aggregate(
    query: Query, events: Sequence[Event], group_by: Sequence[str] = (), returns: Sequence[Aggregate] = ()
) -> list[AggregateRow]:
    """The aggregates over all trends, per group and window; no row where there is no trend.

    A window of time detects them at its end; else it is the last event, of the partitions with a trend, that a symbol
    of the pattern takes.

    >>> from tests.oracle.events.event import stream
    >>> from tests.oracle.events.pattern import plus
    >>> returns = [Aggregate("COUNT"), Aggregate("COUNT", "A")]
    >>> aggregate(Query(plus(Type("A"))), stream("a1 a2"), returns=returns)
    [AggregateRow(group=(), window_start=None, window_end=None, values=(3, 4))]
    """
    check_query(query)
    _check_aggregation(query, returns)
    if query.slide is None and query.slide_events is None:
        query = replace(query, slide=query.within, slide_events=query.within_events)
    grouped = [
        replace(event, partition=(*event.partition, *(event[column] for column in group_by))) for event in events
    ]
    counted: dict[tuple[tuple[Any, ...], Window], list[list[list[Event]]]] = {}
    wanted: dict[tuple[tuple[Any, ...], Window], int] = {}
    for scope in scopes(query, grouped):
        group = scope.partition[len(scope.partition) - len(group_by) :]
        for occurrences in _occurrences(query, scope, returns):
            columns = [[scope.events[position] for position in positions] for positions in occurrences]
            counted.setdefault((group, _window(scope)), []).append(columns)
            last = max(event.ts for event in scope.events.values() if _is_wanted(query, event))
            wanted[group, _window(scope)] = max(last, wanted.get((group, _window(scope)), last))
    return [
        AggregateRow(
            group,
            *window,
            tuple(_value(what, i, found) for i, what in enumerate(returns)),
            window[1] if query.within is not None else wanted[group, window],
        )
        for (group, window), found in counted.items()
    ]


def _is_wanted(query: Query, event: Event) -> bool:
    """Whether the event is of some step's type and meets the conditions on its symbol, in NOT or not."""
    local = [predicate for predicate in query.predicates if isinstance(predicate, Local)]
    return any(
        has_type(query, event, step.type)
        and all(predicate.fn(event) for predicate in local if predicate.symbol == step.symbol)
        for step in nodes(query.pattern, negated=True)
        if isinstance(step, Type)
    )


def _window(scope: Scope) -> Window:
    return scope.window or (None, None)


def _check_aggregation(query: Query, returns: Sequence[Aggregate]) -> None:
    if any(isinstance(predicate, Bound | KleeneAggregate) for predicate in query.predicates):
        raise ValueError("RETURN aggregates accept local, equality and adjacent predicates only")
    sides = query.pattern.parts if isinstance(query.pattern, And) else (query.pattern,)
    if any(has_conjunction(side) for side in sides):
        raise ValueError("RETURN aggregates accept AND outermost only")
    for what in returns:
        if what.function not in ("COUNT", "SUM", "MIN", "MAX", "AVG"):
            raise ValueError(f"unknown aggregate {what.function}")
        if what.function != "COUNT" and what.column is None:
            raise ValueError(f"{what.function} needs a column")
        if what.symbol != "*" and not _named(query.pattern, what.symbol):
            raise ValueError(f"no symbol or type {what.symbol!r} in the pattern")


def _bindings(query: Query, scope: Scope, pattern: Pattern) -> dict[tuple[int, ...], list[Entries]]:
    """Every trend of a pattern in a scope, with all its bindings."""
    search = Search(query, scope, query.strategy, by_sequence)
    result = {}
    for sequence, ways in find(search, pattern).items():
        bindings = {by_binding(way.entries) for way in ways if is_whole(search, way)}
        if bindings:
            result[sequence] = sorted(bindings)
    return result


def _named(pattern: Pattern, name: str) -> frozenset[str]:
    """The symbols an aggregate's E stands for: the symbol of that name, else all symbols of the type."""
    if name in symbols(pattern):
        return frozenset([name])
    leaves = [node for branch in branches(pattern) for node in nodes(branch) if isinstance(node, Type)]
    return frozenset(leaf.symbol for leaf in leaves if leaf.type == name)


def _occurrences(query: Query, scope: Scope, returns: Sequence[Aggregate]) -> Iterator[list[list[int]]]:
    """For every trend, or unordered pair of distinct trends, the positions each aggregate ranges over."""
    sides = query.pattern.parts if isinstance(query.pattern, And) else (query.pattern,)
    found = [_bindings(query, scope, side) for side in sides]
    ways: dict[frozenset[tuple[int, ...]], set[Entries]] = {}
    for chosen in product(*(side.items() for side in found)):
        sequences = [sequence for sequence, _ in chosen]
        if any(one == other for one, other in combinations(sequences, 2)):
            continue
        for bindings in product(*(bindings for _, bindings in chosen)):
            together = tuple(entry for binding in bindings for entry in binding)
            ways.setdefault(frozenset(sequences), set()).add(together)
    for sequences, bindings in ways.items():
        if sum(map(len, sequences)) >= query.min_length:
            yield [_positions(query, what, bindings) for what in returns]


def _positions(query: Query, what: Aggregate, bindings: set[Entries]) -> list[int]:
    names = _named(query.pattern, what.symbol)
    choices = {tuple(sorted(position for symbol, position in entries if symbol in names)) for entries in bindings}
    if len(choices) > 1:
        raise AmbiguousBinding(f"{what.function}({what.symbol}) is ambiguous: one trend can be bound in two ways")
    return list(choices.pop())


def _value(what: Aggregate, i: int, found: list[list[list[Event]]]) -> Any:
    """One aggregate over all trends of a group and window, exactly; NULLs are ignored."""
    if what.symbol == "*":
        return len(found)
    occurrences = [event for columns in found for event in columns[i]]
    if what.column is None:
        return len(occurrences)
    values = [event[what.column] for event in occurrences if event[what.column] is not None]
    if what.function == "COUNT":
        return len(values)
    if not values:
        return None
    if what.function in ("MIN", "MAX"):
        return min(values) if what.function == "MIN" else max(values)
    total = sum(value if isinstance(value, int) else Fraction(value) for value in values)
    return total if what.function == "SUM" else Fraction(total, len(values))
