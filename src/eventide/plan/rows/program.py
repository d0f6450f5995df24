"""Pattern to program: concatenation in line, choices as splits, quantifiers unrolled up to their minimum."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from eventide.errors import QueryError
from eventide.lang.rows.tree import (
    Anchor,
    Choice,
    Concat,
    Excluded,
    Label,
    Permute,
    Quantified,
    RowPattern,
)
from eventide.lang.tree import Span
from eventide.operators.rows.program import ACCEPT, CHECK, END, JUMP, LABEL, MARK, SPLIT, START, Program

MAX_INSTRUCTIONS = 200_000
MAX_PERMUTED = 7  # 5,040 orders


def compile_pattern(pattern: RowPattern, text: str = "") -> Program:
    """The program of a pattern; `text` is the statement, for messages.

    >>> print(compile_pattern(Concat((Label("A"), Quantified(Label("B"), 1, None)))).dump())
    0  label A
    1  label B
    2  split 3, 5
    3  label B
    4  jump 2
    5  accept
    """
    writer = _Writer(text)
    writer.labels = {name: i for i, name in enumerate(dict.fromkeys(walk_labels(pattern)))}
    writer.write(pattern, excluded=False, guarded=False)
    writer.add(ACCEPT, span=pattern.span, guarded=False)
    return Program(
        tuple(writer.labels),
        tuple((op, a, b) for op, a, b in writer.code),
        writer.n_registers,
        frozenset(writer.guarded),
    )


def walk_labels(pattern: RowPattern) -> Iterator[str]:
    """The labels of a pattern as they stand, repeated ones repeatedly."""
    match pattern:
        case Label():
            yield pattern.name
        case Concat() | Choice() | Permute():
            for part in pattern.parts:
                yield from walk_labels(part)
        case Quantified() | Excluded():
            yield from walk_labels(pattern.part)
        case Anchor():
            pass


def may_be_empty(pattern: RowPattern) -> bool:
    """Whether the pattern can match no row at all.

    >>> may_be_empty(Quantified(Label("A"), 0, 1)), may_be_empty(Label("A"))
    (True, False)
    """
    match pattern:
        case Label():
            return False
        case Concat() | Permute():
            return all(may_be_empty(part) for part in pattern.parts)
        case Choice():
            return any(may_be_empty(part) for part in pattern.parts)
        case Quantified():
            return pattern.minimum == 0 or may_be_empty(pattern.part)
        case Excluded():
            return may_be_empty(pattern.part)
        case Anchor():
            return True


class _Writer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.labels: dict[str, int] = {}
        self.code: list[list[int]] = []
        self.guarded: set[int] = set()
        self.n_registers = 0

    def add(self, op: int, a: int = 0, b: int = 0, *, span: Span, guarded: bool) -> int:
        if len(self.code) >= MAX_INSTRUCTIONS:
            hint = "lower its bounds, or match a longer run with + and test its length in DEFINE: count(*) <= 1000"
            message = (
                f"the pattern is too large: more than {MAX_INSTRUCTIONS:,} steps when its quantifiers are written out"
            )
            raise QueryError(message, self.text, span.start, span.end, hint=hint)
        if guarded:
            self.guarded.add(len(self.code))
        self.code.append([op, a, b])
        return len(self.code) - 1

    def write(self, pattern: RowPattern, *, excluded: bool, guarded: bool) -> None:
        match pattern:
            case Label():
                self.add(LABEL, self.labels[pattern.name], int(excluded), span=pattern.span, guarded=guarded)
            case Concat():
                for part in pattern.parts:
                    self.write(part, excluded=excluded, guarded=guarded)
            case Choice():
                self._choice(pattern.parts, pattern.span, excluded, guarded)
            case Permute():
                if len(pattern.parts) > MAX_PERMUTED:
                    message = f"PERMUTE of {len(pattern.parts)} parts has more orders than can be written out"
                    hint = f"permute at most {MAX_PERMUTED}, or match (A | B | ...)+ and count each label in DEFINE"
                    raise QueryError(message, self.text, pattern.span.start, pattern.span.end, hint=hint)
                orders = [Concat(order) for order in permutations(pattern.parts)]
                self._choice(tuple(orders), pattern.span, excluded, guarded)
            case Anchor():
                self.add(END if pattern.at_end else START, span=pattern.span, guarded=guarded)
            case Excluded():
                self.write(pattern.part, excluded=True, guarded=guarded)
            case Quantified():
                self._quantified(pattern, excluded, guarded)

    def _choice(self, parts: tuple[RowPattern, ...], span: Span, excluded: bool, guarded: bool) -> None:
        exits = []
        for part in parts[:-1]:
            split = self.add(SPLIT, span=span, guarded=guarded)
            self.code[split][1] = len(self.code)
            self.write(part, excluded=excluded, guarded=guarded)
            exits.append(self.add(JUMP, span=span, guarded=guarded))
            self.code[split][2] = len(self.code)
        self.write(parts[-1], excluded=excluded, guarded=guarded)
        for jump in exits:
            self.code[jump][1] = len(self.code)

    def _quantified(self, pattern: Quantified, excluded: bool, guarded: bool) -> None:
        for _ in range(pattern.minimum):
            self.write(pattern.part, excluded=excluded, guarded=guarded)
        if pattern.maximum is None:
            self._loop(pattern, excluded, guarded)
            return
        splits = []
        for _ in range(pattern.maximum - pattern.minimum):
            splits.append(self._split(pattern, guarded))
            self._iteration(pattern, excluded, guarded, splits)
        for split, side in splits:
            self.code[split][side] = len(self.code)

    def _loop(self, pattern: Quantified, excluded: bool, guarded: bool) -> None:
        split, side = self._split(pattern, guarded)
        exits = [(split, side)]
        self._iteration(pattern, excluded, guarded, exits)
        self.add(JUMP, split, span=pattern.span, guarded=guarded)
        for at, operand in exits:
            self.code[at][operand] = len(self.code)

    def _split(self, pattern: Quantified, guarded: bool) -> tuple[int, int]:
        """A choice between one more iteration, which follows, and the end: the operand to fill in later."""
        split = self.add(SPLIT, span=pattern.span, guarded=guarded)
        self.code[split][2 if pattern.reluctant else 1] = split + 1
        return split, 1 if pattern.reluctant else 2

    def _iteration(self, pattern: Quantified, excluded: bool, guarded: bool, exits: list[tuple[int, int]]) -> None:
        """One more iteration; one that matched no row is the last."""
        if not may_be_empty(pattern.part):
            self.write(pattern.part, excluded=excluded, guarded=guarded)
            return
        register = self.n_registers
        self.n_registers += 1
        self.add(MARK, register, span=pattern.span, guarded=guarded)
        self.write(pattern.part, excluded=excluded, guarded=True)
        exits.append((self.add(CHECK, register, span=pattern.span, guarded=True), 2))
