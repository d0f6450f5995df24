"""Negations whose matches are found before the trends: those with conditions on adjacent events.

Such a match depends on its events, which no finite state can follow. What is known of it instead is, at every event,
how late a match that has ended before it began; so "none lies between two events" is one more test between the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eventide.families.events.program import Edge, Ending, PatternProgram


@dataclass(frozen=True, slots=True)
class Absence:
    """A negation, the number of its test between two events, and its bits in a mask.

    `lead` says of an event that no match has ended before it, `trail` that none begins after it; -1: not needed.
    """

    negation: int
    test: int
    lead: int = -1
    trail: int = -1


def find_absences(
    program: PatternProgram, tests: Sequence[tuple[int, int, int]], first_test: int
) -> tuple[Absence, ...]:
    """The negations with tests in them, those around them and all inside them; inner ones first."""
    pairs = {(left, right) for left, right, _ in tests}
    inside = [_inside(program, n) for n in range(len(program.negations))]
    found: set[int] = set()
    # A negation has a greater number than those inside it.
    for n in range(len(program.negations)):
        if inside[n] & found or _has_test(program, n, pairs):
            found.add(n)
    for n in reversed(range(len(program.negations))):
        if n in found:
            found |= inside[n]
    starts = {n for branch in program.branches for edge in branch.starts for n in edge.negations}
    ends = {n for position in program.positions for ending in position.endings for n in ending.negations}
    made = []
    bit = len(program.symbols)
    for k, n in enumerate(sorted(found)):
        lead, trail = (bit if n in starts else -1), (bit + (n in starts) if n in ends else -1)
        bit += (n in starts) + (n in ends)
        made.append(Absence(n, first_test + k, lead, trail))
    return tuple(made)


def positions_of(program: PatternProgram, negation: int) -> list[int]:
    """The positions of a negation's own pattern."""
    branches = (program.branches[branch] for branch in program.negations[negation].branches)
    return sorted({position for branch in branches for position in program.reached(branch)})


def absent_symbols(program: PatternProgram, absences: Iterable[Absence]) -> int:
    """The bits of symbols that stand in these negations only."""
    mine = {p for absence in absences for p in positions_of(program, absence.negation)}
    used, others = 0, 0
    for number, position in enumerate(program.positions):
        bit = 0 if position.symbol is None else 1 << position.symbol
        used, others = (used | bit, others) if number in mine else (used, others | bit)
    return used & ~others


def edge_symbols(program: PatternProgram, negation: int) -> tuple[int, int]:
    """The bits of the symbols that a match may begin with behind the negation, and end with before it."""
    first, last = 0, 0
    for branch in program.branches:
        for edge in branch.starts:
            if negation in edge.negations:
                first |= 1 << (program.positions[edge.target].symbol or 0)
    for position in program.positions:
        if any(negation in ending.negations for ending in position.endings):
            last |= 1 << (position.symbol or 0)
    return first, last


def _inside(program: PatternProgram, negation: int) -> set[int]:
    moves: list[Edge | Ending] = []
    for branch in program.negations[negation].branches:
        moves += program.branches[branch].starts
    for number in positions_of(program, negation):
        moves += [*program.positions[number].edges, *program.positions[number].endings]
    return {n for move in moves for n in move.negations}


def _has_test(program: PatternProgram, negation: int, pairs: set[tuple[int, int]]) -> bool:
    return any(
        (program.positions[number].symbol, program.positions[edge.target].symbol) in pairs
        for number in positions_of(program, negation)
        for edge in program.positions[number].edges
    )
