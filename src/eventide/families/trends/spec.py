"""What a worker needs to aggregate over trends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from eventide.families.events.program import PatternProgram
from eventide.families.trends.absences import Absence
from eventide.runtime.block import Layout
from eventide.runtime.encode import Encoding, place
from eventide.runtime.times import TimeType
from eventide.runtime.windows import CountWindows, Slide

MAX_SIDES = 6  # of an AND


def n_roles(n_sides: int) -> int:
    """How many sets of sides a trend may belong to; as bits they are the numbers from 1 on."""
    return (1 << n_sides) - 1


@dataclass(frozen=True, slots=True)
class Measure:
    """One aggregate: COUNT, SUM, MIN, MAX or AVG of a block column over the events of some symbols.

    `symbols` indexes `TrendSpec.counted`, None for COUNT(*); `column` is None for COUNT(E).
    """

    function: str
    symbols: int | None = None
    column: str | None = None
    dtype: pa.DataType | None = None  # of the column


@dataclass(frozen=True, slots=True)
class Comparison:
    """A test that is one comparison ("lt", "le", "gt", "ge", "eq") of two encodings: of the earlier and later event."""

    op: str
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class TrendSpec:
    """One aggregation; small and picklable. The first `n_group` partition columns are the group of a result."""

    family: ClassVar[str] = "trends"
    query: str
    layout: Layout
    program: PatternProgram
    sides: tuple[tuple[int, ...], ...]
    strategy: str
    min_length: int
    counted: tuple[frozenset[int], ...]
    measures: tuple[Measure, ...]
    time_type: TimeType
    n_group: int
    counts: str = "exact"
    on_overflow: str | None = None  # "error", "null"; None: the engine decides, without one it is an error
    slide: Slide | None = None  # None: one window holds everything
    count_windows: CountWindows | None = None
    ties_follow: bool = False  # tied events follow one another, by `tie_columns`
    tie_columns: tuple[str, ...] | None = None
    tests: tuple[tuple[int, int, int], ...] = ()  # symbol, symbol after it, bits of the tests between them
    tests_source: str | None = None
    encodings: tuple[Encoding, ...] = ()
    comparisons: tuple[Comparison | None, ...] = ()  # of each test, where it is one
    absences: tuple[Absence, ...] = ()  # negations whose matches are found before the trends, inner ones first
    user_groups: tuple[str, ...] = ()  # the user's names of the group columns, for messages
    alphabet: tuple[int, ...] | None = None  # the masks that events can have, without 0; None: not known
    facts: tuple[tuple[str, str], ...] = ()  # what else saved state depends on: see plan.facts

    @property
    def n_lengths(self) -> int:
        """The lengths of trends that are told apart: with AND, MIN LENGTH is about a pair's events together."""
        return 1 if len(self.sides) == 1 or self.min_length <= len(self.sides) else self.min_length

    @property
    def looks_to_edges(self) -> bool:
        """Whether an absence at the beginning or end of a window decides."""
        return any(absence.lead >= 0 or absence.trail >= 0 for absence in self.absences)

    def place(self, number: int) -> tuple[int, int]:
        """The array and row of a compared value: an encoding, or behind them ranks and absences."""
        n = len(self.encodings)
        if number < n:
            return place(self.encodings, number)
        return 0, number - sum(encoding.kind == "double" for encoding in self.encodings)

    @property
    def window_us(self) -> int | None:
        return None if self.slide is None else self.slide.length_us

    @property
    def fills_positions(self) -> bool:
        """Whether windows over positions can be returned one by one: the partitions of a group fill them apart."""
        return self.count_windows is not None and self.n_group == self.layout.n_partition
