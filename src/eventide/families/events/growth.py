"""Whether a pattern may have exponentially many matches: what its automata alone say, before there are events.

A loop in which an event may be taken in two ways, or taken and passed over, doubles the matches with every event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from eventide.families.events.program import Branch, PatternProgram
from eventide.lang.tree import And, Not, Or, Pattern, Repeat, Seq, Step
from eventide.plan.lengths import most_events
from eventide.plan.loops import MANY, loops_of


def growth_lines(
    program: PatternProgram, pattern: Pattern, *, within: bool, tied: bool, types: dict[str, str], defined: Set[str]
) -> list[str]:
    """Lines for `explain`; `types` of symbols, `defined` those with a condition, which one event may meet several of.

    `tied`: events with equal times do not follow one another, so that each of them extends a match.
    """
    walked = [program.branches[number] for number in _walked(program)]
    loops = [loop for branch in walked for loop in _loops(program, branch)]
    lines: list[str] = []
    bound = "WITHIN bounds n" if within else None
    if any(branch.strategy == "any" for branch in walked):
        longest = _longest_repeat(pattern)
        if loops:
            text = "under skip-till-any a repetition of n events has up to 2^n matches"
            lines += _warned(text, bound, "SEMANTICS next")
        elif longest > MANY:
            text = f"under skip-till-any a repetition of up to {longest} events out of n has up to 2^n matches"
            lines += _warned(text, bound, "SEMANTICS next, or a lower bound")
        return lines
    for what, other in _choices(program, loops, types, defined):
        lines += _warned(f"in a repetition one event may {what}: n events have up to 2^n matches", bound, other)
        break
    if loops and tied:
        text = "events tied for the earliest each extend a match: k at each of n times have up to k^n matches"
        end = "WITHIN bounds n" if within else "WITHIN or ties='sequence' bounds them"
        lines.append(f"ties        {text}; {end}")
    return lines


def _warned(text: str, bound: str | None, other: str) -> list[str]:
    if bound is not None:
        return [f"results     {text}; {bound}"]
    return [f"results     {text}", f"warning     nothing bounds n: add WITHIN, or {other}"]


def _walked(program: PatternProgram) -> list[int]:
    """The branches whose matches are all looked for: of the pattern, and of the sides of each AND in it."""
    found: dict[int, None] = {}
    waiting = list(program.main)
    while waiting:
        number = waiting.pop()
        if number in found:
            continue
        found[number] = None
        for i in program.reached(program.branches[number]):
            conjunction = program.positions[i].conjunction
            if conjunction is not None:
                waiting += [branch for side in program.conjunctions[conjunction].sides for branch in side]
    return sorted(found)


def _loops(program: PatternProgram, branch: Branch) -> list[frozenset[int]]:
    """The sets of positions that can be reached from one another, in one step or more."""
    edges = {number: program.positions[number].edges for number in program.reached(branch)}
    return loops_of({number: [edge.target for edge in each] for number, each in edges.items()})


def _choices(
    program: PatternProgram, loops: Sequence[frozenset[int]], types: dict[str, str], defined: Set[str]
) -> Iterator[tuple[str, str]]:
    """What one event may be at once, at a step inside a loop, and what would keep it from that besides WITHIN."""
    for loop in loops:
        for number in sorted(loop):
            inside = [program.positions[edge.target] for edge in program.positions[number].edges if edge.target in loop]
            if any(position.symbol is None for position in inside):
                yield "begin several pairs of AND", "SEQ in place of AND"
            names = [program.symbols[i] for i in sorted({p.symbol for p in inside if p.symbol is not None})]
            for i, one in enumerate(names):
                for two in names[i + 1 :]:
                    if types[one] == types[two] or types[one] in defined or types[two] in defined:
                        yield f"be '{one}' or '{two}'", "conditions that exclude one another"


def _longest_repeat(pattern: Pattern) -> int:
    """The most events that a bounded repetition takes."""
    match pattern:
        case Step() | Not():
            return 0
        case Repeat():
            longest = most_events(pattern)
            return 0 if longest is None or pattern.maximum == pattern.minimum == 1 else longest
        case Seq() | And() | Or():
            return max(map(_longest_repeat, pattern.parts))
