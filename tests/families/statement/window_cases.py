"""Random table functions of windows over random events, with their windows by the oracle."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.oracle import windows as oracle

EPOCH = dt.datetime(1970, 1, 1)
# What holds the times, and the unit in which events and windows are drawn.
TYPES: dict[str, tuple[pa.DataType, str]] = {
    "seconds": (pa.int64(), "SECOND"),
    "timestamp": (pa.timestamp("us"), "SECOND"),
    "zoned": (pa.timestamp("us", "UTC"), "SECOND"),
    "coarse": (pa.timestamp("s"), "SECOND"),
    "date": (pa.date32(), "DAY"),
}
SPARK_TYPES = ("seconds", "timestamp", "zoned", "date")


@dataclass(frozen=True)
class Case:
    """Events in whole units, and a function over them."""

    events: list[dict[str, Any]]
    kind: str
    size: int
    step: int = 0
    offset: int = 0
    time: str = "seconds"

    def function(self, table: str = "TABLE t", by: str = "k") -> str:
        unit = TYPES[self.time][1]
        size, step, offset = (f"INTERVAL '{n}' {unit}" for n in (self.size, self.step, self.offset))
        behind = f", {offset}" if self.offset else ""
        if self.kind == "SESSION":
            return f"SESSION({table} PARTITION BY {by}, DESCRIPTOR(ts), {size})"
        lengths = size if self.kind == "TUMBLE" else f"{step}, {size}"
        return f"{self.kind}({table}, DESCRIPTOR(ts), {lengths}{behind})"

    @property
    def in_the_language(self) -> str:
        unit = TYPES[self.time][1]
        size, step = f"{self.size} {unit}", f"{self.step} {unit}"
        texts = {
            "TUMBLE": f"WITHIN {size}",
            "HOP": f"WITHIN {size} SLIDE {step}",
            "CUMULATE": f"WITHIN UP TO {size} STEP {step}",
            "SESSION": f"SESSION {size}",
        }
        return texts[self.kind]

    @property
    def options(self) -> dict[str, Any]:
        return {"ts_unit": "s"} if self.time == "seconds" else {}

    def table(self) -> pa.Table:
        times = [self.in_type(event["ts"]) for event in self.events]
        columns = {"ts": pa.array(times, TYPES[self.time][0])}
        for name, dtype in (("k", pa.string()), ("v", pa.int64()), ("id", pa.int64())):
            columns[name] = pa.array([event[name] for event in self.events], dtype)
        return pa.table(columns)

    def in_type(self, at: int) -> Any:
        """A time in units as the column has it."""
        if self.time == "seconds":
            return at
        if self.time == "date":
            return (EPOCH + dt.timedelta(days=at)).date()
        made = EPOCH + dt.timedelta(seconds=at)
        return made.replace(tzinfo=dt.UTC) if self.time == "zoned" else made

    def earlier(self, end: int) -> Any:
        """The last time before an end."""
        if self.time in ("seconds", "date"):
            return self.in_type(end - 1)
        return self.in_type(end) - dt.timedelta(microseconds=1)

    def windows(self, events: list[dict[str, Any]]) -> list[oracle.Window]:
        """The windows of a group."""
        if self.kind == "SESSION":
            return oracle.sessions(events, self.size)
        if self.kind == "CUMULATE":
            return oracle.cumulating(events, self.size, self.step, self.offset)
        return oracle.hopping(events, self.size, self.step or self.size, self.offset)

    def aggregated(self) -> Counter[tuple[Any, ...]]:
        """Group, start, end, number of events, sum and greatest of `v`: all windows of all groups."""
        return Counter(
            (key, self.in_type(start), self.in_type(end), len(held), *(_aggregate(f, held) for f in (sum, max)))
            for (key,), events in oracle.groups(self.events, ["k"]).items()
            for start, end, held in self.windows(events)
        )

    def expanded(self) -> Counter[tuple[Any, ...]]:
        """The number of an event, start, end and time of a window that holds it."""
        return Counter(
            (event["id"], self.in_type(start), self.in_type(end), self.earlier(end))
            for events in oracle.groups(self.events, ["k"]).values()
            for start, end, held in self.windows(events)
            for event in held
        )


def _aggregate(function: Any, events: list[dict[str, Any]]) -> Any:
    known = [event["v"] for event in events if event["v"] is not None]
    return function(known) if known else None


def counted(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


@st.composite
def cases(draw: Any, times: tuple[str, ...] = tuple(TYPES)) -> Case:
    times_drawn = draw(st.lists(st.integers(-25, 40), max_size=14))
    keys = st.sampled_from(["a", "b", None])
    values = st.one_of(st.none(), st.integers(-5, 5))
    events = [{"ts": at, "k": draw(keys), "v": draw(values), "id": i} for i, at in enumerate(times_drawn)]
    kind = draw(st.sampled_from(["TUMBLE", "HOP", "HOP", "CUMULATE", "SESSION"]))
    step = draw(st.integers(1, 9)) if kind in ("HOP", "CUMULATE") else 0
    size = step * draw(st.integers(1, 4)) if kind == "CUMULATE" else draw(st.integers(1, 12))
    offset = 0 if kind == "SESSION" else draw(st.sampled_from([0, 0, 1, 4, 13, -1, -7]))
    return Case(events, kind, size, step, offset, draw(st.sampled_from(times)))
