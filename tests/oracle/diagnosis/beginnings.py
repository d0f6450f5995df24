"""The beginnings of a pattern: what a partial match may have matched of it, for patterns without AND.

A beginning is a pattern itself, cut off behind one of its steps. `rank` counts the steps of the whole pattern up to the
cut; `missing` is the least number of events behind it; `needed` are the symbols that may come next on the shortest way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.oracle.pattern import Not, Or, Pattern, Repeat, Seq, Type


@dataclass(frozen=True)
class Beginning:
    """A pattern up to one of its steps."""

    pattern: Pattern
    rank: int
    missing: int
    needed: frozenset[str]


def beginnings(pattern: Pattern) -> Iterator[Beginning]:
    """Every beginning of a pattern.

    >>> from tests.oracle.pattern import plus, seq
    >>> for beginning in beginnings(seq(Type("A"), plus(Type("B")), Type("C"))):
    ...     print(beginning.rank, beginning.missing, sorted(beginning.needed))
    1 2 ['B']
    2 1 ['C']
    2 1 ['C']
    3 0 []
    """
    yield from _cuts(pattern, 0, 0, frozenset())


def starts(pattern: Pattern) -> tuple[int, frozenset[str]]:
    """How many events a match that is not empty has at least, and with which symbols such a match begins."""
    single = [cut for cut in beginnings(pattern) if least_events(cut.pattern) == 1]
    least = min(1 + cut.missing for cut in single)
    return least, frozenset().union(*(_first(cut.pattern) for cut in single if 1 + cut.missing == least))


def least_events(pattern: Pattern) -> int:
    """How many events a match has at least."""
    match pattern:
        case Type():
            return 1
        case Not():
            return 0
        case Or(parts):
            return min(map(least_events, parts))
        case Seq(parts):
            return sum(map(least_events, parts))
        case Repeat(part, minimum):
            return minimum * least_events(part)
    raise TypeError(f"no beginnings of {pattern!r}")


def _height(pattern: Pattern) -> int:
    match pattern:
        case Type():
            return 1
        case Not():
            return 0
        case Or(parts):
            return max(map(_height, parts))
        case Seq(parts):
            return sum(map(_height, parts))
        case Repeat(part, minimum, maximum):
            return _height(part) * (maximum if maximum is not None else max(minimum, 1))
    raise TypeError(f"no beginnings of {pattern!r}")


def _first(pattern: Pattern) -> frozenset[str]:
    """The symbols with which a shortest match begins; none where that is empty."""
    match pattern:
        case Type(_, symbol):
            return frozenset([symbol])
        case Not():
            return frozenset()
        case Or(parts):
            least = least_events(pattern)
            return frozenset().union(*(_first(part) for part in parts if least_events(part) == least))
        case Seq(parts):
            return next((_first(part) for part in parts if least_events(part)), frozenset())
        case Repeat(part, minimum):
            return _first(part) if minimum else frozenset()
    raise TypeError(f"no beginnings of {pattern!r}")


def _cuts(pattern: Pattern, before: int, behind: int, then: frozenset[str]) -> Iterator[Beginning]:
    """`before` steps lie before the pattern; behind it at least `behind` events are needed, first one of `then`."""
    match pattern:
        case Type():
            yield Beginning(pattern, before + 1, behind, then)
        case Or(parts):
            for part in parts:
                yield from _cuts(part, before, behind, then)
        case Seq(parts):
            for i, part in enumerate(parts):
                rest = Seq(parts[i + 1 :])
                needed = _first(rest) or then
                for cut in _cuts(part, before, behind + least_events(rest), needed):
                    yield _after(parts[:i], cut)
                before += _height(part)
        case Repeat(part, minimum, maximum):
            yield from _repeated(part, minimum, maximum, before, behind, then)


def _repeated(
    part: Pattern, minimum: int, maximum: int | None, before: int, behind: int, then: frozenset[str]
) -> Iterator[Beginning]:
    n_copies = maximum if maximum is not None else max(minimum, 1)
    for copy in range(n_copies):
        more = max(0, minimum - copy - 1)
        needed = _first(part) if more and least_events(part) else then
        rounds = Repeat(part, copy, None) if maximum is None and copy == n_copies - 1 else None
        for cut in _cuts(part, before + copy * _height(part), behind + more * least_events(part), needed):
            yield _after((part,) * copy, cut)
            if rounds is not None:
                yield _after((rounds,), cut)


def _after(parts: tuple[Pattern, ...], cut: Beginning) -> Beginning:
    if not parts:
        return cut
    return Beginning(Seq((*parts, cut.pattern)), cut.rank, cut.missing, cut.needed)
