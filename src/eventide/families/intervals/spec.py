"""What a worker needs to derive intervals: small, frozen and picklable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from eventide.runtime.block import MAX_US, Layout
from eventide.runtime.encode import Encoding
from eventide.runtime.measured import RowOrder
from eventide.runtime.times import TimeType

START, END, COUNT, DETECTED_AT = "interval_start", "interval_end", "count", "detected_at"
RUNS, SPANS = "runs", "spans"
FIRST, LAST, EXTREME = "first", "last", "extreme"


@dataclass(frozen=True, slots=True)
class Extreme:
    """A minimum or maximum: its value is kept in `array` at `place`, read by the encoding of that number."""

    array: int  # of the kept arrays: 0 integers, 1 doubles
    place: int
    encoding: int


@dataclass(frozen=True, slots=True)
class Taken:
    """Output column: a block column of the first or last event, or of the event with an extreme value."""

    name: str
    column: str
    event: str  # FIRST, LAST or EXTREME
    extreme: int = -1


@dataclass(frozen=True, slots=True)
class Folded:
    """Output column: a number of the kept arrays (0 integers, 1 doubles, 2 counts); NULL where `count` says 0."""

    name: str
    array: int
    place: int
    dtype: pa.DataType
    count: int = -1


@dataclass(frozen=True, slots=True)
class IntervalSpec:
    """One derivation over blocks of a layout. Of each open interval its first and last event and aggregates are kept.

    `source` has the text of the kernel's generated regions, over `encodings`; `sizes` says how many integers, doubles,
    counts and rows of extreme values they keep.
    """

    family: ClassVar[str] = "intervals"
    query: str
    layout: Layout
    kind: str  # RUNS or SPANS
    time_type: TimeType
    order: tuple[RowOrder, ...]
    tie_columns: tuple[str, ...]
    minimum: int = 1
    maximum: int | None = None
    gap_us: int | None = None
    is_masked: bool = True  # whether the mask says something
    encodings: tuple[Encoding, ...] = ()
    source: tuple[tuple[str, str], ...] = ()
    sizes: tuple[int, int, int, int] = (0, 0, 0, 0)
    extremes: tuple[Extreme, ...] = ()
    taken: tuple[Taken, ...] = ()
    folded: tuple[Folded, ...] = ()
    detects: bool = False  # whether rows say when they were decided
    end_us: int = MAX_US  # how far time has come when the input ends
    facts: tuple[tuple[str, str], ...] = ()  # what else saved state depends on: see plan.facts
