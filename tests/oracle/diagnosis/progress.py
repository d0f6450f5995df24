"""How far a position of a template lies in its pattern, and what is needed behind it: paths through the template.

Nothing is cut. A pattern without its loops is a graph without circles, so the furthest way to a position and the
shortest way on from it are found by trying all ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tests.oracle.events.pattern import Or, Pattern, Repeat, Seq
from tests.oracle.events.template import Position, build_template


@dataclass(frozen=True)
class Progress:
    """`rank` counts the positions on the longest way to each; `missing` the events on the shortest way on.

    `needed` are the positions that come next on a shortest way. The key None stands for the way from the beginning to
    a match that has events.
    """

    rank: dict[Position, int]
    missing: dict[Position | None, int]
    needed: dict[Position | None, frozenset[Position]]


def progress(pattern: Pattern) -> Progress:
    """The progress of every position of a pattern without AND.

    >>> from tests.oracle.events.pattern import Type, plus, seq
    >>> found = progress(seq(Type("A"), plus(Type("B")), Type("C")))
    >>> {position.item.symbol: (rank, found.missing[position]) for position, rank in found.rank.items()}
    {'A': (1, 2), 'B': (2, 1), 'C': (3, 0)}
    """
    template, straight = build_template(pattern), build_template(_without_loops(pattern))
    # The two number their positions alike: a loop adds ways and no positions.
    positions = sorted(
        {p for p, _ in template.firsts} | {q for _, q, _ in template.follows}, key=lambda p: p.position_idx
    )
    ends = {position for position, _ in template.lasts}

    @cache
    def rank(position: Position) -> int:
        before = [rank(source) for source, target, _ in straight.follows if target == position]
        return 1 + max(before, default=0)

    missing: dict[Position | None, int] = dict.fromkeys(ends, 0)
    needed: dict[Position | None, frozenset[Position]] = dict.fromkeys(ends, frozenset())
    steps = [*((p, q) for p, q, _ in template.follows), *((None, q) for q, _ in template.firsts)]
    for length in range(1, len(positions) + 1):
        # Those that have no shorter way on than one event more than some position behind them.
        near = {q for q in positions if missing.get(q) == length - 1}
        for source in {p for p, q in steps if q in near and p not in missing}:
            missing[source] = length
            needed[source] = frozenset(q for p, q in steps if p == source and q in near)
    return Progress({position: rank(position) for position in positions}, missing, needed)


def _without_loops(pattern: Pattern) -> Pattern:
    match pattern:
        case Seq(parts):
            return Seq(tuple(map(_without_loops, parts)))
        case Or(parts):
            return Or(tuple(map(_without_loops, parts)))
        case Repeat(part, minimum, maximum):
            return Repeat(_without_loops(part), minimum, max(minimum, 1) if maximum is None else maximum)
    return pattern
