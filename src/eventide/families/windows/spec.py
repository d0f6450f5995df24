"""What a windowed aggregation needs to know: the windows, and the aggregates over their events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from eventide.runtime.block import Layout
from eventide.runtime.times import TimeType

# The kinds of windows.
TIME, GROWING, SESSION, COUNT, ALL = "time", "growing", "session", "count", "all"
LIST = "LIST"  # all values, in order of time: what the engine makes other aggregates of
WINDOW_START, WINDOW_END, DETECTED_AT = "window_start", "window_end", "detected_at"
IS_FINAL = "is_final"


@dataclass(frozen=True, slots=True)
class Measure:
    """An aggregate over the events of a window; without a column it counts them.

    LIST has all values of an event's columns side by side, `more` those beyond the second.
    """

    function: str
    column: str | None = None
    dtype: pa.DataType | None = None  # of the column
    other: str | None = None  # the column of a second argument
    other_dtype: pa.DataType | None = None
    more: tuple[tuple[str, pa.DataType], ...] = field(default=(), kw_only=True)
    # Exact in 38 digits, averages in the nearest double: as aggregates over trends are.
    is_wide: bool = field(default=False, kw_only=True)

    def columns(self) -> list[tuple[str, pa.DataType]]:
        """The columns that are read, with their types."""
        both = ((self.column, self.dtype), (self.other, self.other_dtype))
        found = [(name, dtype) for name, dtype in both if name is not None and dtype is not None]
        return [*found, *self.more]

    @property
    def is_list(self) -> bool:
        """Whether it is made of all values, in place of an aggregate of them."""
        return self.function == LIST


def list_of(columns: Sequence[tuple[str, pa.DataType]]) -> Measure:
    """The measure that has all values of some columns."""
    both = [part for column in columns[:2] for part in column]
    return Measure(LIST, *both, more=tuple(columns[2:]))


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of one kind, in microseconds or events.

    TIME: `[origin + k * slide, origin + k * slide + size)`. GROWING: from every `size` on, up to each `slide` of it.
    SESSION: until `size` has passed without an event. COUNT: as TIME, of positions in the group from 0 on.
    ALL: one for each group.
    """

    kind: str
    size: int
    slide: int
    origin: int = 0

    @property
    def panes_per_slide(self) -> int:
        """One, or two where windows also end inside a slide: also those that are shorter than it.

        Of windows that count events, every event is a pane.
        """
        if self.kind == COUNT:
            return self.slide
        return 2 if self.kind == TIME and self.size % self.slide else 1

    @property
    def rest(self) -> int:
        """How far behind the beginning of a slide windows end; 0: they end where slides do."""
        return self.size % self.slide if self.kind == TIME else 0

    @property
    def panes_per_window(self) -> int:
        if self.kind == COUNT:
            return self.size
        n_whole = self.size // self.slide
        return 2 * n_whole + 1 if self.panes_per_slide == 2 else n_whole


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """One windowed aggregation. Events that do not count have no bit in their mask."""

    family: ClassVar[str] = "windows"
    query: str
    layout: Layout
    windows: Windows
    measures: tuple[Measure, ...]
    time_type: TimeType
    tie_columns: tuple[str, ...] = ()
    is_filtered: bool = False  # events without a bit in their mask may come
    every_us: int = 0  # how often windows that are open are returned; 0: never
    is_early: bool = False  # they are: input is still coming
    has_empty: bool = False  # also windows without events, between two with some
    facts: tuple[tuple[str, str], ...] = ()
