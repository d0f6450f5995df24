"""A query as the oracle takes it.

Implements the clauses of interface.md with the meaning of semantics.md, "Patterns" and "WITHIN and windows".
Predicates are Python functions that return True, False or None; None is NULL and means "not matched".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.oracle.events.event import Event
from tests.oracle.events.pattern import And, Not, Pattern, Repeat, branches, check_pattern, nodes, symbols

Truth = bool | None


@dataclass(frozen=True)
class Local:
    """A conjunct on one event: `fn(event)`."""

    symbol: str
    fn: Callable[[Event], Truth]


@dataclass(frozen=True)
class Bound:
    """A conjunct between bound events: `fn(event, ...)`, one argument per symbol, for all combinations."""

    symbols: tuple[str, ...]
    fn: Callable[..., Truth]


@dataclass(frozen=True)
class Adjacent:
    """`X.a < NEXT(Y).b`: `fn(e, e2)` for `e` bound to `left`, directly followed by `e2` bound to `right`."""

    left: str
    right: str
    fn: Callable[[Event, Event], Truth]


@dataclass(frozen=True)
class KleeneAggregate:
    """A conjunct on all events of Kleene symbols: `fn(events, ...)`, one list per symbol, when they close."""

    symbols: tuple[str, ...]
    fn: Callable[..., Truth]

    def __post_init__(self) -> None:
        if isinstance(self.symbols, str):
            object.__setattr__(self, "symbols", (self.symbols,))


Predicate = Local | Bound | Adjacent | KleeneAggregate


@dataclass(frozen=True)
class Query:
    """Everything `matches`, `trends` and `aggregate` need; times are microseconds."""

    pattern: Pattern
    strategy: Literal["any", "next", "contiguous"] = "any"
    within: int | None = None
    slide: int | None = None
    origin: int | Literal["first"] = 0
    within_events: int | None = None
    slide_events: int | None = None
    predicates: Sequence[Predicate] = ()
    min_length: int = 1
    ties: Literal["strict", "sequence"] = "strict"
    types: Mapping[str, Callable[[Event], Truth]] = field(default_factory=dict)
    close_at_end: bool = True  # the end of the events is the end of time; of matches alone


def null_if_null(fn: Callable[..., Truth]) -> Callable[..., Truth]:
    """A function of plain values that returns None as soon as one of them is None, as SQL comparisons do.

    >>> null_if_null(lambda a, b: a < b)(1, None) is None
    True
    """

    def guarded(*values: Any) -> Truth:
        return None if any(value is None for value in values) else fn(*values)

    return guarded


def has_type(query: Query, event: Event, type_name: str) -> bool:
    """Whether the event is of the type: by DEFINE if the query defines the type, else by the type column."""
    define = query.types.get(type_name)
    return event.type == type_name if define is None else bool(define(event))


def predicate_symbols(predicate: Predicate) -> tuple[str, ...]:
    """The symbols a conjunct names."""
    match predicate:
        case Local(symbol):
            return (symbol,)
        case Adjacent(left, right):
            return (left, right)
        case _:
            return tuple(predicate.symbols)


def check_query(query: Query) -> None:
    """Refuse queries that semantics.md gives no meaning."""
    check_pattern(query.pattern)
    if query.strategy not in ("any", "next", "contiguous"):
        raise ValueError(f"unknown strategy {query.strategy!r}")
    if query.ties not in ("strict", "sequence"):
        raise ValueError(f"unknown ties {query.ties!r}")
    if query.within is not None and query.within_events is not None:
        raise ValueError("a window is of time or of events, not both")
    for window, slide in ((query.within, query.slide), (query.within_events, query.slide_events)):
        if slide is not None and window is None:
            raise ValueError("SLIDE needs WITHIN")
        if window is not None and window <= 0:
            raise ValueError("WITHIN must be positive")
        if slide is not None and not 0 < slide <= window:
            raise ValueError("SLIDE must be positive and at most WITHIN")
    known = symbols(query.pattern, negated=True)
    for predicate in query.predicates:
        for symbol in predicate_symbols(predicate):
            if symbol not in known:
                raise ValueError(f"no symbol {symbol!r} in the pattern")
    _check_aggregates(query)


def _check_aggregates(query: Query) -> None:
    every_node = list(nodes(query.pattern, negated=True))
    wholes = [query.pattern, *(node.part for node in every_node if isinstance(node, Not))]
    repeated = frozenset(
        symbol
        for node in every_node
        if isinstance(node, Repeat) and node.maximum != 1
        for inner in nodes(node.part)
        if isinstance(inner, And)
        for symbol in symbols(inner)
    )
    for predicate in query.predicates:
        if isinstance(predicate, KleeneAggregate):
            names = frozenset(predicate.symbols)
            if not any(names <= symbols(whole) for whole in wholes):
                raise ValueError("an aggregate conjunct mixes negated and other symbols")
            if names & repeated:
                raise NotImplementedError("an aggregate conjunct on a symbol inside a repeated AND has no meaning")


def aggregates_of(query: Query, pattern: Pattern) -> list[KleeneAggregate]:
    """The aggregate conjuncts that a match of this pattern, on its own, can decide."""
    names = symbols(pattern)
    return [
        predicate
        for predicate in query.predicates
        if isinstance(predicate, KleeneAggregate) and names.issuperset(predicate.symbols)
    ]


def has_conjunction(pattern: Pattern) -> bool:
    """Whether an AND stands anywhere outside NOT.

    >>> from tests.oracle.events.pattern import Type
    >>> has_conjunction(And((Type("A"), Type("B"))))
    True
    """
    return any(isinstance(node, And) for branch in branches(pattern) for node in nodes(branch))
