"""The oracle's own row pattern tree, and its candidates in the standard's preferment order.

A candidate is a sequence of steps, one per row: the row's label, and whether the row stands in `{- -}`.
Implements SQL:2016 row patterns: alternation left to right, greedy and reluctant quantifiers, PERMUTE as the
alternation of all orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple


class Step(NamedTuple):
    """A row's label; an excluded row is matched and left out of ALL ROWS PER MATCH."""

    label: str
    excluded: bool = False


Steps = tuple[Step, ...]


@dataclass(frozen=True)
class Label:
    """One row that satisfies the label's condition."""

    name: str


@dataclass(frozen=True)
class Concat:
    """Parts one after the other; no parts: the empty pattern `()`."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Choice:
    """`P | Q`: the left one is preferred."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Permute:
    """`PERMUTE(P, Q)`: the parts in any order, preferred in lexicographic order of their places in the list."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Anchor:
    """`^`: before the partition's first row; `$`: after its last."""

    at_end: bool


@dataclass(frozen=True)
class Excluded:
    """`{- P -}`."""

    part: Pattern


@dataclass(frozen=True)
class Quantified:
    """`P{minimum,maximum}`, None for unbounded; greedy unless reluctant."""

    part: Pattern
    minimum: int
    maximum: int | None
    reluctant: bool = False


Pattern = Label | Concat | Choice | Permute | Anchor | Excluded | Quantified

EMPTY = Concat(())


@dataclass(frozen=True)
class _Attempt:
    """What stays the same while the pattern is tried from one row on."""

    start: int
    n_rows: int
    accepts: Callable[[Steps], bool]
    excluded: bool = False


def enumerate_in_order(
    pattern: Pattern, n_rows: int, start: int = 0, accepts: Callable[[Steps], bool] = lambda steps: True
) -> Iterator[Steps]:
    """The candidates for a match from row `start` of a partition of `n_rows` rows, the preferred one first.

    `accepts` is asked whenever a row was appended, about the steps up to that row: a candidate with a step that is
    not accepted is left out.

    >>> greedy = Quantified(Label("A"), 1, None)
    >>> [len(steps) for steps in enumerate_in_order(greedy, n_rows=3)]
    [3, 2, 1]
    >>> [len(steps) for steps in enumerate_in_order(replace(greedy, reluctant=True), n_rows=3)]
    [1, 2, 3]
    """
    return _extensions(pattern, (), _Attempt(start, n_rows, accepts))


def _extensions(pattern: Pattern, steps: Steps, attempt: _Attempt) -> Iterator[Steps]:
    """The given steps, followed by every way to match the pattern after them, in order."""
    position = attempt.start + len(steps)
    match pattern:
        case Label(name):
            longer = (*steps, Step(name, attempt.excluded))
            if position < attempt.n_rows and attempt.accepts(longer):
                yield longer
        case Concat(()):
            yield steps
        case Concat((head, *rest)):
            for longer in _extensions(head, steps, attempt):
                yield from _extensions(Concat(tuple(rest)), longer, attempt)
        case Choice(parts):
            for part in parts:
                yield from _extensions(part, steps, attempt)
        case Permute(parts):
            for order in permutations(parts):
                yield from _extensions(Concat(order), steps, attempt)
        case Anchor(at_end):
            if position == (attempt.n_rows if at_end else 0):
                yield steps
        case Excluded(part):
            yield from _extensions(part, steps, replace(attempt, excluded=True))
        case Quantified():
            yield from _iterations(pattern, 0, steps, attempt, set())


def _iterations(loop: Quantified, n_done: int, steps: Steps, attempt: _Attempt, tried: set) -> Iterator[Steps]:
    """A loop after `n_done` iterations: greedy prefers one more, reluctant prefers to leave."""
    # Arriving here again with the same steps would only repeat candidates that were offered before.
    state = (min(n_done, loop.minimum) if loop.maximum is None else n_done, steps)
    if state in tried:
        return
    tried.add(state)
    may_leave = n_done >= loop.minimum
    if may_leave and loop.reluctant:
        yield steps
    if loop.maximum is None or n_done < loop.maximum:
        for longer in _extensions(loop.part, steps, attempt):
            if may_leave and longer == steps:
                yield steps  # past the minimum, an iteration that matches no row ends the loop
            else:
                yield from _iterations(loop, n_done + 1, longer, attempt, tried)
    if may_leave and not loop.reluctant:
        yield steps


def labels(pattern: Pattern) -> frozenset[str]:
    """The labels that stand in a pattern.

    >>> sorted(labels(Concat((Label("B"), Excluded(Label("A"))))))
    ['A', 'B']
    """
    match pattern:
        case Label(name):
            return frozenset([name])
        case Anchor():
            return frozenset()
        case Excluded(part) | Quantified(part):
            return labels(part)
        case _:
            return frozenset().union(*map(labels, pattern.parts))


def has_exclusion(pattern: Pattern) -> bool:
    """Whether `{- -}` stands anywhere in a pattern."""
    match pattern:
        case Excluded():
            return True
        case Label() | Anchor():
            return False
        case Quantified(part):
            return has_exclusion(part)
        case _:
            return any(map(has_exclusion, pattern.parts))
