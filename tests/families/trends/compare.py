"""One trend query in both languages with its events: what the oracle expects, and whether the product returns it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import pyarrow as pa

from tests.families.compared import ComparedCase, Row
from tests.oracle.events.event import Event
from tests.oracle.events.pattern import Type, nodes
from tests.oracle.events.query import Query
from tests.oracle.trends import Aggregate, AmbiguousBinding, aggregate

SECOND_US = 1_000_000
SCHEMA = {
    "kind": pa.string(),
    "id": pa.int64(),
    "g": pa.int32(),
    "h": pa.string(),
    "x": pa.int32(),
    "y": pa.float64(),
    "d": pa.decimal128(6, 2),
    "name": pa.string(),
}
# Arguments of aggregates that are no columns, as the oracle's columns.
COMPUTED = {"x * 2": lambda e: None if e["x"] is None else e["x"] * 2}
COUNT_TYPE = pa.decimal128(38, 0)


@dataclass(frozen=True)
class Column:
    """One RETURN item: an aggregate, or a column that the group has in common."""

    aggregate: Aggregate | None = None
    group: str | None = None

    @property
    def text(self) -> str:
        if self.aggregate is None:
            return str(self.group)
        what = self.aggregate
        argument = what.symbol if what.column is None else f"{what.symbol}.{what.column}"
        return f"{what.function}({argument})"

    def type(self, counts: str) -> pa.DataType:
        """What the result column is."""
        if self.aggregate is None:
            return SCHEMA[str(self.group)]
        kind = pa.null() if self.aggregate.column is None else SCHEMA.get(self.aggregate.column, pa.int32())
        match self.aggregate.function:
            case "COUNT":
                return COUNT_TYPE if counts == "exact" else pa.float64()
            case "SUM" if counts != "exact" or pa.types.is_floating(kind):
                return pa.float64()
            case "SUM":
                return pa.decimal128(38, kind.scale if pa.types.is_decimal(kind) else 0)
            case "AVG":
                return pa.float64()
        return kind


@dataclass(frozen=True, repr=False)
class TrendCase(ComparedCase):
    """A query for aggregates over trends; it is partitioned by PARTITION BY and equality."""

    oracle: Query
    group_by: tuple[str, ...]
    features: tuple[str, ...] = field(default=(), compare=False)

    def shown(self, event: dict[str, Any]) -> dict[str, Any]:
        return {name: str(value) if isinstance(value := event[name], Decimal) else value for name in ("ts", *SCHEMA)}

    def table(self) -> pa.Table:
        times = [event["ts"] for event in self.events]
        if self.integer_time:
            ts = pa.array(times, pa.int64())
        else:
            ts = pa.array([time * SECOND_US for time in times], pa.timestamp("us"))
        columns = {name: pa.array([event[name] for event in self.events], kind) for name, kind in SCHEMA.items()}
        return pa.table({"ts": ts, **columns})

    def stream(self) -> list[Event]:
        """The oracle's events; the columns in schema order, as ties without a sequence are ordered."""
        return [
            Event(
                event["ts"] * SECOND_US,
                sequence=event["id"],
                type=event["kind"],
                values={**event, **{name: made(event) for name, made in COMPUTED.items()}},
                partition=tuple(event[name] for name in self.partition_by if name not in self._groups),
            )
            for event in self.events
        ]

    @property
    def counts(self) -> str:
        return str(self.options.get("counts", "exact"))

    @cached_property
    def _groups(self) -> tuple[str, ...]:
        """GROUP BY columns and the partition columns in RETURN."""
        returned = [column.group for column in self.columns if column.group is not None]
        return tuple(dict.fromkeys([*self.group_by, *returned]))

    @cached_property
    def is_ambiguous(self) -> bool:
        """Whether an aggregate goes over a symbol for which one of the trends has two choices of events."""
        return self._outcome is None

    @cached_property
    def expected(self) -> list[Row]:
        """Per group and window: the RETURN columns, exactly, the window's borders and `detected_at`, in us."""
        assert self._outcome is not None, "ambiguous"
        return self._outcome

    @cached_property
    def _outcome(self) -> list[Row] | None:
        aggregates = [column.aggregate for column in self.columns if column.aggregate is not None]
        try:
            found = aggregate(self.oracle, self.stream(), self._groups, aggregates)
        except AmbiguousBinding:
            return None
        rows = []
        for row in found:
            values = iter(row.values)
            shown = []
            for column in self.columns:
                if column.aggregate is None:
                    shown.append(row.group[self._groups.index(str(column.group))])
                else:
                    shown.append(_as_counted(next(values), column.aggregate, self.counts))
            rows.append((*shown, row.window_start, row.window_end, row.detected_at))
        return rows

    @property
    def may_be_ambiguous(self) -> bool:
        """Whether the events of an aggregate's symbol could, as far as the pattern says, be another's too."""
        steps = {node.symbol: node.type for node in nodes(self.oracle.pattern) if isinstance(node, Type)}
        for column in self.columns:
            if column.aggregate is not None and column.aggregate.symbol != "*":
                own = column.aggregate.symbol
                others = [kind for symbol, kind in steps.items() if symbol != own]
                if any(kind == steps[own] or kind in self.oracle.types or self.oracle.types for kind in others):
                    return True
        return False

    def check(self, result: pa.Table, *, types: bool = True) -> None:
        names = [f"r{i}" for i in range(len(self.columns))]
        has_window = self.oracle.within is not None or self.oracle.within_events is not None
        added = ["window_start", "window_end"] if has_window else []
        shown = [name for name in result.column_names if name != "detected_at"]
        assert shown == [*names, *added], f"{self}columns are {shown}"
        for name, column in zip(names, self.columns, strict=True):
            found, wanted = result.schema.field(name).type, column.type(self.counts)
            assert not types or found == wanted, f"{self}{column.text} is {found}, not {wanted}"
        self.compare(self.expected, self.found(result), same)

    def found(self, result: pa.Table) -> list[Row]:
        """The product's rows in the form of the expected ones."""
        columns = [result.column(f"r{i}").to_pylist() for i in range(len(self.columns))]
        columns += [self._places(result, name) for name in ("window_start", "window_end")]
        columns.append(self._times(result, "detected_at"))
        return list(zip(*columns, strict=True))

    def _places(self, result: pa.Table, name: str) -> list[int | None]:
        if name not in result.column_names:
            return [None] * result.num_rows
        column = result.column(name)
        if self.oracle.within_events is not None:
            assert pa.types.is_integer(column.type), f"{self}{name} is {column.type}"
            return column.to_pylist()  # type: ignore[no-any-return]
        return self._times(result, name)

    def _times(self, result: pa.Table, name: str) -> list[int | None]:
        column = result.column(name)
        if self.integer_time:
            assert column.type == pa.int64(), f"{self}{name} is {column.type}"
            return [time * SECOND_US for time in column.to_pylist()]
        return column.cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]


def _as_counted(value: Any, what: Aggregate, counts: str) -> Any:
    if counts == "log2" and what.function == "COUNT":
        return math.log2(value) if value else None
    return value


def same(expected: Any, found: Any) -> bool:
    """Doubles to nine digits, everything else exactly."""
    if found is None or expected is None:
        # log2 of no event at all: nothing, or minus infinity.
        return found is expected or (expected is None and found == -math.inf)
    if isinstance(found, float):
        return math.isclose(float(expected), found, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(expected, int | Fraction) and isinstance(found, int | Decimal):
        return Fraction(found) == expected
    return bool(expected == found)
