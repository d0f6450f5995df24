"""A situation query in both languages with its events: what the oracle expects, and whether the product returns it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from tests.families.compared import ComparedCase, Row
from tests.oracle.events.event import Event
from tests.oracle.situations import NAMES, Match, SituationQuery, matches
from tests.oracle.situations_aggregates import aggregate

SECOND_US = 1_000_000
SYMBOLS = "ABCDEF"
FLAGS = tuple(f"p{i}" for i in range(len(SYMBOLS)))
SCHEMA = {
    "kind": pa.string(),
    "id": pa.int64(),
    "g": pa.int32(),
    "h": pa.string(),
    "k": pa.int64(),
    **dict.fromkeys(FLAGS[:3], pa.bool_()),
    "x": pa.int32(),
    "y": pa.float64(),
    **dict.fromkeys(FLAGS[3:], pa.bool_()),
    "name": pa.string(),
}

COUNTS = ("count", "count_if", "regr_count")
PICKS = ("first", "last", "first ignore nulls", "last ignore nulls", "min", "max", "max_by", "min_by")
CONDITIONS = ("bool_and", "bool_or")
BITS = ("bit_and", "bit_or", "bit_xor")
STATISTICS = ("avg", "stddev", "stddev_pop", "var_samp", "var_pop", "skewness", "kurtosis")
REGRESSION = ("count", "avgx", "avgy", "sxx", "syy", "sxy", "slope", "intercept", "r2")
OF_TWO = ("corr", "covar_pop", "covar_samp", *(f"regr_{name}" for name in REGRESSION))


@dataclass(frozen=True)
class Column:
    """One RETURN item: start or end of a situation, an aggregate of its events, or a partition column."""

    function: str = ""
    symbol: str = ""
    column: str | None = None
    other: str | None = None  # a second argument

    @property
    def text(self) -> str:
        if not self.function:
            return str(self.column)
        if self.function in ("start", "end"):
            return f"{self.function}({self.symbol})"
        word, *rest = self.function.split(" ", 1)
        names = [self.column or "*", *([self.other] if self.other else [])]
        arguments = ", ".join(f"{self.symbol}.{name}" for name in names)
        return " ".join([f"{word}({arguments})", *rest])

    @property
    def columns(self) -> set[str]:
        """The columns that are read."""
        return {name for name in (self.column, self.other) if name is not None}

    def type(self, time: pa.DataType) -> pa.DataType:
        """What the result column is."""
        if self.function in ("start", "end"):
            return time
        if self.function in COUNTS:
            return pa.int64()
        if self.function in (*STATISTICS, *OF_TWO):
            return pa.float64()
        if self.function == "sum":
            return pa.float64() if self.column == "y" else pa.int64()
        return SCHEMA[str(self.column)]

    def value(self, match: Match, events: Sequence[Event], partition_by: Sequence[str]) -> Any:
        """What the oracle has for it."""
        match self.function:
            case "":
                return match.partition[partition_by.index(str(self.column))]
            case "start":
                return match.situations[self.symbol].ts
            case "end":
                return match.end(self.symbol)
        covered = match.covered(self.symbol, events)
        if self.column is None:
            return len(covered)
        values = ([events[i][name] for i in covered] for name in (self.column, self.other) if name is not None)
        return aggregate(self.function, *values)


@dataclass(frozen=True, repr=False)
class SituationCase(ComparedCase):
    """A query that relates situations."""

    oracle: SituationQuery
    read: tuple[str, ...]  # the columns that the query reads, in the order of the schema
    possible: bool = False

    def shown(self, event: dict[str, Any]) -> dict[str, Any]:
        return {name: event[name] for name in dict.fromkeys(["ts", "id", *self.partition_by, *self.read])}

    @property
    def time_type(self) -> pa.DataType:
        return pa.int64() if self.integer_time else pa.timestamp("us")

    def table(self) -> pa.Table:
        times = [event["ts"] * (1 if self.integer_time else SECOND_US) for event in self.events]
        columns = {name: pa.array([event[name] for event in self.events], kind) for name, kind in SCHEMA.items()}
        return pa.table({"ts": pa.array(times, self.time_type), **columns})

    def stream(self) -> list[Event]:
        """The oracle's events; ties are ordered by the sequence, or else by what the query reads, in schema order."""
        return [
            Event(
                event["ts"] * SECOND_US,
                sequence=event["id"] if "sequence" in self.options else None,
                values={name: event[name] for name in self.read},
                partition=tuple(event[name] for name in self.partition_by),
            )
            for event in self.events
        ]

    @cached_property
    def expected(self) -> list[Row]:
        """Per match: the RETURN columns, detected_at in microseconds, on request the relations of each constraint."""
        events = self.stream()
        rows = []
        for match in matches(self.oracle, events):
            shown = [column.value(match, events, self.partition_by) for column in self.columns]
            left_over = [[name for name in NAMES if name in names] for names in match.possible]
            rows.append((*shown, match.detected_at, *(left_over if self.possible else [])))
        return rows

    @property
    def relation_columns(self) -> list[str]:
        return [f"{c.left}_{c.right}" for c in self.oracle.constraints] if self.possible else []

    def check(self, result: pa.Table, *, types: bool = True) -> None:
        names = [*(f"r{i}" for i in range(len(self.columns))), "detected_at", *self.relation_columns]
        assert sorted(result.column_names) == sorted(names), f"{self}columns are {result.column_names}"
        wanted = [*(column.type(self.time_type) for column in self.columns), self.time_type]
        for name, kind in zip(names, wanted, strict=False):
            found = result.schema.field(name).type
            assert not types or _plain(found) == kind, f"{self}{name} is {found}, not {kind}"
        self.compare(self.expected, self.found(result), same)

    def found(self, result: pa.Table) -> list[Row]:
        """The product's rows in the form of the expected ones."""
        columns = []
        for i, column in enumerate(self.columns):
            is_time = column.function in ("start", "end")
            columns.append(self._times(result, f"r{i}") if is_time else result.column(f"r{i}").to_pylist())
        columns.append(self._times(result, "detected_at"))
        columns += [result.column(name).to_pylist() for name in self.relation_columns]
        return list(zip(*columns, strict=True))

    def _times(self, result: pa.Table, name: str) -> list[int | None]:
        if self.integer_time:
            return [None if time is None else time * SECOND_US for time in result.column(name).to_pylist()]
        column = result.column(name)
        if pa.types.is_null(column.type):
            return column.to_pylist()  # type: ignore[no-any-return]
        return column.cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]


def _plain(kind: pa.DataType) -> pa.DataType:
    """Spark's timestamps without a zone have one in a test's session."""
    return pa.timestamp("us") if pa.types.is_timestamp(kind) else kind


def same(expected: Any, found: Any) -> bool:
    """Doubles to nine digits, everything else exactly."""
    if found is None or expected is None:
        return found is expected
    if isinstance(found, float):
        return math.isclose(float(expected), found, rel_tol=1e-9, abs_tol=1e-9)
    return bool(expected == found)
