"""Aggregates that code keeps event by event: what one more value makes of COUNT, SUM, MIN, MAX and of squares.

Goes in: a `Fold`, and how a kernel spells the places where it is kept. Comes out: lines of source text over the local
variables nK, its count of values, and xK, itself. NULL is left out, NaN is the greatest, as Spark has it, and a sum of
whole numbers that leaves 64 bits raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from eventide.expressions.types import kind

INTEGERS, DOUBLES, COUNTS, ROWS = 0, 1, 2, 3
# The sum of squared distances from the mean, of which variances are made.
SQUARES = "SQUARES"

Read = Callable[[int, str], tuple[str, str]]  # a value of an event in a row: its text, and that of its being there


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate of value `value` of the events with the labels `members`; None: of events, whatever their labels.

    It is kept in `place` of an array, its count of values in place `number` of the counts, and the row of its event, if
    that is asked for, in place `extreme` of the rows.
    """

    function: str
    members: tuple[int, ...] | None
    value: int | None
    array: int = COUNTS
    place: int = -1
    number: int = 0
    extreme: int = -1

    @property
    def zero(self) -> str:
        return "0.0" if self.array == DOUBLES else "0"


class Folds:
    """The aggregates of a query, each once, and how many places of each array they take.

    >>> folds = Folds()
    >>> total = folds.add(Fold("SUM", None, 0), pa.float64())
    >>> folds.add(Fold("SUM", None, 0), pa.float64()) is total, folds.sizes
    (True, (0, 1, 1, 0))
    """

    def __init__(self, *, keeps_rows: bool = False) -> None:
        self.made: list[Fold] = []
        self._sizes = [0, 0, 0, 0]
        self._keeps_rows = keeps_rows  # of the events that have the extremes

    def add(self, fold: Fold, dtype: pa.DataType | None) -> Fold:
        """The fold with its places; `dtype` is the type of its value."""
        array = DOUBLES if dtype is not None and kind(dtype) in ("double", "float") else INTEGERS
        made = replace(fold, array=COUNTS if fold.function == "COUNT" else array)
        for known in self.made:
            if replace(known, place=-1, number=0, extreme=-1) == made:
                return known
        made = replace(made, number=self._next(COUNTS))
        if fold.function == SQUARES:
            self._next(array)  # of the mean, which stands before them
        if fold.function != "COUNT":
            made = replace(made, place=self._next(array))
        if fold.function in ("MIN", "MAX") and self._keeps_rows:
            made = replace(made, extreme=self._next(ROWS))
        self.made.append(made)
        return made

    def _next(self, array: int) -> int:
        self._sizes[array] += 1
        return self._sizes[array] - 1

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """How many integers, doubles, counts and rows are kept."""
        integers, doubles, counts, rows = self._sizes
        return integers, doubles, counts, rows


def taken(fold: Fold, y: str, n: str, x: str) -> list[str]:
    """Lines that take the value `y` into the aggregate `x` of `n` values.

    >>> print(*taken(Fold("SUM", None, 0, INTEGERS, 0), "y0", "n0", "x0"), sep="; ")
    x0 = add_int(x0, y0) if n0 > 0 else y0; n0 += 1
    """
    if fold.function == "COUNT":
        return [f"{n} += 1"]
    if fold.function == "SUM":
        added = f"{x} + {y}" if fold.array == DOUBLES else f"add_int({x}, {y})"
        return [f"{x} = {added} if {n} > 0 else {y}", f"{n} += 1"]
    k = fold.number
    if fold.function == SQUARES:
        # Welford's: no large squares are subtracted from one another.
        return [f"{n} += 1", f"d{k} = {y} - m{k}", f"m{k} += d{k} / {n}", f"{x} += d{k} * ({y} - m{k})"]
    better = {
        "MIN": f"{y} < {x} or ({x} != {x} and {y} == {y})",
        "MAX": f"{y} > {x} or ({y} != {y} and {x} == {x})",
    }[fold.function]
    kept = [f"    {x} = {y}", *([f"    r{k} = row"] if fold.extreme >= 0 else [])]
    return [f"if {n} == 0 or {better}:", *kept, f"{n} += 1"]


@dataclass(frozen=True, slots=True)
class Store:
    """How a kernel spells where folds are kept: arrays of integers, doubles, counts and rows.

    A cell is that of a place and of something that has folds, such as a row of a match; `by_owner`: in the other order.
    """

    arrays: tuple[str, ...]
    by_owner: bool = False

    def cell(self, array: int, place: int, owner: str) -> str:
        """The text of one cell."""
        at = f"{owner}, {place}" if self.by_owner else f"{place}, {owner}"
        return f"{self.arrays[array]}[{at}]"

    def cells(self, fold: Fold, owner: str) -> dict[str, tuple[str, str]]:
        """The variables of a fold: for each the cell, and what it is before the first event."""
        k = fold.number
        made = {f"n{k}": (self.cell(COUNTS, k, owner), "0")}
        if fold.array != COUNTS:
            made[f"x{k}"] = (self.cell(fold.array, fold.place, owner), fold.zero)
        if fold.function == SQUARES:
            made[f"m{k}"] = (self.cell(fold.array, fold.place - 1, owner), fold.zero)
        if fold.extreme >= 0:
            made[f"r{k}"] = (self.cell(ROWS, fold.extreme, owner), "row")
        return made

    def fold_lines(self, fold: Fold, read: Read, before: str, known: str, label: str = "") -> list[str]:
        """Lines that leave in variables what was kept of `before`, with the event of `row` in it.

        `known` is a condition under which there is something, "" for always and "False" for never; `label` is the
        variable with the event's label.
        """
        lines = []
        for name, (cell, zero) in self.cells(fold, before).items():
            text = zero if known == "False" else f"{cell} if {known} else {zero}" if known else cell
            lines.append(f"{name} = {text}")
        event = folded(fold, read, f"n{fold.number}", f"x{fold.number}")
        if fold.members is None:
            return lines + event
        wanted = " or ".join(f"{label} == {member}" for member in fold.members)
        return [*lines, f"if {wanted}:", *(f"    {line}" for line in event)]

    def keep_lines(self, fold: Fold, owner: str) -> list[str]:
        """Lines that keep what the variables hold."""
        return [f"{cell} = {name}" for name, (cell, _) in self.cells(fold, owner).items()]


def folded(fold: Fold, read: Read, n: str, x: str) -> list[str]:
    """Lines that take the event of `row` into an aggregate, if it has the value."""
    if fold.value is None:
        return [f"{n} += 1"]
    value, present = read(fold.value, "row")
    lines = taken(fold, f"y{x}", n, x)
    if fold.function != "COUNT":
        lines.insert(0, f"y{x} = {value}")
    return [f"if {present}:", *(f"    {line}" for line in lines)]
