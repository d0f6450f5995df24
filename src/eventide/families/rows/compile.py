"""Pattern to program: concatenation in line, choices as splits, quantifiers written out up to their bounds."""

from __future__ import annotations

from collections.abc import Iterator

from eventide.errors import QueryError
from eventide.families.rows.program import ACCEPT, CHECK, END, JUMP, LABEL, MARK, SPLIT, START, Program
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

MAX_INSTRUCTIONS = 200_000
MAX_PERMUTED = 13  # of single labels: 53,248 steps and the choices between them


def compile_pattern(pattern: RowPattern, text: str = "") -> Program:
    """The program of a pattern; `text` is the statement, for messages.

    >>> print(compile_pattern(Concat((Label("A"), Quantified(Label("B"), 1, None)))).dump())
    0  label A
    1  label B
    2  split 1, 3
    3  accept
    """
    writer = _Writer(text)
    writer.labels = {name: i for i, name in enumerate(dict.fromkeys(walk_labels(pattern)))}
    writer.write(pattern, excluded=False, depth=0)
    writer.add(ACCEPT, span=pattern.span, depth=0)
    return Program(tuple(writer.labels), tuple((op, a, b) for op, a, b in writer.code), tuple(writer.depths))


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
        self.depths: list[int] = []

    def add(self, op: int, a: int = 0, b: int = 0, *, span: Span, depth: int) -> int:
        if len(self.code) >= MAX_INSTRUCTIONS:
            hint = "lower its bounds, or match a longer run with + and test its length in DEFINE: count(*) <= 1000"
            message = (
                f"the pattern is too large: more than {MAX_INSTRUCTIONS:,} steps when its quantifiers are written out"
            )
            raise QueryError(message, self.text, span.start, span.end, hint=hint)
        self.code.append([op, a, b])
        self.depths.append(depth)
        return len(self.code) - 1

    def write(self, pattern: RowPattern, *, excluded: bool, depth: int) -> None:
        match pattern:
            case Label():
                self.add(LABEL, self.labels[pattern.name], int(excluded), span=pattern.span, depth=depth)
            case Concat():
                for part in pattern.parts:
                    self.write(part, excluded=excluded, depth=depth)
            case Choice():
                self._choice(pattern, excluded, depth)
            case Permute():
                self._permute(pattern, excluded, depth)
            case Anchor():
                self.add(END if pattern.at_end else START, span=pattern.span, depth=depth)
            case Excluded():
                self.write(pattern.part, excluded=True, depth=depth)
            case Quantified():
                self._quantified(pattern, excluded, depth)

    def _choice(self, pattern: Choice, excluded: bool, depth: int) -> None:
        exits = []
        for part in pattern.parts[:-1]:
            split = self.add(SPLIT, span=pattern.span, depth=depth)
            self.code[split][1] = len(self.code)
            self.write(part, excluded=excluded, depth=depth)
            exits.append(self.add(JUMP, span=pattern.span, depth=depth))
            self.code[split][2] = len(self.code)
        self.write(pattern.parts[-1], excluded=excluded, depth=depth)
        for jump in exits:
            self.code[jump][1] = len(self.code)

    def _permute(self, pattern: Permute, excluded: bool, depth: int) -> None:
        """What may follow depends on which parts are left, not on their order before: a choice for each set of them."""
        n_parts, span = len(pattern.parts), pattern.span
        if n_parts > MAX_PERMUTED:
            message = f"PERMUTE of {n_parts} parts has more orders than can be written out"
            hint = f"permute at most {MAX_PERMUTED}, or match (A | B | ...)+ and count each label in DEFINE"
            raise QueryError(message, self.text, span.start, span.end, hint=hint)
        everything = (1 << n_parts) - 1
        starts: dict[int, int] = {}
        jumps: list[tuple[int, int]] = []  # with the parts that are left behind them
        waiting = [everything]
        while waiting:
            left = waiting.pop()
            if left in starts:
                continue
            starts[left] = len(self.code)
            remaining = [i for i in range(n_parts) if left >> i & 1]
            for i in remaining:
                split = self.add(SPLIT, span=span, depth=depth) if i != remaining[-1] else None
                if split is not None:
                    self.code[split][1] = split + 1
                self.write(pattern.parts[i], excluded=excluded, depth=depth)
                jumps.append((self.add(JUMP, span=span, depth=depth), left & ~(1 << i)))
                if split is not None:
                    self.code[split][2] = len(self.code)
            # Sets in descending order, so that the first part's rest stands next.
            waiting += [left & ~(1 << i) for i in reversed(remaining) if left & ~(1 << i)]
        starts[0] = len(self.code)
        for jump, left in jumps:
            self.code[jump][1] = starts[left]

    def _quantified(self, pattern: Quantified, excluded: bool, depth: int) -> None:
        has_end = pattern.maximum is not None
        for _ in range(pattern.minimum if has_end else pattern.minimum - 1):
            self.write(pattern.part, excluded=excluded, depth=depth)
        if not has_end:
            self._loop(pattern, excluded, depth)
            return
        exits: list[tuple[int, int]] = []
        for _ in range(pattern.maximum - pattern.minimum if pattern.maximum is not None else 0):
            exits.append(self._split(pattern, depth))
            self._iteration(pattern, excluded, depth, exits)
        self._leave(exits)

    def _loop(self, pattern: Quantified, excluded: bool, depth: int) -> None:
        """Iterations without end; the first one is not asked whether there is one where there must be."""
        exits: list[tuple[int, int]] = []
        if pattern.minimum == 0:
            again, side = self._split(pattern, depth)
            exits.append((again, side))
            self._iteration(pattern, excluded, depth, exits)
            self.add(JUMP, again, span=pattern.span, depth=depth)
        else:
            again = len(self.code)
            self._iteration(pattern, excluded, depth, exits)
            split, side = self._split(pattern, depth)
            self.code[split][3 - side] = again
            exits.append((split, side))
        self._leave(exits)

    def _split(self, pattern: Quantified, depth: int) -> tuple[int, int]:
        """A choice between one more iteration, which follows, and the end: the operand to fill in later."""
        split = self.add(SPLIT, span=pattern.span, depth=depth)
        self.code[split][2 if pattern.reluctant else 1] = split + 1
        return split, 1 if pattern.reluctant else 2

    def _iteration(self, pattern: Quantified, excluded: bool, depth: int, exits: list[tuple[int, int]]) -> None:
        """One more iteration; one that matched no row is the last."""
        if not may_be_empty(pattern.part):
            self.write(pattern.part, excluded=excluded, depth=depth)
            return
        self.add(MARK, depth, span=pattern.span, depth=depth)
        self.write(pattern.part, excluded=excluded, depth=depth + 1)
        exits.append((self.add(CHECK, depth, span=pattern.span, depth=depth + 1), 2))

    def _leave(self, exits: list[tuple[int, int]]) -> None:
        for at, operand in exits:
            self.code[at][operand] = len(self.code)
