"""What an engine gets: SQL to make blocks, an operator spec, SQL to finish the rows. Nothing about patterns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from eventide.errors import EventideError
from eventide.runtime.block import MAX_US, MIN_US, Layout
from eventide.runtime.computed import Computed
from eventide.runtime.protocol import Spec
from eventide.runtime.times import TimeType

if TYPE_CHECKING:
    # Workers take plans apart, and know nothing of languages.
    from eventide.plan.logical import Logical

Piece: TypeAlias = tuple[str, int, int]  # of a Parquet file: path, first row group, row group after the last


@dataclass(frozen=True, slots=True)
class Addend:
    """A whole number in DuckDB's SQL; `column` is the only one of the user's that it reads, None: it may read more."""

    column: str | None
    duckdb: str


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """One SELECT item in both dialects; `duckdb` is None when only Spark can evaluate it."""

    name: str
    spark: str
    duckdb: str | None
    origin: str | None = None  # the user's column that it is a copy of, or whose type it has
    dtype: pa.DataType | None = None  # of a computed column, where it is known
    addends: tuple[Addend, ...] | None = None  # of a whole number, never NULL: what it is the sum of, of none 0
    n_bits: int = 0  # of a mask


def column_as(name: str, column: str, *, origin: str | None = None, dtype: pa.DataType | None = None) -> SqlColumn:
    """A column as it is, under another name.

    >>> column_as("c0", "price").duckdb
    '"price"'
    """
    quoted = column.replace('"', '""')
    return SqlColumn(name, "`" + column.replace("`", "``") + "`", f'"{quoted}"', origin, dtype)


@dataclass(frozen=True, slots=True)
class IntervalSide:
    """One of the tables whose intervals are related; for points the start is the end."""

    name: str
    bit: int  # in the mask
    start: str  # as the user calls it, for messages
    end: str
    names: tuple[tuple[str, str], ...]  # block column and the user's name for it, for messages


@dataclass(frozen=True, slots=True)
class IntervalIntake:
    """How rows of two tables become a block: see `engines.intake`."""

    sides: tuple[IntervalSide, ...]
    has_start: bool = True  # False: rows have one time, and no column for a start


@dataclass(frozen=True, slots=True)
class Input:
    """One of several inputs of a query: how it is selected into the columns that all of them have.

    The inputs follow one another, as in a UNION ALL. The plan's `select` is over the whole.
    """

    name: str  # as the query calls it
    select: tuple[SqlColumn, ...]
    shown: tuple[tuple[str, str], ...]  # result columns that are columns of this input, with their names in it


@dataclass(frozen=True, slots=True)
class Intake:
    """How raw selected columns become a block: see `engines.intake`."""

    layout: Layout
    time_type: TimeType
    ts_column: str  # as the user calls it, for messages
    drop_bad_events: bool
    keep_all: bool  # contiguous: events that no step wants still break contiguity
    names: tuple[tuple[str, str], ...] = ()  # block column and the user's name for it, for messages
    no_time_hint: str = 'fill in the time, or pass on_bad_event="drop" to drop and count such events'
    intervals: IntervalIntake | None = None

    @property
    def time_name(self) -> str:
        """The time column as the user calls it; of intervals the one that they end with."""
        if self.intervals is None:
            return self.ts_column
        return "' and '".join(dict.fromkeys(side.end for side in self.intervals.sides))

    @property
    def identifying(self) -> list[tuple[str, str]]:
        """The names that tell an event without a time from others."""
        return [(block, name) for block, name in self.names if name != self.ts_column]


@dataclass(frozen=True, slots=True)
class NamedType:
    """An event type of the pattern that is a value of a column, not a condition of its own."""

    column: str
    name: str
    negated: bool  # under NOT


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column of the user's against constants: what the statistics of a column can rule out."""

    column: str
    op: str  # "eq", "lt", "le", "gt", "ge" or "in"
    values: tuple[Any, ...]  # as the values of literals: see `expressions.typed`
    dtype: pa.DataType


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events some step wants: the steps' conditions over the user's columns, joined by OR.

    The texts hold what storage can use, and no more. Where that is not all, the mask decides besides.
    """

    spark: str  # empty where storage can use nothing
    duckdb: str | None  # None: only Spark evaluates it
    is_exact: bool  # the texts say all that the mask says
    steps: tuple[tuple[Comparison, ...], ...]  # of each step what all its events meet


@dataclass(frozen=True, slots=True)
class NeededStep:
    """A step that every match has an event for."""

    name: str
    bit: int  # in the mask
    wanted: Wanted  # its events


@dataclass(frozen=True, slots=True)
class Needed:
    """What every match holds. Events far from that are in no match, and tell nothing about one: see `plan.needed`."""

    steps: tuple[NeededStep, ...]
    reach_us: int  # an event that matters to a match lies less than this from the match's event of each of the steps
    first_us: int = MIN_US  # no event before it matters, as conditions on the time tell
    last_us: int = MAX_US


@dataclass(frozen=True, slots=True)
class Physical:
    """An executable query over one input schema."""

    text: str
    intake: Intake
    select: tuple[SqlColumn, ...]  # the block's columns, `ts` still in the user's type, `mask` as bigint
    spec: Spec
    project: tuple[SqlColumn, ...]  # the user's columns, over the operator's output columns
    having: SqlColumn | None = None  # a condition over the same columns: rows without it are left out
    reads: tuple[str, ...] = ()  # the user's columns that `select` reads
    inputs: tuple[Input, ...] = ()  # none: there is one, and `select` is over its columns
    align_to_first: bool = False  # sliding windows begin at the first event
    allowed_lateness_us: int = 0
    takes_codes: bool = False  # strings may come to the operator as dictionaries
    max_rows: int | None = None  # of one partition, where the operator does not count its matches itself
    holds_aggregates: bool = False  # the operator turns events into aggregates as they come
    windows_close: bool = False  # the operator forgets an event when the windows that hold it have ended
    passes_over: bool = False  # it leaves out events that no step wants, at less cost than a filter
    output_schema: pa.Schema | None = field(default=None, compare=False)  # of the operator's rows
    computed: tuple[Computed, ...] = ()  # columns that `project` may read besides the operator's
    types: tuple[NamedType, ...] = ()
    stream_refusal: str | None = None  # what a stream would miss, for `explain`
    needs_end: bool = False  # the latest time of the whole input decides what is over: see `plan.ending`
    closes_at_end: bool = False  # the end of the input is the end of time
    wanted: Wanted | None = None  # None: events that no step wants matter, too, or only the mask tells them
    needed: Needed | None = None  # None: events may matter that are far from all others


@dataclass(frozen=True, slots=True)
class Planned:
    """A query over inputs of a kind: what it asks, the rules that have changed that, and what an engine runs."""

    node: Logical
    applied: tuple[str, ...] = ()  # a line for each rule
    physical: Physical | None = None
    missing: EventideError | None = None  # why there is nothing that an engine could run

    def ready(self) -> Physical:
        """What an engine runs; what has no operator yet is an error that says so."""
        if self.physical is None:
            assert self.missing is not None
            raise self.missing
        return self.physical
