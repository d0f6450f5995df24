"""From a pattern to its template: the position automaton.

Implements semantics.md, "What counts as one": `*`, `?`, `{n,m}` and a nested OR are expanded inside one
template. A position consumes one event, or one AND as a whole. A negation is an empty piece of pattern: it
stands on the edges that pass over it, before the first or after the last position if nothing else is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

from tests.oracle.events.pattern import And, Not, Or, Pattern, Repeat, Seq, Type, symbols

Negations = frozenset[Pattern]
NONE: Negations = frozenset()


@dataclass(frozen=True)
class Position:
    """One place of the template and what one step into it consumes."""

    position_idx: int
    item: Type | And


@dataclass(frozen=True)
class Template:
    """Where a match starts and ends, which position follows which, and the negations passed on the way.

    `empties` holds the negations of every way to match nothing; it is empty when the pattern needs an event.
    """

    firsts: frozenset[tuple[Position, Negations]]
    lasts: frozenset[tuple[Position, Negations]]
    follows: frozenset[tuple[Position, Position, Negations]]
    empties: frozenset[Negations]

    def after(self, position: Position) -> list[tuple[Position, Negations]]:
        """The steps that leave a position."""
        return [(target, negations) for source, target, negations in self.follows if source == position]

    def still_bindable(self, position: Position) -> frozenset[str]:
        """The symbols of the position itself and of every position reachable from it."""
        reached = {position}
        while True:
            more = {target for source, target, _ in self.follows if source in reached} - reached
            if not more:
                return frozenset(symbol for place in reached for symbol in symbols(place.item))
            reached |= more


def build_template(pattern: Pattern) -> Template:
    """The position automaton of a pattern.

    >>> a, b = Type("A"), Type("B")
    >>> template = build_template(Repeat(Seq((Repeat(a, 1, None), b)), 1, None))
    >>> sorted((p.item.type, q.item.type) for p, q, _ in template.follows)
    [('A', 'A'), ('A', 'B'), ('B', 'A')]
    """
    return _build(pattern, count())


_NOTHING = Template(frozenset(), frozenset(), frozenset(), frozenset([NONE]))


def _build(pattern: Pattern, numbers: count[int]) -> Template:
    match pattern:
        case Type() | And():
            position = Position(next(numbers), pattern)
            ends = frozenset([(position, NONE)])
            return Template(ends, ends, frozenset(), frozenset())
        case Not(part):
            return Template(frozenset(), frozenset(), frozenset(), frozenset([frozenset([part])]))
        case Seq(parts):
            return _concatenate(_build(part, numbers) for part in parts)
        case Or(parts):
            return _alternate([_build(part, numbers) for part in parts])
        case Repeat(part, minimum, None):
            if minimum == 0:
                return _alternate([_loop(_build(part, numbers)), _NOTHING])
            copies = [_build(part, numbers) for _ in range(minimum)]
            return _concatenate([*copies[:-1], _loop(copies[-1])])
        case Repeat(part, minimum, maximum):
            result = _NOTHING
            for _ in range(maximum - minimum):
                result = _alternate([_concatenate([_build(part, numbers), result]), _NOTHING])
            return _concatenate([*(_build(part, numbers) for _ in range(minimum)), result])
    raise TypeError(f"not a pattern: {pattern!r}")


def _alternate(templates: Iterable[Template]) -> Template:
    templates = list(templates)
    return Template(
        frozenset().union(*(t.firsts for t in templates)),
        frozenset().union(*(t.lasts for t in templates)),
        frozenset().union(*(t.follows for t in templates)),
        frozenset().union(*(t.empties for t in templates)),
    )


def _concatenate(templates: Iterable[Template]) -> Template:
    result = _NOTHING
    for right in templates:
        left = result
        result = Template(
            left.firsts | {(p, skipped | n) for skipped in left.empties for p, n in right.firsts},
            right.lasts | {(p, n | skipped) for p, n in left.lasts for skipped in right.empties},
            left.follows | right.follows | _edges(left.lasts, right.firsts),
            frozenset(x | y for x in left.empties for y in right.empties),
        )
    return result


def _loop(template: Template) -> Template:
    back = _edges(template.lasts, template.firsts)
    return Template(template.firsts, template.lasts, template.follows | back, template.empties)


def _edges(lasts: Iterable, firsts: Iterable) -> frozenset[tuple[Position, Position, Negations]]:
    return frozenset((p, q, before | after) for p, before in lasts for q, after in firsts)
