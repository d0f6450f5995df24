"""How far into a pattern each position of its program lies, and how many events are missing from there.

The rank of a position counts the steps of the pattern up to it, from 1: a repetition counts as often as it must, or
may up to its bound, and once when it has none; of alternatives the longer one counts for what comes behind them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eventide.families.events.automaton import branches_of
from eventide.families.events.longest import Ranks, reached_from
from eventide.families.events.program import PatternProgram, Position
from eventide.lang.tree import And, Not, Or, Pattern, Repeat, Seq, Step

_FAR = 1 << 40


@dataclass(frozen=True, slots=True)
class Progress:
    """`missing[i]`: the least number of events that complete a match which stands at position i."""

    ranks: Ranks
    missing: tuple[int, ...]
    cost: tuple[int, ...]  # events that one step into a position takes

    def nearest(self, targets: list[int]) -> list[int]:
        """Those targets from which the fewest events, their own among them, complete a match."""
        total = {target: self.missing[target] + self.cost[target] for target in targets}
        return [target for target in dict.fromkeys(targets) if total[target] == min(total.values())]


def measure_progress(pattern: Pattern, program: PatternProgram) -> Progress:
    """The progress that the positions of a pattern's own branches stand for.

    >>> from eventide.lang import parse
    >>> from eventide.families.events.automaton import compile_pattern
    >>> pattern = parse("PATTERN SEQ(A, B+, OR(SEQ(C, D), E), F)").pattern
    >>> made = measure_progress(pattern, compile_pattern(pattern, "any"))
    >>> made.ranks.rank, made.missing
    ((1, 2, 3, 4, 3, 5), (3, 2, 2, 1, 1, 0))
    """
    rank = [0] * len(program.positions)
    most = [0] * len(program.positions)
    for branch, number in zip(branches_of(pattern), program.main, strict=True):
        mine = reached_from(program, [edge.target for edge in program.branches[number].starts])
        # Positions are numbered as the pattern is read, and a branch reaches all of its own.
        for position, own in zip(mine, _ranks(branch, 0), strict=True):
            rank[position] = own
        for position in mine:
            most[position] = max(rank[behind] for behind in reached_from(program, [position]))
    cost = [_least_events(program, position) for position in program.positions]
    return Progress(Ranks(tuple(rank), tuple(most)), tuple(_missing(program, cost)), tuple(cost))


def height(pattern: Pattern) -> int:
    """How many steps lie one behind the other."""
    match pattern:
        case Step() | And():
            return 1
        case Not():
            return 0
        case Seq():
            return sum(map(height, pattern.parts))
        case Or():
            return max(map(height, pattern.parts))
        case Repeat():
            return height(pattern.part) * _copies(pattern)


def _copies(pattern: Repeat) -> int:
    return max(pattern.minimum, 1) if pattern.maximum is None else pattern.maximum


def _ranks(pattern: Pattern, before: int) -> Iterator[int]:
    """In the order in which `automaton.py` makes positions."""
    match pattern:
        case Step() | And():
            yield before + 1
        case Seq():
            for part in pattern.parts:
                yield from _ranks(part, before)
                before += height(part)
        case Or():
            for part in pattern.parts:
                yield from _ranks(part, before)
        case Repeat():
            for copy in range(_copies(pattern)):
                yield from _ranks(pattern.part, before + copy * height(pattern.part))


def _least_events(program: PatternProgram, position: Position) -> int:
    """1 for a symbol; for an AND, the fewest events of each side together."""
    if position.conjunction is None:
        return 1
    sides = program.conjunctions[position.conjunction].sides
    return sum(min(_shortest(program, branch) for branch in side) for side in sides)


def _shortest(program: PatternProgram, branch: int) -> int:
    starts = [edge.target for edge in program.branches[branch].starts]
    cost = [0] * len(program.positions)
    for number in reached_from(program, starts):
        cost[number] = _least_events(program, program.positions[number])
    missing = _missing(program, cost)
    return min(missing[start] + cost[start] for start in starts)


def _missing(program: PatternProgram, cost: Sequence[int]) -> list[int]:
    missing = [0 if position.endings else _FAR for position in program.positions]
    changed = True
    while changed:
        changed = False
        for i, position in enumerate(program.positions):
            for edge in position.edges:
                through = missing[edge.target] + cost[edge.target]
                if through < missing[i]:
                    missing[i], changed = through, True
    return missing
