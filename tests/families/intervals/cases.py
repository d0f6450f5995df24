"""Random events, conditions and values, each with its meaning in Python, and the intervals that the oracle derives."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import eventide as ev
from eventide.families.intervals.lower import Deriving, Runs, Spans
from eventide.families.registry import family_named
from eventide.plan.ending import with_end
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from tests.drawn import drawn_rows
from tests.oracle.intervals import (
    Conjunct,
    Event,
    detected_at,
    heterogeneous,
    homogeneous,
    is_over,
    ordered,
    partitions,
)

SCHEMA = pa.schema(
    [
        ("seq", pa.int64()),
        ("ts", pa.int64()),
        ("key", pa.int64()),
        ("kind", pa.string()),
        ("x", pa.int64()),
        ("y", pa.float64()),
    ]
)
SECOND_US = 1_000_000


def _if_known(function: Callable[..., Any]) -> Callable[..., Any]:
    """SQL's way with NULL: unknown in, unknown out."""
    return lambda *given: None if None in given else function(*given)


_ge, _gt, _le, _lt, _eq, _ne, _sub = map(
    _if_known,
    (
        lambda a, b: a >= b,
        lambda a, b: a > b,
        lambda a, b: a <= b,
        lambda a, b: a < b,
        lambda a, b: a == b,
        lambda a, b: a != b,
        lambda a, b: a - b,
    ),
)
_far = _if_known(lambda a, b, least: abs(a - b) >= least)


def _column(name: str, events: list[Event]) -> list[Any]:
    return [event[name] for event in events if event[name] is not None]


def _of(aggregate: Callable[[list[Any]], Any], name: str) -> Callable[[list[Event]], Any]:
    """An aggregate of a column, NULL where no event has a value."""

    def of_events(events: list[Event]) -> Any:
        values = _column(name, events)
        return aggregate(values) if values else None

    return of_events


def _mean(values: list[Any]) -> float:
    return math.fsum(values) / len(values)


def _stddev(values: list[Any]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def absolute(holds: Callable[[Event], bool | None]) -> Conjunct:
    return Conjunct("absolute", holds)


def relative(holds: Callable[[list[Event], Event], bool | None]) -> Conjunct:
    return Conjunct("relative", holds)


def aggregate(holds: Callable[[list[Event]], bool | None]) -> Conjunct:
    return Conjunct("aggregate", holds)


CONJUNCTS: dict[str, Conjunct] = {
    "x >= 2": absolute(lambda e: _ge(e["x"], 2)),
    "y < 2.5": absolute(lambda e: _lt(e["y"], 2.5)),
    "kind = 'a'": absolute(lambda e: _eq(e["kind"], "a")),
    "(x IS NULL OR x <> 3)": absolute(lambda e: e["x"] is None or e["x"] != 3),
    "x >= prev(x)": relative(lambda run, e: _ge(e["x"], run[-1]["x"])),
    "y >= 1.5 * prev(y)": relative(lambda run, e: _ge(e["y"], None if run[-1]["y"] is None else 1.5 * run[-1]["y"])),
    "kind = prev(kind)": relative(lambda run, e: _eq(e["kind"], run[-1]["kind"])),
    "kind >= first(kind)": relative(lambda run, e: _ge(e["kind"], run[0]["kind"])),
    "abs(y - first(y)) >= 1": relative(lambda run, e: _far(e["y"], run[0]["y"], 1)),
    "first(x) <= prev(x)": relative(lambda run, e: _le(run[0]["x"], run[-1]["x"])),
    "coalesce(prev(x), 0) <> coalesce(x, 0)": relative(lambda run, e: (run[-1]["x"] or 0) != (e["x"] or 0)),
    "abs(x - min(x)) >= 1": relative(lambda run, e: _far(e["x"], _of(min, "x")([*run, e]), 1)),
    "y >= avg(y)": relative(lambda run, e: _ge(e["y"], _of(_mean, "y")([*run, e]))),
    "avg(y) >= 1.5": aggregate(lambda run: _ge(_of(_mean, "y")(run), 1.5)),
    "sum(x) <= 6": aggregate(lambda run: _le(_of(sum, "x")(run), 6)),
    "count(*) <= 3": aggregate(lambda run: len(run) <= 3),
    "count(x) >= 1": aggregate(lambda run: len(_column("x", run)) >= 1),
    "max(x) - min(x) <= 2": aggregate(lambda run: _le(_sub(_of(max, "x")(run), _of(min, "x")(run)), 2)),
    "coalesce(stddev(y), 0) < 1.3": aggregate(lambda run: (_of(_stddev, "y")(run) or 0) < 1.3),
}

VALUES: dict[str, Callable[[list[Event]], Any]] = {
    "count(x)": lambda run: len(_column("x", run)),
    "count_if(y > 1)": lambda run: sum(y > 1 for y in _column("y", run)),
    "sum(x)": _of(sum, "x"),
    "sum(y)": _of(math.fsum, "y"),
    "avg(x)": _of(_mean, "x"),
    "min(x)": _of(min, "x"),
    "max(y)": _of(max, "y"),
    "min(kind)": _of(min, "kind"),
    "max(kind)": _of(max, "kind"),
    "first(kind)": lambda run: run[0]["kind"],
    "last(x)": lambda run: run[-1]["x"],
    "kind": lambda run: run[-1]["kind"],
    "max(y) - min(y)": lambda run: _sub(_of(max, "y")(run), _of(min, "y")(run)),
    "stddev(y)": _of(_stddev, "y"),
    "var_pop(x)": _of(lambda values: statistics.pvariance(map(float, values)), "x"),
    "bool_or(x > 2)": _of(lambda values: any(x > 2 for x in values), "x"),
    "sum(x) FILTER (WHERE kind = 'a')": lambda run: _of(sum, "x")([e for e in run if e["kind"] == "a"]),
}

_SINGLE: dict[str, Callable[[Event], bool | None]] = {
    text: conjunct.holds for text, conjunct in CONJUNCTS.items() if conjunct.kind == "absolute"
} | {"kind = 'b'": lambda e: _eq(e["kind"], "b"), "x = 1": lambda e: _eq(e["x"], 1)}

Found = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """One derivation; `conditions` are conjuncts of a run, or start, end and what is excluded of a span."""

    events: tuple[Event, ...]
    conditions: tuple[str, ...]
    values: tuple[str, ...]
    is_run: bool
    minimum: int = 1
    maximum: int | None = None
    gap: int | None = None
    partition: bool = True
    sequence: bool = True
    closes: bool = False  # the end of the input is the end of time

    def table(self) -> pa.Table:
        return pa.Table.from_pylist(list(self.events), schema=SCHEMA)

    @property
    def options(self) -> dict[str, Any]:
        sequence = {"sequence": "seq"} if self.sequence else {}
        closing = {"close_at_end": True} if self.closes else {}
        keys = {"partition_by": "key"} if self.partition else {}
        return {"ts": "ts", "ts_unit": "s", **keys, **sequence, **closing}

    @property
    def named(self) -> dict[str, str]:
        return {f"v{i}": text for i, text in enumerate(self.values)}

    def derive(self, events: Any, **options: Any) -> Any:
        """With the product."""
        given: dict[str, Any] = {**self.options, "value": self.named or None, **options}
        if self.is_run:
            if self.gap is not None:
                given["within"] = f"{self.gap} seconds"
            condition = " AND ".join(self.conditions)
            return ev.intervals.homogeneous(events, condition, occurrences=(self.minimum, self.maximum), **given)
        start, end, *exclude = self.conditions
        return ev.intervals.heterogeneous(events, start=start, end=end, exclude=exclude, **given)

    def physical(self, detects: bool = False, **options: Any) -> Physical:
        form: Runs | Spans
        if self.is_run:
            gap_us = None if self.gap is None else self.gap * SECOND_US
            form = Runs(" AND ".join(self.conditions), self.minimum, self.maximum, gap_us)
        else:
            start, end, *exclude = self.conditions
            form = Spans(start, end, tuple(exclude))
        deriving = Deriving(form, tuple(self.named.items()), detects=detects)
        given = Options.of(**{**self.options, **options})
        made = family_named("intervals").prepare(deriving, given, SCHEMA)
        return with_end(made, self.latest * SECOND_US) if made.needs_end else made

    @property
    def latest(self) -> int:
        return max((event["ts"] for event in self.events), default=0)

    def expected(self, detects: bool = False) -> Found:
        """By the oracle, with the instants that decide if asked for."""
        texts = " ".join((*self.conditions, *self.values))
        read = [name for name in SCHEMA.names if name in set(re.findall(r"\w+", texts))]
        rows = []
        for events in partitions(self.events, "key" if self.partition else None):
            lined = ordered(events, "seq" if self.sequence else None, read)
            for interval in self._intervals(lined):
                key = [interval[0]["key"]] if self.partition else []
                values = [VALUES[text](interval) for text in self.values]
                row = (*key, interval[0]["ts"], interval[-1]["ts"], len(interval), *values)
                if self.closes or self._is_over(lined, interval):
                    rows.append((*row, self._detected(lined, interval)) if detects else row)
        return in_order(rows)

    def _detected(self, lined: list[Event], interval: list[Event]) -> int | None:
        if not self.is_run:
            return int(interval[-1]["ts"])
        return detected_at(lined, interval, self.maximum, self.gap)

    def _is_over(self, lined: list[Event], interval: list[Event]) -> bool:
        return not self.is_run or is_over(lined, interval, self.maximum, self.gap, self.latest)

    def _intervals(self, events: list[Event]) -> list[list[Event]]:
        if self.is_run:
            conjuncts = [CONJUNCTS[text] for text in self.conditions]
            return homogeneous(events, conjuncts, self.minimum, self.maximum, self.gap)
        start, end, *exclude = (_SINGLE[text] for text in self.conditions)
        return heterogeneous(events, start, end, exclude)


def found(rows: list[dict[str, Any]]) -> Found:
    """Rows of the product, to be compared."""
    return in_order([tuple(row.values()) for row in rows])


def in_order(rows: Found) -> Found:
    """Rows as a multiset; doubles to ten digits, as sums of squares are made in different ways."""
    rounded = [tuple(float(f"{value:.10g}") if isinstance(value, float) else value for value in row) for row in rows]
    # -0.0 and 0.0 are one number.
    plain = [tuple(0.0 if value == 0.0 and isinstance(value, float) else value for value in row) for row in rounded]
    return sorted(plain, key=lambda row: [(value is not None, str(type(value)), value) for value in row])


@st.composite
def events(draw: Any, largest: int = 14) -> tuple[Event, ...]:
    """Events with ties, NULLs and gaps; `seq` tells all of them apart."""
    size = draw(st.integers(0, largest))
    columns = {
        "ts": [0, 1, 1, 1, 2, 5],  # after the one before
        "key": [0, 0, 1, None],
        "kind": ["a", "a", "b", "c", None],
        "x": [0, 1, 2, 3, 4, 5, None],
        "y": [0.0, 0.5, 1.0, 1.5, 2.0, 3.5, None],
    }
    drawn = draw(drawn_rows(columns, size))
    times = accumulate(row["ts"] for row in drawn)
    made = [{"seq": seq, **row, "ts": ts} for seq, (row, ts) in enumerate(zip(drawn, times, strict=True))]
    return tuple(draw(st.permutations(made))) if draw(st.booleans()) else tuple(made)


@st.composite
def runs(draw: Any) -> Case:
    """Homogeneous intervals."""
    minimum = draw(st.sampled_from([1, 1, 2, 3]))
    return Case(
        draw(events()),
        tuple(draw(st.lists(st.sampled_from(list(CONJUNCTS)), min_size=1, max_size=3, unique=True))),
        tuple(draw(st.lists(st.sampled_from(list(VALUES)), max_size=4, unique=True))),
        True,
        minimum,
        draw(st.sampled_from([None, None, minimum, minimum + 1])),
        draw(st.sampled_from([None, 1, 2, 5])),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.booleans()),
    )


@st.composite
def spans(draw: Any) -> Case:
    """Heterogeneous intervals."""
    return Case(
        draw(events()),
        tuple(draw(st.lists(st.sampled_from(list(_SINGLE)), min_size=2, max_size=4))),
        tuple(draw(st.lists(st.sampled_from(list(VALUES)), max_size=4, unique=True))),
        False,
        partition=draw(st.booleans()),
        sequence=draw(st.booleans()),
    )


def cases() -> Any:
    """Either kind."""
    return st.one_of(runs(), spans())
