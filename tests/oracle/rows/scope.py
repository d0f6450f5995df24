"""What a condition or measure can see: the rows of a partition, the labels given so far, the current row.

A place is an index into the partition's rows; None is a row that is not there, and its columns are NULL.
Implements SQL:2016 navigation: FIRST and LAST by label, PREV and NEXT by row, RUNNING and FINAL, CLASSIFIER.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class ClauseError(ValueError):
    """The clause is wrong, or uses what the oracle does not have."""


@dataclass(frozen=True)
class Scope:
    """Where an expression is evaluated; `labels` are those of the rows from `start` on.

    In DEFINE the labels end with the current row, whose label is the one being tested. In MEASURES all labels of the
    match are known, and RUNNING sees those up to the current row. An empty match has no labels and no current row.

    >>> rows = [{"x": 5}, {"x": 6}, {"x": 7}]
    >>> scope = Scope(rows, start=0, labels=("A", "B", "B"), current=1, match_number=1, variables={"B": {"B"}})
    >>> scope.value("x", scope.last("B")), scope.value("x", scope.last("B", final=True)), scope.classifier(scope.prev())
    (6, 7, 'A')
    """

    rows: Sequence[Mapping[str, Any]]
    start: int
    labels: Sequence[str]
    current: int | None
    match_number: int
    variables: Mapping[str, frozenset[str]]

    def places(self, variable: str | None = None, final: bool = False) -> list[int]:
        """The rows of a label or SUBSET, of the whole match without one: up to the current row, or all if final."""
        if variable is not None and variable not in self.variables:
            raise ClauseError(f"{variable} is neither a label of PATTERN nor a SUBSET")
        return [
            self.start + i
            for i, label in enumerate(self.labels)
            if (variable is None or label in self.variables[variable])
            and (final or (self.current is not None and self.start + i <= self.current))
        ]

    def first(self, variable: str | None = None, offset: int = 0, final: bool = False) -> int | None:
        """FIRST: the row `offset` rows of the variable after its first."""
        places = self.places(variable, final)
        return places[offset] if offset < len(places) else None

    def last(self, variable: str | None = None, offset: int = 0, final: bool = False) -> int | None:
        """LAST: the row `offset` rows of the variable before its last."""
        places = self.places(variable, final)
        return places[-1 - offset] if offset < len(places) else None

    def shift(self, place: int | None, by: int) -> int | None:
        """The row `by` rows further in the partition, in the match or not."""
        if place is None or not 0 <= place + by < len(self.rows):
            return None
        return place + by

    def prev(self, by: int = 1, variable: str | None = None) -> int | None:
        """PREV: counted from the variable's last row."""
        return self.shift(self.last(variable), -by)

    def next(self, by: int = 1, variable: str | None = None) -> int | None:
        """NEXT: counted from the variable's last row."""
        return self.shift(self.last(variable), by)

    def value(self, column: str, place: int | None) -> Any:
        """A column of a row."""
        if self.rows and column not in self.rows[0]:
            raise ClauseError(f"there is no column {column}")
        return None if place is None else self.rows[place][column]

    def values(self, column: str, variable: str | None = None, final: bool = False) -> list[Any]:
        """What an aggregate ranges over: a column of all rows of a variable, without NULLs."""
        values = [self.value(column, place) for place in self.places(variable, final)]
        return [value for value in values if value is not None]

    def classifier(self, place: int | None) -> str | None:
        """The label of a row; NULL for a row that has none yet."""
        if place is None or not self.start <= place < self.start + len(self.labels):
            return None
        return self.labels[place - self.start]
