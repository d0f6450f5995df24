"""Joins in the order of the fewest rows: begin with the rarest event, then go to what a condition relates to it.

Every condition is tested by the first join that has all its events.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from eventide.lang.tree import Strategy
from eventide.plan.relational.absences import absent, linked_symbols, negated_words, running
from eventide.plan.relational.algebra import Filter, Range, Relation
from eventide.plan.relational.matches import Condition, Gap, Matched, Matches, Var, Vars
from eventide.plan.relational.steps import BEFORE
from eventide.plan.relational.words import Element, Take, Word


class _Shape:
    """The events of a word, which of them follow which, and what must hold between them."""

    def __init__(self, matches: Matches) -> None:
        self.matches = matches
        self.relations: dict[Var, Relation] = {}
        self.order: set[tuple[Var, Var]] = set()
        self.conditions: list[Condition] = []
        self.gaps: list[Gap] = []

    def walk(self, word: Word) -> tuple[Vars, Vars]:
        """Take in a word; its first and its last events."""
        before: Vars = ()
        firsts: Vars = ()
        for element, gaps in zip(word.elements, word.gaps, strict=False):
            begins, ends = self._take(element)
            self.gaps += [Gap(pattern, before or None, begins) for pattern in gaps]
            if before:
                self._follow(before, begins)
            firsts, before = firsts or begins, ends
        self.gaps += [Gap(pattern, before, None) for pattern in word.gaps[-1]]
        return firsts, before

    def _take(self, element: Element) -> tuple[Vars, Vars]:
        if isinstance(element, Take):
            var, relation = self.matches.events(element.symbol)
            self.relations[var] = relation
            return (var,), (var,)
        sides = [self.walk(side) for side in element.sides]
        return tuple(v for begins, _ in sides for v in begins), tuple(v for _, ends in sides for v in ends)

    def _follow(self, ends: Vars, begins: Vars) -> None:
        matches = self.matches
        self.order |= set(product(ends, begins))
        self.conditions += matches.adjacent(ends, begins)
        if matches.plan.strategy is Strategy.CONTIGUOUS:
            text = f"{matches.first(begins, BEFORE)} = {matches.last(ends, matches.steps.rank)}"
            self.conditions.append(Condition(frozenset((*ends, *begins)), text))


def match_any(matches: Matches, word: Word) -> Matched:
    """The matches of a word, a set of events with conditions between them."""
    shape = _Shape(matches)
    firsts, lasts = shape.walk(word)
    whole = Matched(next(iter(shape.relations.values())), tuple(shape.relations), firsts, lasts)
    conditions = [*shape.conditions, *matches.tests(shape.relations)]
    open_gaps: list[Gap] = []
    late: list[Gap] = []
    for gap in shape.gaps:
        at_edge = gap.after is None or gap.before is None
        ways = _running(matches, shape, gap, whole)
        if ways is None:
            (open_gaps if at_edge else late).append(gap)
        elif at_edge:
            # What the edge of a window decides is tested when the window is known.
            open_gaps.append(gap)
        else:
            conditions += ways
    relation = _joined(matches, shape, conditions)
    for gap in late:
        for word in negated_words(matches, gap.pattern):
            relation = absent(matches, relation, gap, word, whole)
    return Matched(relation, whole.vars, firsts, lasts, tuple(open_gaps))


def _running(matches: Matches, shape: _Shape, gap: Gap, whole: Matched) -> list[Condition] | None:
    """Conditions on running extremes, which the relation of one event gets; None where events must be compared."""
    if gap.after is None or gap.before is None:
        return None
    words = negated_words(matches, gap.pattern)
    anchor = gap.before if len(gap.before) == 1 else gap.after
    if len(anchor) > 1 or any(linked_symbols(matches, word, whole.vars) for word in words):
        return None
    found = []
    for word in words:
        made = running(matches, shape.relations[anchor[0]], gap, word, whole)
        assert made is not None
        shape.relations[anchor[0]], condition = made
        found.append(condition)
    return found


def _joined(matches: Matches, shape: _Shape, conditions: list[Condition]) -> Relation:
    before = _closure(shape.order)
    ordered = order_of(matches, list(shape.relations), before)
    relation = shape.relations[ordered[0]]
    bound: list[Var] = [ordered[0]]
    own = [condition.text for condition in conditions if condition.vars <= {ordered[0]}]
    if own:
        relation = Filter(relation, tuple(own))
    for var in ordered[1:]:
        texts = [*_order_texts(matches, var, bound, before), *_window_texts(matches, var, bound, before)]
        known = {*bound, var}
        texts += [c.text for c in conditions if c.vars <= known and var in c.vars]
        relation = matches.join(relation, shape.relations[var], texts, _range(matches, var, bound, before))
        bound.append(var)
    return relation


def _closure(order: set[tuple[Var, Var]]) -> set[tuple[Var, Var]]:
    """What follows what, directly or not."""
    found = set(order)
    while True:
        more = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not more:
            return found
        found |= more


def order_of(matches: Matches, events: list[Var], before: set[tuple[Var, Var]]) -> list[Var]:
    """The events in the order in which they are joined: as written, or from the rarest one outwards."""
    estimates = matches.estimates
    if not estimates or len(events) < 2:
        return events
    at = {var: i for i, var in enumerate(events)}
    start = min(events, key=lambda var: (estimates.get(var.symbol, float("inf")), at[var]))
    chosen, left = [start], [var for var in events if var != start]
    while left:
        # Neighbours of what is joined: a window bounds what is further away less well.
        nearest = min(
            left,
            key=lambda var: (
                min(abs(at[var] - at[other]) for other in chosen),
                estimates.get(var.symbol, float("inf")),
                at[var],
            ),
        )
        chosen.append(nearest)
        left.remove(nearest)
    if chosen != events:
        names = ", ".join(var.symbol for var in chosen)
        n_events = estimates.get(start.symbol, 0)
        matches.reasons.append(f"order of joins {names}: {start.symbol} is rarest, about {n_events:,.0f} events")
    return chosen


def _order_texts(matches: Matches, var: Var, bound: list[Var], before: set[tuple[Var, Var]]) -> Iterator[str]:
    """What follows what, of the nearest ones only: the rest follows from it."""
    for other in bound:
        if (other, var) in before and not any((other, o) in before and (o, var) in before for o in bound):
            yield f"{matches.rank(other)} < {matches.rank(var)}"
        if (var, other) in before and not any((var, o) in before and (o, other) in before for o in bound):
            yield f"{matches.rank(var)} < {matches.rank(other)}"


def _window_texts(matches: Matches, var: Var, bound: list[Var], before: set[tuple[Var, Var]]) -> Iterator[str]:
    """The window, between the events that are furthest apart."""
    width = matches.window.width
    if width is None:
        return
    for other in bound:
        if (other, var) in before:
            if not any((o, other) in before for o in bound):
                yield f"{matches.place(var)} - {matches.place(other)} < {width}"
        elif (var, other) in before:
            if not any((other, o) in before for o in bound):
                yield f"{matches.place(other)} - {matches.place(var)} < {width}"
        else:
            yield f"{matches.place(var)} - {matches.place(other)} < {width}"
            yield f"{matches.place(other)} - {matches.place(var)} < {width}"


def _range(matches: Matches, var: Var, bound: list[Var], before: set[tuple[Var, Var]]) -> Range | None:
    """The window as a range, to the nearest event that is bound."""
    width = matches.window.width
    if width is None:
        return None
    for other in reversed(bound):
        if (other, var) in before:
            return Range(matches.place(other), matches.place(var), width, 1)
    for other in bound:
        if (var, other) in before:
            return Range(matches.place(other), matches.place(var), width, -1)
    return Range(matches.place(bound[0]), matches.place(var), width, 0)
