"""Whether a builder pattern may have exponentially many matches: what its automaton alone says.

A loop of states in which one event may do two things that both stay in the loop doubles the matches with every event.
"""

from __future__ import annotations

from itertools import combinations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from eventide.families.builder.automaton import compile_pattern, pattern_conditions
from eventide.families.builder.program import TAKE, Edge, Program
from eventide.families.builder.syntax import EventPattern, Link, Step, every_step
from eventide.plan.loops import MANY, loops_of


def warnings_of(pattern: EventPattern, program: Program | None = None) -> list[str]:
    """What to know of before it is run.

    >>> loop = Step(Link.BEGIN, "a", maximum=None, is_quantified=True, inner=Link.FOLLOWED_BY_ANY)
    >>> warnings_of(EventPattern((loop,)))
    ["'a' repeats in any combination: n events have up to 2^n matches; nothing bounds n: add within(...)"]
    >>> inner = Step(Link.BEGIN, "a", maximum=None, is_quantified=True)
    >>> warnings_of(EventPattern((Step(Link.BEGIN, group=(inner,), maximum=None, is_quantified=True),)))
    ["'a' repeats in several ways at once: n events have up to 2^n matches; nothing bounds n: add within(...)"]
    """
    program = compile_pattern(pattern) if program is None else program
    bound = "within(...) bounds n" if pattern.window_us is not None else "nothing bounds n: add within(...)"
    found = {step.shown: "repeats in any combination" for step in every_step(pattern.steps) if _combines(step)}
    told = {step.name for step in every_step(pattern.steps) if _combines(step) for step in every_step((step,))}
    for names in _ambiguous(program, _exclusive(pattern)):
        if not told.issuperset(names):
            found[" and ".join(f"'{name}'" for name in names)] = _verb(names)
    return [f"{name} {what}: n events have up to 2^n matches; {bound}" for name, what in found.items()]


def _verb(names: tuple[str, ...]) -> str:
    return f"repeat{'s' if len(names) == 1 else ''} in several ways at once"


def _combines(loop: Step) -> bool:
    """Whether each of many events may be taken or passed over."""
    if loop.maximum is not None and loop.maximum <= MANY:
        return False
    return loop.inner is Link.FOLLOWED_BY_ANY or any(
        step.link is Link.FOLLOWED_BY_ANY or step.inner is Link.FOLLOWED_BY_ANY for step in every_step(loop.group)
    )


def _ambiguous(program: Program, exclusive: set[frozenset[int]]) -> list[tuple[str, ...]]:
    """The steps of each loop in which one event may do two things."""
    found: dict[tuple[str, ...], None] = {}
    targets = [[edge.target for edge in edges if edge.target >= 0] for edges in program.states]
    for loop in loops_of(dict(enumerate(targets))):
        inside = [[edge for edge in program.states[state] if edge.target in loop] for state in sorted(loop)]
        if any(_overlap(one, two, exclusive) for edges in inside for one, two in combinations(edges, 2)):
            steps = sorted({edge.step for edges in inside for edge in edges if edge.action == TAKE})
            found[tuple(program.steps[step] for step in steps)] = None
    return list(found)


def _overlap(one: Edge, two: Edge, exclusive: set[frozenset[int]]) -> bool:
    """Whether one event may satisfy both."""
    return any(_possible(set(a) | set(b), exclusive) for a in one.terms for b in two.terms)


def _possible(literals: set[int], exclusive: set[frozenset[int]]) -> bool:
    if any(literal ^ 1 in literals for literal in literals):
        return False
    holding = {literal >> 1 for literal in literals if not literal & 1}
    return not any(pair <= holding for pair in exclusive)


def _exclusive(pattern: EventPattern) -> set[frozenset[int]]:
    """Conditions that no event meets both of: they compare one column with different constants."""
    constants = [_constants(text) for _, _, text in pattern_conditions(pattern)]
    return {
        frozenset((one, two))
        for one, two in combinations(range(len(constants)), 2)
        if any(constants[two].get(column, value) != value for column, value in constants[one].items())
    }


def _constants(text: str) -> dict[str, str]:
    """The columns that a condition wants to have a certain value."""
    try:
        tree = sqlglot.parse_one(text, read="spark")
    except SqlglotError:
        return {}
    found = {}
    for part in tree.flatten() if isinstance(tree, exp.And) else [tree]:
        part = part.unnest()
        if isinstance(part, exp.EQ):
            for column, value in ((part.this, part.expression), (part.expression, part.this)):
                if isinstance(column, exp.Column) and not column.table and isinstance(value, exp.Literal):
                    found[column.name.lower()] = value.sql()
    return found
