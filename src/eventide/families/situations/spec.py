"""What a situation operator needs to know: durations, allowed relations, aggregates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from eventide.runtime.block import Layout
from eventide.runtime.times import TimeType


@dataclass(frozen=True, slots=True)
class Measure:
    """An aggregate over the events of a situation; without a column it counts them."""

    symbol: int
    function: str
    column: str | None = None
    dtype: pa.DataType | None = None  # of the column
    other: str | None = None  # the column of a second argument
    other_dtype: pa.DataType | None = None

    def columns(self) -> list[tuple[str, pa.DataType]]:
        """The columns that are read, with their types."""
        both = ((self.column, self.dtype), (self.other, self.other_dtype))
        return [(name, dtype) for name, dtype in both if name is not None and dtype is not None]


@dataclass(frozen=True, slots=True)
class Related:
    """Two situations and the relations that are allowed, as bits of `kernels.relations`, and the other way round.

    `name` is the constraint's.
    """

    left: int
    right: int
    mask: int
    inverse: int
    name: str


@dataclass(frozen=True, slots=True)
class SituationSpec:
    """One situation query; bit k of an event's mask is the condition of symbol k."""

    family: ClassVar[str] = "situations"
    query: str
    layout: Layout
    symbols: tuple[str, ...]
    durations: tuple[tuple[int, int | None], ...]  # least and most microseconds of each symbol
    gaps: tuple[int | None, ...]  # microseconds of silence that each symbol bears
    related: tuple[Related, ...]
    complete: bool
    within_us: int | None
    measures: tuple[Measure, ...]
    starts: tuple[int, ...]  # symbols whose start is returned
    ends: tuple[int, ...]
    possible: bool  # the relations still possible are returned
    closes: bool  # the end of bounded input ends situations
    time_type: TimeType
    tie_columns: tuple[str, ...]
    facts: tuple[tuple[str, str], ...] = ()  # what else saved state depends on: see plan.facts

    @property
    def has_gaps(self) -> bool:
        """Whether the silence of a partition ends situations."""
        return any(gap is not None for gap in self.gaps)

    @property
    def window_us(self) -> int | None:
        return self.within_us
