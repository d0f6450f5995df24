"""A row pattern as a flat program, which `kernels.rows` runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eventide.kernels.arrays import IndexArray
from eventide.kernels.row_places import ACCEPT, CHECK, END, JUMP, LABEL, MARK, SPLIT, START

__all__ = ["ACCEPT", "CHECK", "END", "JUMP", "LABEL", "MARK", "SPLIT", "START", "Program"]

_NAMES = {
    LABEL: "label",
    SPLIT: "split",
    JUMP: "jump",
    START: "start",
    END: "end",
    MARK: "mark",
    CHECK: "check",
    ACCEPT: "accept",
}


@dataclass(frozen=True, slots=True)
class Program:
    """Instructions (op, a, b) over `labels`; `guarded` are those inside a loop whose iteration may match nothing."""

    labels: tuple[str, ...]
    instructions: tuple[tuple[int, int, int], ...]
    n_registers: int = 0
    guarded: frozenset[int] = frozenset()

    @property
    def is_endless(self) -> bool:
        """Whether a match may have any number of rows: control may go back."""
        return any(target <= pc for pc in range(len(self.instructions)) for target in self.successors(pc))

    def arrays(self) -> IndexArray:
        return np.array(self.instructions, dtype=np.int32).reshape(-1, 3)

    def joins(self, depends_on_path: Sequence[bool]) -> IndexArray:
        """Numbers of the points that remember failures, -1 elsewhere.

        Only where several ways meet, and only where what follows does not depend on the way: not before a label
        whose condition looks at other rows of the match, and not inside a loop that may match nothing, where it
        depends on the row at which the iteration began.
        """
        n = len(self.instructions)
        entries = [0] * n
        for pc in range(n):
            for target in self.successors(pc):
                entries[target] += 1
        depends = self._reaches(depends_on_path)
        joins = np.full(n, -1, dtype=np.int32)
        chosen = [pc for pc in range(n) if entries[pc] > 1 and not depends[pc] and pc not in self.guarded]
        joins[chosen] = np.arange(len(chosen), dtype=np.int32)
        return joins

    def successors(self, pc: int) -> tuple[int, ...]:
        """Where control may go next.

        >>> Program((), ((SPLIT, 1, 2), (JUMP, 0, 0), (ACCEPT, 0, 0))).successors(0)
        (1, 2)
        """
        op, a, b = self.instructions[pc]
        if op == SPLIT:
            return a, b
        if op == JUMP:
            return (a,)
        if op == CHECK:
            return pc + 1, b
        return () if op == ACCEPT else (pc + 1,)

    def _reaches(self, wanted: Sequence[bool]) -> list[bool]:
        """For each point whether a label of `wanted` may still be tried from it."""
        n = len(self.instructions)
        preceding: list[list[int]] = [[] for _ in range(n)]
        for pc in range(n):
            for target in self.successors(pc):
                preceding[target].append(pc)
        found = [op == LABEL and wanted[a] for op, a, _ in self.instructions]
        waiting = [pc for pc in range(n) if found[pc]]
        while waiting:
            for pc in preceding[waiting.pop()]:
                if not found[pc]:
                    found[pc] = True
                    waiting.append(pc)
        return found

    def dump(self) -> str:
        """The program as text, an instruction a line.

        >>> print(Program(("A",), ((LABEL, 0, 0), (SPLIT, 0, 2), (ACCEPT, 0, 0))).dump())
        0  label A
        1  split 0, 2
        2  accept
        """
        width = len(str(len(self.instructions) - 1))
        lines = [f"{pc:>{width}}  {self._describe(*code)}" for pc, code in enumerate(self.instructions)]
        return "\n".join(lines)

    def _describe(self, op: int, a: int, b: int) -> str:
        if op == LABEL:
            return f"label {self.labels[a]}{' excluded' if b else ''}"
        operands = {
            SPLIT: f" {a}, {b}",
            JUMP: f" {a}",
            MARK: f" r{a}",
            CHECK: f" r{a}, {b}",
        }
        return _NAMES[op] + operands.get(op, "")
