"""A row pattern as a flat program, which `kernel.match_rows` runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eventide.families.rows.kernel_places import ACCEPT, CHECK, END, JUMP, LABEL, MARK, SPLIT, START
from eventide.runtime.kernels.arrays import IndexArray

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
    """Instructions (op, a, b) over `labels`; `depths` says in how many loops with empty iterations each of them is.

    The loops around an instruction keep the rows at which their iterations began in registers 0, 1, ..., from the
    outermost on.
    """

    labels: tuple[str, ...]
    instructions: tuple[tuple[int, int, int], ...]
    depths: tuple[int, ...] = ()

    @property
    def n_registers(self) -> int:
        return max(self.depths, default=0)

    @property
    def is_endless(self) -> bool:
        """Whether a match may have any number of rows: control may go back."""
        return any(target <= pc for pc in range(len(self.instructions)) for target in self.successors(pc))

    def arrays(self) -> IndexArray:
        """A row for each instruction, with its depth."""
        made = np.zeros((len(self.instructions), 4), dtype=np.int32)
        made[:, :3] = np.array(self.instructions, dtype=np.int32).reshape(-1, 3)
        made[: len(self.depths), 3] = self.depths
        return made

    def joins(self, depends_on_path: Sequence[bool]) -> IndexArray:
        """The first numbers of the points that remember failures, -1 elsewhere.

        Only where several ways meet, and only where what follows does not depend on the way: not before a label
        whose condition looks at other rows of the match. Inside loops with empty iterations it depends on how many of
        them, from the outermost on, have matched a row since their iteration began: so many numbers such a point has.
        """
        n = len(self.instructions)
        entries = [int(pc == 0) for pc in range(n)]
        for pc in range(n):
            for target in self.successors(pc):
                entries[target] += 1
        depends = self._reaches(depends_on_path)
        joins = np.full(n, -1, dtype=np.int32)
        chosen = [pc for pc in range(n) if entries[pc] > 1 and not depends[pc]]
        sizes = [1 + (self.depths[pc] if self.depths else 0) for pc in chosen]
        joins[chosen] = np.cumsum(sizes, dtype=np.int32) - np.array(sizes, dtype=np.int32)
        return joins

    def first_labels(self) -> set[int] | None:
        """The labels that a match may begin with; None: it may have no row at all.

        >>> Program(("A", "B"), ((SPLIT, 1, 2), (LABEL, 0, 0), (LABEL, 1, 0), (ACCEPT, 0, 0))).first_labels()
        {0, 1}
        """
        found: set[int] = set()
        seen, waiting = {0}, [0]
        while waiting:
            pc = waiting.pop()
            op, label, _ = self.instructions[pc]
            if op == ACCEPT:
                return None
            if op == LABEL:
                found.add(label)
                continue
            waiting += [target for target in self.successors(pc) if target not in seen]
            seen.update(waiting)
        return found

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
