"""When a conjunct holds for a binding.

Implements semantics.md, "Patterns": a conjunct is tested as soon as all its symbols are bound, for each event
of a Kleene symbol; NEXT concerns directly adjacent events; an aggregate is tested when its symbols close.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from tests.oracle.events.event import Event
from tests.oracle.events.pattern import Pattern, symbols
from tests.oracle.events.query import Adjacent, Bound, KleeneAggregate, Local, Query, predicate_symbols
from tests.oracle.events.scope import Scope

Entry = tuple[str, int]  # a symbol, and the position of the event bound to it
Entries = tuple[Entry, ...]


def events_of(scope: Scope, entries: Entries, symbol: str) -> list[Event]:
    """The events bound to a symbol, in order."""
    return [scope.events[position] for name, position in entries if name == symbol]


def bound_conjuncts_hold(query: Query, scope: Scope, entries: Entries) -> bool:
    """Whether every `Local` and `Bound` conjunct whose symbols are all bound holds for all their events."""
    for predicate in query.predicates:
        if isinstance(predicate, Local | Bound):
            columns = [events_of(scope, entries, symbol) for symbol in predicate_symbols(predicate)]
            # A symbol without events makes the product empty: the conjunct is not tested yet.
            if not all(bool(predicate.fn(*events)) for events in product(*columns)):
                return False
    return True


def adjacent_conjuncts_hold(query: Query, scope: Scope, before: Sequence[Entry], after: Sequence[Entry]) -> bool:
    """Whether every `Adjacent` conjunct holds between entries that directly follow one another."""
    return all(
        bool(predicate.fn(scope.events[left], scope.events[right]))
        for predicate in query.predicates
        if isinstance(predicate, Adjacent)
        for left_symbol, left in before
        for right_symbol, right in after
        if (left_symbol, right_symbol) == (predicate.left, predicate.right)
    )


def aggregates_hold(
    scope: Scope, entries: Entries, aggregates: Sequence[KleeneAggregate], still_bindable: frozenset[str]
) -> bool:
    """Whether every aggregate conjunct holds that names no symbol which may still get events."""
    return all(
        bool(predicate.fn(*(events_of(scope, entries, symbol) for symbol in predicate.symbols)))
        for predicate in aggregates
        if still_bindable.isdisjoint(predicate.symbols)
    )


def linked_symbols(query: Query, negated: Pattern) -> frozenset[str]:
    """The symbols outside a negated sub-pattern that some conjunct compares with symbols inside it."""
    inside = symbols(negated, negated=True)
    linked: frozenset[str] = frozenset()
    for predicate in query.predicates:
        if isinstance(predicate, Bound) and not inside.isdisjoint(predicate.symbols):
            linked |= frozenset(predicate.symbols)
    return linked - inside
