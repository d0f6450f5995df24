"""A compiled pattern: position automata, the negations on their edges, and the conjunctions that are one step.

The program is immutable and small; `tables` gives the arrays that the kernel walks on, `dump` a readable listing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from eventide.families.events.kernel_places import Program
from eventide.runtime.effort import MANY
from eventide.runtime.kernels.arrays import IntArray

Numbers: TypeAlias = tuple[int, ...]
STRATEGIES = ("any", "next", "contiguous")


@dataclass(frozen=True, slots=True)
class Edge:
    """A step to a position: the negations it passes over, and the aggregate conjuncts whose symbols it closes."""

    target: int
    negations: Numbers = ()
    closes: Numbers = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """A way to end at a position: the negations behind it, and the aggregate conjuncts that are left."""

    negations: Numbers = ()
    closes: Numbers = ()


@dataclass(frozen=True, slots=True)
class Position:
    """One place of an automaton: a symbol, or a conjunction as a whole; the steps that leave it, and how it ends."""

    symbol: int | None
    conjunction: int | None
    edges: tuple[Edge, ...] = ()
    endings: tuple[Ending, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """One automaton: where it starts, and how it selects events."""

    starts: tuple[Edge, ...]
    strategy: str


@dataclass(frozen=True, slots=True)
class Negation:
    """What must not happen: a match of one of the branches. `linked` symbols outside it take part in its conjuncts."""

    branches: Numbers
    linked: Numbers = ()
    n_windows: int = 0  # how many windows behind its own first event it must see


@dataclass(frozen=True, slots=True)
class Conjunction:
    """AND: the branches of each side, and the aggregate conjuncts over symbols of several sides."""

    sides: tuple[Numbers, ...]
    closes: Numbers = ()


@dataclass(frozen=True)
class PatternProgram:
    """Everything by number: positions are those of all branches; `branches[i] for i in main` is the pattern."""

    symbols: tuple[str, ...]
    positions: tuple[Position, ...]
    branches: tuple[Branch, ...]
    main: Numbers
    negations: tuple[Negation, ...] = ()
    conjunctions: tuple[Conjunction, ...] = ()  # inner ones first
    may_repeat: bool = False  # whether one binding may be found in several ways
    n_nested: int = 0  # how deep NOT is inside NOT

    @property
    def n_windows(self) -> int:
        """How many windows behind a match's last event the negations inside it must see."""
        return max((negation.n_windows for negation in self.negations), default=0)

    @property
    def may_double(self) -> bool:
        """Whether the partial matches may double with every event: something repeats, or there are many steps."""
        numbered = enumerate(self.positions)
        loops = any(edge.target <= number for number, position in numbered for edge in position.edges)
        return loops or len(self.positions) > MANY

    @property
    def waits(self) -> bool:
        """Whether a match may be decided only by events behind its last one."""
        behind = any(ending.negations for position in self.positions for ending in position.endings)
        return behind or self.n_windows > 0

    @cached_property
    def first_bits(self) -> int:
        """The bits of the symbols that the first event of a match may have."""
        bits, waiting = 0, list(self.main)
        while waiting:
            for edge in self.branches[waiting.pop()].starts:
                position = self.positions[edge.target]
                if position.symbol is not None:
                    bits |= 1 << position.symbol
                if position.conjunction is not None:
                    waiting += [number for side in self.conjunctions[position.conjunction].sides for number in side]
        return bits

    @cached_property
    def tables(self) -> Program:
        """The program as arrays."""
        sources = [position.edges for position in self.positions] + [branch.starts for branch in self.branches]
        edges = [edge for source in sources for edge in source]
        endings = [ending for position in self.positions for ending in position.endings]
        moves: list[Edge | Ending] = [*edges, *endings]
        negation_lo = _offsets(move.negations for move in moves)
        close_lo = _offsets(move.closes for move in moves)
        n_edges = len(edges)
        items = [self._item(position) for position in self.positions]
        return Program(
            item=_array(items),
            edge_lo=_offsets(sources),
            edge_to=_array(edge.target for edge in edges),
            edge_neg_lo=negation_lo[: n_edges + 1],
            edge_close_lo=close_lo[: n_edges + 1],
            end_lo=_offsets(position.endings for position in self.positions),
            end_neg_lo=negation_lo[n_edges:],
            end_close_lo=close_lo[n_edges:],
            negations=_array(number for move in moves for number in move.negations),
            closings=_array(number for move in moves for number in move.closes),
            want=_array(_bits(items[edge.target] for edge in source) for source in sources),
            want_offer=_array(int(any(items[edge.target] < 0 for edge in source)) for source in sources),
            neg_lo=_offsets(negation.branches for negation in self.negations),
            neg_branch=_array(number for negation in self.negations for number in negation.branches),
            link_lo=_offsets(negation.linked for negation in self.negations),
            link=_array(number for negation in self.negations for number in negation.linked),
            neg_bits=_array(self._single_bits(negation) for negation in self.negations),
            strategies=_array(STRATEGIES.index(branch.strategy) for branch in self.branches),
        )

    def _item(self, position: Position) -> int:
        if position.symbol is not None:
            return position.symbol
        assert position.conjunction is not None
        return -1 - position.conjunction

    def _single_bits(self, negation: Negation) -> int:
        """The bits of the symbols when the negation is one event of several that nothing else decides, else 0."""
        bits = 0
        for number in negation.branches:
            starts = self.branches[number].starts
            if negation.linked or len(starts) != 1 or starts[0].negations or starts[0].closes:
                return 0
            position = self.positions[starts[0].target]
            if position.symbol is None or position.edges or position.endings != (Ending(),):
                return 0
            bits |= 1 << position.symbol
        return bits

    def dump(self) -> list[str]:
        """One line per position with the steps that leave it; branches and negations by number."""
        lines: list[str] = []
        shown: set[int] = set()
        for number in [*self.main, *(i for i in range(len(self.branches)) if i not in self.main)]:
            branch = self.branches[number]
            lines.append(f"{self._role(number)}, {branch.strategy}: start {self._steps(branch.starts)}")
            for position in self.reached(branch):
                if position not in shown:
                    shown.add(position)
                    lines.append(f"  {self._line(position)}")
        return lines

    def _role(self, number: int) -> str:
        if number in self.main:
            return "match" if len(self.main) == 1 else f"match {self.main.index(number) + 1} of {len(self.main)}"
        for i, negation in enumerate(self.negations):
            if number in negation.branches:
                return f"not {i}"
        for i, conjunction in enumerate(self.conjunctions):
            for k, side in enumerate(conjunction.sides):
                if number in side:
                    return f"and {i}, side {k + 1}"
        raise AssertionError("a branch without a role")

    def reached(self, branch: Branch) -> list[int]:
        """The positions of a branch, ascending."""
        found: dict[int, None] = {}
        waiting = [edge.target for edge in branch.starts]
        while waiting:
            position = waiting.pop(0)
            if position not in found:
                found[position] = None
                waiting += [edge.target for edge in self.positions[position].edges]
        return sorted(found)

    def _line(self, number: int) -> str:
        position = self.positions[number]
        what = f"and {position.conjunction}" if position.symbol is None else self.symbols[position.symbol]
        parts = [f"then {self._steps(position.edges)}"] if position.edges else []
        for ending in position.endings:
            absent = "".join(f" not {i}" for i in ending.negations)
            parts.append("end" + (f" if{absent}" if absent else ""))
        return f"{number}  bind {what}; {', or '.join(parts)}"

    def _steps(self, edges: Sequence[Edge]) -> str:
        return ", ".join(f"{edge.target}{''.join(f' if not {i}' for i in edge.negations)}" for edge in edges)


def _array(numbers: Iterable[int]) -> IntArray:
    return np.array(list(numbers), dtype=np.int64)


def _offsets(groups: Iterable[Sequence[object]]) -> IntArray:
    return np.cumsum([0, *(len(group) for group in groups)], dtype=np.int64)


def _bits(items: Iterable[int]) -> int:
    bits = 0
    for item in items:
        if item >= 0:
            bits |= 1 << item
    return bits
