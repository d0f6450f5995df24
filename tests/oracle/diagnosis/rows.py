"""The longest partial match of MATCH_RECOGNIZE: of all that the search for a match accepts, what leads furthest.

Every label of the pattern gets a name of its own, loops are written out as far as they must go round. So each accepted
row says where in the pattern it stands; `progress` says how far that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, permutations
from typing import Any

from tests.oracle.diagnosis.progress import progress
from tests.oracle.events import pattern as tree
from tests.oracle.rows.expressions import Expression, as_expression
from tests.oracle.rows.matches import Match, Query, Row, is_accepted, match_at, partitions
from tests.oracle.rows.pattern import (
    EMPTY,
    Anchor,
    Choice,
    Concat,
    Excluded,
    Label,
    Pattern,
    Permute,
    Quantified,
    Step,
    Steps,
    enumerate_in_order,
    labels,
)


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
    named = [dict(zip([column.lower() for column in columns], row, strict=True)) for row in rows]
    partition = [row for part in partitions(query, named) for row in part]
    search = _Search(query, partition, {name: as_expression(c, in_define=True) for name, c in query.define.items()})
    if any(match_at(query, search.define, partition, start, number=1) for start in range(len(partition))):
        return None
    pattern = _marked(_shown(query.pattern), count())
    far = progress(_as_tree(pattern))
    rank = {position.item.symbol: far.rank[position] for position in far.rank}
    reached = search.partial_matches(pattern)
    if not reached:
        return Longest((), 0, frozenset())
    most = max(rank[steps[-1].label] for _, steps in reached)
    furthest = [(start, steps) for start, steps in reached if rank[steps[-1].label] == most]
    start = min(start for start, _ in furthest)
    ends = [steps[-1].label for at, steps in furthest if at == start]
    found = search.preferred(_up_to(pattern, min(ends, key=_number)), start)
    same = {steps[-1].label for at, steps in furthest if at == start and _plain(steps) == _plain(found)}
    missing = {position.item.symbol: far.missing[position] for position in far.rank}
    least = min(missing[end] for end in same)
    nearest = [p for p in far.rank if p.item.symbol in same and far.missing[p] == least]
    needed = {name.item.symbol.partition("#")[0] for position in nearest for name in far.needed[position]}
    return Longest(_plain(found), least, frozenset(needed))


@dataclass(frozen=True)
class _Search:
    """The rows of a partition, and what DEFINE asks of them."""

    query: Query
    partition: Sequence[Row]
    define: Mapping[str, Expression]

    def partial_matches(self, pattern: Pattern) -> list[tuple[int, Steps]]:
        """All that is accepted on the way to a match, each with the row where it begins."""
        found = []
        for start in range(len(self.partition)):

            def accepts(steps: Steps, start: int = start) -> bool:
                if not self._is_accepted(steps, start):
                    return False
                found.append((start, steps))
                return True

            # Nothing is a match, so this tries everything.
            for _ in enumerate_in_order(pattern, len(self.partition), start, accepts):
                pass
        return found

    def preferred(self, pattern: Pattern, start: int) -> Steps:
        n_rows = len(self.partition)
        return next(enumerate_in_order(pattern, n_rows, start, lambda steps: self._is_accepted(steps, start)))

    def _is_accepted(self, steps: Steps, start: int) -> bool:
        match = Match(1, start, tuple(Step(label) for label in _plain(steps)))
        return is_accepted(self.query, self.define, self.partition, match)


def _plain(steps: Steps) -> tuple[str, ...]:
    return tuple(step.label.partition("#")[0] for step in steps)


def _number(name: str) -> int:
    return int(name.partition("#")[2])


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


def _marked(pattern: Pattern, numbers: count[int]) -> Pattern:
    """Every label numbered, `A#3`; what a loop must or may do several times stands there as often."""
    match pattern:
        case Label(name):
            return Label(f"{name}#{next(numbers)}")
        case Concat(parts):
            return Concat(tuple(_marked(part, numbers) for part in parts))
        case Choice(parts):
            return Choice(tuple(_marked(part, numbers) for part in parts))
        case Quantified(part, minimum, None, reluctant):
            before = [_marked(part, numbers) for _ in range(minimum - 1)]
            return Concat((*before, Quantified(_marked(part, numbers), min(minimum, 1), None, reluctant)))
        case Quantified(part, minimum, maximum, reluctant):
            must = [_marked(part, numbers) for _ in range(minimum)]
            may: Pattern = EMPTY
            for copy in reversed([_marked(part, numbers) for _ in range(maximum - minimum)]):
                may = Quantified(Concat((copy, may)), 0, 1, reluctant)
            return Concat((*must, may))
    return pattern


def _up_to(pattern: Pattern, name: str) -> Pattern:
    """The marked pattern as far as a label of it; the loop that the label stands in goes round as often as it can."""
    match pattern:
        case Concat(parts):
            i = next(i for i, part in enumerate(parts) if name in labels(part))
            return Concat((*parts[:i], _up_to(parts[i], name)))
        case Choice(parts):
            return next(_up_to(part, name) for part in parts if name in labels(part))
        case Quantified(part, _, None):
            return Concat((Quantified(part, 0, None), _up_to(part, name)))
        case Quantified(part):
            return _up_to(part, name)
    return pattern


def _as_tree(pattern: Pattern) -> tree.Pattern:
    """The marked pattern as the template of event patterns takes it; `^` and `$` take no row."""
    match pattern:
        case Label(name):
            return tree.Type(name)
        case Concat(parts):
            return tree.Seq(tuple(map(_as_tree, parts)))
        case Choice(parts):
            return tree.Or(tuple(map(_as_tree, parts)))
        case Quantified(part, minimum, maximum):
            return tree.Repeat(_as_tree(part), minimum, maximum)
        case Anchor():
            return tree.Seq(())
    raise TypeError(f"not written out: {pattern!r}")
