"""Random SEQ queries with random events: as text for the product and as Python functions for the oracle."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.drawn import drawn_rows
from tests.oracle.events.event import Event
from tests.oracle.events.matches import matches
from tests.oracle.events.pattern import Type, seq
from tests.oracle.events.query import Adjacent, Bound, Local, Query, null_if_null

KINDS = "ABC"
SECOND = 1_000_000
EPOCH = dt.datetime(2020, 1, 1)
EPOCH_US = int((EPOCH - dt.datetime(1970, 1, 1)).total_seconds()) * SECOND


@dataclass(frozen=True)
class AskedOfEvents:
    """One query in both languages, and the events."""

    text: str
    options: dict[str, Any]
    oracle: Query
    events: tuple[dict[str, Any], ...]  # ts in seconds after EPOCH

    def times(self) -> pa.Array:
        return pa.array([EPOCH_US + event["ts"] * SECOND for event in self.events], pa.timestamp("us"))

    def table(self) -> pa.Table:
        columns = {name: pa.array([e[name] for e in self.events], kind) for name, kind in SCHEMA.items()}
        return pa.table({"ts": self.times(), **columns})

    def stream(self) -> list[Event]:
        """The events of the oracle."""
        return [
            Event(
                EPOCH_US + event["ts"] * SECOND,
                sequence=event["id"],
                type=event["kind"],
                values={name: event[name] for name in SCHEMA if name != "kind"},
                partition=(event["g"],),
            )
            for event in self.events
        ]


@dataclass(frozen=True)
class Case(AskedOfEvents):
    """A SEQ query."""

    n_steps: int
    integer_time: bool = False
    features: tuple[str, ...] = field(default=(), compare=False)

    def times(self) -> pa.Array:
        if not self.integer_time:
            return super().times()
        return pa.array([EPOCH_US // SECOND + event["ts"] for event in self.events], pa.int64())

    def expected(self) -> Counter[tuple[Any, ...]]:
        """Per match: ids of the bound events in order, the sum of x of the first and the last, window, detected_at."""
        rows: Counter[tuple[Any, ...]] = Counter()
        for match in matches(self.oracle, self.stream()):
            bound = [self.events[i] for i in match.event_indices()]
            ends = bound[0]["x"], bound[-1]["x"]
            total = None if None in ends else sum(ends)
            last_us = EPOCH_US + bound[-1]["ts"] * SECOND
            rows[(*(e["id"] for e in bound), total, match.window_start, match.window_end, last_us)] += 1
        return rows

    def found(self, result: pa.Table) -> Counter[tuple[Any, ...]]:
        """The product's rows in the same form."""
        columns = [result.column(name).to_pylist() for name in (*(f"s{k}_id" for k in range(self.n_steps)), "total")]
        for name in ("window_start", "window_end", "detected_at"):
            columns.append(self._microseconds(result, name))
        return Counter(zip(*columns, strict=True))

    def _microseconds(self, result: pa.Table, name: str) -> list[int | None]:
        if name not in result.column_names:
            return [None] * result.num_rows
        if self.integer_time:
            return [time * SECOND for time in result.column(name).to_pylist()]
        return result.column(name).cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]


SCHEMA = {
    "kind": pa.string(),
    "id": pa.int64(),
    "g": pa.int32(),
    "x": pa.int32(),
    "y": pa.float64(),
    "name": pa.string(),
}

Python = Callable[..., bool | None]


def events(max_per_group: int, groups: list[Any]) -> st.SearchStrategy[tuple[dict[str, Any], ...]]:
    columns = {
        "ts": range(10),
        "kind": KINDS + KINDS + "Z",
        "x": [1, 0, 2, 3, None, -1],
        "y": [0.0, 1.5, 2.0, -0.0, math.nan, None],
        "name": ["a", "b", "a", "é", "", None],
    }
    # Hypothesis prefers short lists; full ones have the matches.
    sized = st.sampled_from([max_per_group, max_per_group - 3, max_per_group, 1, 0])
    lists = st.tuples(*(sized.flatmap(lambda n: drawn_rows(columns, n)) for _ in groups))

    def number(drawn: tuple[list[dict[str, Any]], ...]) -> tuple[dict[str, Any], ...]:
        flat = [{**event, "g": group} for group, made in zip(groups, drawn, strict=True) for event in made]
        return tuple({"id": i, **event} for i, event in enumerate(flat))

    return lists.map(number)


def _nan_less(a: float, b: float) -> bool:
    """Spark's order: NaN is the greatest, and equal to itself."""
    return False if math.isnan(a) else math.isnan(b) or a < b


_LOCAL: list[tuple[str, Python]] = [
    ("{0}.x > 0", null_if_null(lambda x: x > 0)),
    ("{0}.x IS NOT NULL", lambda x: x is not None),
    ("NOT ({0}.x = 1)", null_if_null(lambda x: x != 1)),
    ("coalesce({0}.x, 5) % 2 = 1", lambda x: (5 if x is None else math.fmod(x, 2)) in (5, 1)),
]
_BOUND: list[tuple[str, str, Python]] = [
    ("{1}.x > {0}.x", "x", null_if_null(lambda a, b: b > a)),
    ("{1}.x >= {0}.x + 1", "x", null_if_null(lambda a, b: b >= a + 1)),
    ("{0}.x <=> {1}.x", "x", lambda a, b: a == b),
    ("{0}.x = {1}.x OR {0}.x IS NULL", "x", lambda a, b: True if a is None else None if b is None else a == b),
    ("{0}.y < {1}.y", "y", null_if_null(_nan_less)),
    ("{0}.y = {1}.y", "y", null_if_null(lambda a, b: (math.isnan(a) and math.isnan(b)) or a == b)),
    ("{0}.name = {1}.name", "name", null_if_null(lambda a, b: a == b)),
    ("{0}.name < {1}.name", "name", null_if_null(lambda a, b: a.encode() < b.encode())),
    ("upper({0}.name) <> upper({1}.name)", "name", null_if_null(lambda a, b: a.upper() != b.upper())),
]


@st.composite
def cases(draw: st.DrawFn, *, max_per_group: int = 10, groups: list[Any] | None = None, stream: bool = False) -> Case:
    groups = [1, 2, None] if groups is None else groups
    n_steps = draw(st.sampled_from([2, 3, 2, 4, 1, 3]))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=n_steps, max_size=n_steps))
    names = [f"s{k}" for k in range(n_steps)]
    strategy = draw(st.sampled_from(["any", "next", "contiguous"]))
    within = draw(st.sampled_from([9, 5, 3, 2, 1] if stream else [None, 9, 5, 3, 2, 1]))
    slide = draw(st.sampled_from([None, None, 1, 2, 3])) if within is not None else None
    slide = min(slide, within) if slide is not None and within is not None else None
    said = draw(st.sampled_from(["strict", "strict", "sequence", None]))
    ties = said or "sequence"  # naming a sequence says so
    defined = draw(st.booleans())
    where: list[str] = []
    predicates: list[Any] = []
    features = [strategy, f"ties={ties}"]
    for _ in range(draw(st.sampled_from([0, 1, 0, 2]))):
        k = draw(st.integers(0, n_steps - 1))
        text, local = draw(st.sampled_from(_LOCAL))
        where.append(text.format(names[k]))
        predicates.append(Local(names[k], lambda e, f=local: f(e["x"])))
        features.append("local")
    if n_steps > 1:
        for _ in range(draw(st.sampled_from([1, 0, 1, 2]))):
            text, column, bound = draw(st.sampled_from(_BOUND))
            pairs = [(i, j) for i in range(n_steps) for j in range(n_steps) if i != j]
            adjacent = draw(st.booleans())
            i, j = draw(st.sampled_from([(i, j) for i, j in pairs if not adjacent or j == i + 1]))
            if adjacent:
                where.append(text.replace("{1}", "NEXT({1})").format(names[i], names[j]))
                predicates.append(Adjacent(names[i], names[j], lambda a, b, f=bound, c=column: f(a[c], b[c])))
                features.append("adjacent")
            else:
                where.append(text.format(names[i], names[j]))
                predicates.append(Bound((names[i], names[j]), lambda a, b, f=bound, c=column: f(a[c], b[c])))
                features.append("bound")
    lines = [f"PATTERN SEQ({', '.join(f'{kind} {name}' for kind, name in zip(kinds, names, strict=True))})"]
    if defined:
        lines.append("DEFINE " + ", ".join(f"{kind} AS kind = '{kind}'" for kind in sorted(set(kinds))))
    group_as = draw(st.sampled_from(["PARTITION BY g", "GROUP BY g", "[g]"]))
    if group_as == "[g]":
        where.append("[g]")
    else:
        lines.append(group_as)
    if where:
        lines.append("WHERE " + " AND ".join(f"({w})" if " OR " in w else w for w in where))
    lines.append(f"SEMANTICS {strategy}")
    if within is not None:
        lines.append(f"WITHIN {within} seconds" + (f" SLIDE {slide} seconds" if slide is not None else ""))
    returned = [*(f"{name}.id" for name in names), f"{names[0]}.x + {names[-1]}.x AS total"]
    lines.append("RETURN " + ", ".join(returned))
    integer_time = draw(st.booleans())
    options: dict[str, Any] = {"ts": "ts", "sequence": "id"}
    if said is not None:
        options["ties"] = said
    if integer_time:
        options["ts_unit"] = "s"
    if not defined:
        options["type"] = "kind"
    oracle = Query(
        seq(*(Type(kind, name) for kind, name in zip(kinds, names, strict=True))),
        strategy,
        within=None if within is None else within * SECOND,
        slide=None if slide is None else slide * SECOND,
        predicates=predicates,
        ties=ties,
    )
    drawn = draw(events(max_per_group, groups))
    return Case("\n".join(lines), options, oracle, drawn, n_steps, integer_time, tuple(features))
