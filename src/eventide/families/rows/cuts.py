"""The beginnings of a row pattern: what a partial match may have matched of it.

A beginning is a row pattern itself, cut off behind one of its labels. Its rank counts the labels up to the cut, as
`families/events/beginnings.py` counts steps. What begins with a beginning of some rank begins with one of every lower
rank, unless a part of the pattern is optional.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations

from eventide.lang.rows.tree import Anchor, Choice, Concat, Excluded, Label, Permute, Quantified, RowPattern


@dataclass(frozen=True, slots=True)
class Cut:
    """A pattern up to `label`; `missing` rows are needed behind it at least, first one of `needed`."""

    pattern: RowPattern
    label: str
    rank: int
    missing: int
    needed: tuple[str, ...]


def cuts_of(pattern: RowPattern) -> list[Cut]:
    """Every beginning of a pattern.

    >>> made = cuts_of(Concat((Label("A"), Quantified(Label("B"), 1, None), Label("C"))))
    >>> [(cut.label, cut.rank, cut.missing, cut.needed) for cut in made]
    [('A', 1, 2, ('B',)), ('B', 2, 1, ('C',)), ('C', 3, 0, ())]
    """
    return list(_cuts(_plain(pattern), 0, 0, ()))


def skips_ranks(pattern: RowPattern) -> bool:
    """Whether a match may reach a label without a beginning of every lower rank: some part of it is optional.

    >>> skips_ranks(Concat((Label("A"), Quantified(Label("B"), 1, None)))), skips_ranks(Quantified(Label("B"), 0, 2))
    (False, True)
    """
    match pattern:
        case Label() | Anchor():
            return False
        case Excluded(part):
            return skips_ranks(part)
        case Quantified(part, minimum):
            return minimum < _copies(pattern) or skips_ranks(part)
        case Concat(parts) | Choice(parts) | Permute(parts):
            # Alternatives of different lengths leave ranks out for what follows them.
            return any(map(skips_ranks, parts)) or len({_height(_plain(part)) for part in _alternatives(pattern)}) > 1


def _alternatives(pattern: RowPattern) -> tuple[RowPattern, ...]:
    return pattern.parts if isinstance(pattern, Choice) else ()


def first_labels(pattern: RowPattern) -> tuple[int, tuple[str, ...]]:
    """How many rows a match that is not empty has at least, and the labels with which such a match begins."""
    plain = _plain(pattern)
    return max(1, _least(plain)), _first(plain) or tuple(_all_first(plain))


def without_exclusions(pattern: RowPattern, *, in_order: bool = False) -> RowPattern:
    """The pattern with `{- -}` left away, as all rows are shown; `in_order`: with PERMUTE as a choice of orders."""

    def inside(part: RowPattern) -> RowPattern:
        return without_exclusions(part, in_order=in_order)

    match pattern:
        case Label() | Anchor():
            return pattern
        case Excluded(part):
            return inside(part)
        case Quantified(part):
            return replace(pattern, part=inside(part))
        case Permute(parts, span) if in_order:
            return Choice(tuple(Concat(order) for order in permutations(map(inside, parts))), span)
        case Concat(parts) | Choice(parts) | Permute(parts):
            return replace(pattern, parts=tuple(map(inside, parts)))


def _plain(pattern: RowPattern) -> RowPattern:
    return without_exclusions(pattern, in_order=True)


def _least(pattern: RowPattern) -> int:
    match pattern:
        case Label():
            return 1
        case Quantified(part, minimum):
            return minimum * _least(part)
        case Concat(parts):
            return sum(map(_least, parts))
        case Choice(parts):
            return min(map(_least, parts))
        case _:
            return 0


def _height(pattern: RowPattern) -> int:
    match pattern:
        case Label():
            return 1
        case Quantified():
            return _height(pattern.part) * _copies(pattern)
        case Concat(parts):
            return sum(map(_height, parts))
        case Choice(parts):
            return max(map(_height, parts))
        case _:
            return 0


def _copies(pattern: Quantified) -> int:
    return max(pattern.minimum, 1) if pattern.maximum is None else pattern.maximum


def _first(pattern: RowPattern) -> tuple[str, ...]:
    """The labels with which a shortest match begins; none where that is empty."""
    match pattern:
        case Label(name):
            return (name,)
        case Quantified(part, minimum):
            return _first(part) if minimum else ()
        case Concat(parts):
            return next((_first(part) for part in parts if _least(part)), ())
        case Choice(parts):
            shortest = [part for part in parts if _least(part) == _least(pattern)]
            return tuple(dict.fromkeys(label for part in shortest for label in _first(part)))
        case _:
            return ()


def _all_first(pattern: RowPattern) -> Iterator[str]:
    """The labels with which any match may begin."""
    match pattern:
        case Label(name):
            yield name
        case Quantified(part):
            yield from _all_first(part)
        case Choice(parts):
            for part in parts:
                yield from _all_first(part)
        case Concat(parts):
            for part in parts:
                yield from _all_first(part)
                if _least(part):
                    return


def _cuts(pattern: RowPattern, before: int, behind: int, then: tuple[str, ...]) -> Iterator[Cut]:
    match pattern:
        case Label(name):
            yield Cut(pattern, name, before + 1, behind, then)
        case Choice(parts):
            for part in parts:
                yield from _cuts(part, before, behind, then)
        case Concat(parts):
            for i, part in enumerate(parts):
                rest = Concat(parts[i + 1 :])
                for cut in _cuts(part, before, behind + _least(rest), _first(rest) or then):
                    yield _after(parts[:i], cut)
                before += _height(part)
        case Quantified():
            yield from _repeated(pattern, before, behind, then)


def _repeated(pattern: Quantified, before: int, behind: int, then: tuple[str, ...]) -> Iterator[Cut]:
    part, n_copies = pattern.part, _copies(pattern)
    for copy in range(n_copies):
        more = max(0, pattern.minimum - copy - 1)
        needed = _first(part) if more and _least(part) else then
        rounds: tuple[RowPattern, ...] = (part,) * copy
        if pattern.maximum is None and copy == n_copies - 1:
            # Greedy: what the repetition takes belongs to the partial match.
            rounds = (Quantified(part, copy, None),)
        for cut in _cuts(part, before + copy * _height(part), behind + more * _least(part), needed):
            yield _after(rounds, cut)


def _after(parts: tuple[RowPattern, ...], cut: Cut) -> Cut:
    if not parts:
        return cut
    return Cut(Concat((*parts, cut.pattern)), cut.label, cut.rank, cut.missing, cut.needed)
