"""The longest partial match of MATCH_RECOGNIZE: all beginnings of the pattern are tried, the furthest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

from tests.oracle.rows.matches import Query, partitions, recognize
from tests.oracle.rows.pattern import Anchor, Choice, Concat, Excluded, Label, Pattern, Permute, Quantified


@dataclass(frozen=True)
class Cut:
    """A pattern up to one label: how many labels lead there, and which may come next on the shortest way."""

    pattern: Pattern
    label: str
    rank: int
    missing: int
    needed: frozenset[str]


@dataclass(frozen=True)
class Longest:
    """The labels of the rows that the longest partial match has, and those that may come next."""

    labels: tuple[str, ...]
    missing: int
    needed: frozenset[str]


def longest_partial_match(query: Query, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Longest | None:
    """The longest partial match in rows of one partition; None: they have a match.

    >>> from tests.oracle.rows.clause import read_clause
    >>> clause = read_clause("ORDER BY t PATTERN (A B+ C) DEFINE B AS x = 1, C AS x = 2")
    >>> longest_partial_match(clause, ["t", "x"], [(1, 0), (2, 1), (3, 1), (4, 0)]).labels
    ('A', 'B', 'B')
    """
    whole = _shown(query.pattern)
    columns, rows = _in_order(query, columns, rows)
    if _first_match(query, whole, whole, columns, rows) is not None:
        return None
    cuts = list(_cuts(whole, 0, 0, frozenset()))
    for rank in sorted({cut.rank for cut in cuts}, reverse=True):
        of_rank = [cut for cut in cuts if cut.rank == rank]
        found = _first_match(query, Choice(tuple(cut.pattern for cut in of_rank)), whole, columns, rows)
        if found is not None:
            # Cuts of one rank may need different numbers of rows: only those that match as far count.
            ends = [cut for cut in of_rank if _first_match(query, cut.pattern, whole, columns, rows) == found]
            missing = min(cut.missing for cut in ends)
            return Longest(found, missing, frozenset().union(*(cut.needed for cut in ends if cut.missing == missing)))
    return Longest((), 0, frozenset())


def _in_order(
    query: Query, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
    """The rows in the order of the query itself, and their places before all columns: they decide all ties."""
    named = [dict(zip([column.lower() for column in columns], row, strict=True)) for row in rows]
    ordered = [row for part in partitions(query, named) for row in part]
    return ["place", *columns], [(i, *row.values()) for i, row in enumerate(ordered)]


def _first_match(
    query: Query, pattern: Pattern, whole: Pattern, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> tuple[str, ...] | None:
    asked = replace(
        query,
        # Every label stays known.
        pattern=Choice((pattern, Concat((Label("NEVER"), whole)))),
        define={**query.define, "NEVER": "1 = 2"},
        measures={**query.measures, "number": "MATCH_NUMBER()", "label": "CLASSIFIER()"},
        rows="all",
        skip="past last row",
        skip_label=None,
    )
    names, found = recognize(asked, columns, rows)
    number, label = names.index("number"), names.index("label")
    first = [row[label] for row in found if row[number] == 1]
    return tuple(name for name in first if name is not None) if first else None


def _shown(pattern: Pattern) -> Pattern:
    """Without exclusions, PERMUTE written out."""
    match pattern:
        case Excluded(part):
            return _shown(part)
        case Concat(parts):
            return Concat(tuple(map(_shown, parts)))
        case Choice(parts):
            return Choice(tuple(map(_shown, parts)))
        case Permute(parts):
            return Choice(tuple(Concat(order) for order in permutations(map(_shown, parts))))
        case Quantified(part, minimum, maximum, reluctant):
            return Quantified(_shown(part), minimum, maximum, reluctant)
    return pattern


def _size(pattern: Pattern, longest: bool) -> int:
    """Rows of the shortest match, or how many labels lie one behind the other."""
    match pattern:
        case Label():
            return 1
        case Concat(parts):
            return sum(_size(part, longest) for part in parts)
        case Choice(parts):
            return (max if longest else min)(_size(part, longest) for part in parts)
        case Quantified(part, minimum, maximum):
            copies = (max(minimum, 1) if maximum is None else maximum) if longest else minimum
            return copies * _size(part, longest)
    return 0


def _first(pattern: Pattern) -> frozenset[str]:
    match pattern:
        case Label(name):
            return frozenset([name])
        case Concat(parts):
            return next((_first(part) for part in parts if _size(part, False)), frozenset())
        case Choice(parts):
            least = _size(pattern, False)
            return frozenset().union(*(_first(part) for part in parts if _size(part, False) == least))
        case Quantified(part, minimum) if minimum:
            return _first(part)
    return frozenset()


def _cuts(pattern: Pattern, before: int, behind: int, then: frozenset[str]) -> Iterator[Cut]:
    match pattern:
        case Label(name):
            yield Cut(pattern, name, before + 1, behind, then)
        case Choice(parts):
            for part in parts:
                yield from _cuts(part, before, behind, then)
        case Concat(parts):
            for i, part in enumerate(parts):
                rest = Concat(parts[i + 1 :])
                for cut in _cuts(part, before, behind + _size(rest, False), _first(rest) or then):
                    yield replace(cut, pattern=Concat((*parts[:i], cut.pattern)))
                before += _size(part, True)
        case Quantified(part, minimum, maximum):
            n_copies = max(minimum, 1) if maximum is None else maximum
            for copy in range(n_copies):
                more = max(0, minimum - copy - 1)
                needed = _first(part) if more and _size(part, False) else then
                rounds: tuple[Pattern, ...] = (part,) * copy
                if maximum is None and copy == n_copies - 1:
                    rounds = (Quantified(part, copy, None),)
                at = before + copy * _size(part, True)
                for cut in _cuts(part, at, behind + more * _size(part, False), needed):
                    yield replace(cut, pattern=Concat((*rounds, cut.pattern)))
        case Anchor():
            return
