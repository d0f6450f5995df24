"""Columns of lengths of time, which DuckDB holds as its INTERVAL, compare and add up as day-time intervals do."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import eventide as ev

LENGTHS = [dt.timedelta(seconds=1), dt.timedelta(days=40, microseconds=3), None, dt.timedelta(microseconds=-2)]
EVENTS = [{"ts": i + 1, "kind": "AB"[i % 2], "d": length} for i, length in enumerate(LENGTHS)]


def run(text: str, events: Any, **options: Any) -> pa.Table:
    return ev.query(text, ts_unit="s", type="kind", **options).run(events)


def table(unit: str) -> pa.Table:
    lengths = pa.array(LENGTHS, pa.duration("us")).cast(pa.duration(unit))
    return pa.Table.from_pylist(EVENTS).set_column(2, "d", lengths)


@pytest.mark.parametrize(
    "events",
    [
        EVENTS,
        table("us"),
        table("ns"),
        pd.DataFrame(EVENTS),
        pl.DataFrame(EVENTS),
        duckdb.sql("FROM (VALUES (1, 'A', INTERVAL 1 SECOND), (2, 'B', INTERVAL 1 MONTH)) t(ts, kind, d)"),
    ],
    ids=["dicts", "us", "ns", "pandas", "polars", "duckdb"],
)
def test_events_are_related_by_lengths_of_time(events: Any) -> None:
    assert run("PATTERN SEQ(A a, B b) WHERE a.d < b.d RETURN a.ts, b.ts", events).to_pylist() == [
        {"a_ts": 1, "b_ts": 2, "detected_at": 2}
    ]


def test_a_length_of_time_is_compared_with_an_interval() -> None:
    found = run("PATTERN X DEFINE X AS d > INTERVAL '0' SECOND RETURN X.ts", EVENTS).column("X_ts")
    assert sorted(found.to_pylist()) == [1, 2]


def test_a_difference_of_lengths_relates_events() -> None:
    found = run("PATTERN SEQ(A a, B b) WHERE b.d - a.d < INTERVAL '1' DAY RETURN a.ts, b.ts", EVENTS)
    assert found.to_pylist() == [{"a_ts": 1, "b_ts": 4, "detected_at": 4}]


def test_computed_lengths_of_time_are_durations() -> None:
    found = run("PATTERN SEQ(A a, B b) WHERE a.d IS NOT NULL RETURN b.d - a.d AS gap, a.d * 2 AS twice", EVENTS)
    assert found.schema.field("gap").type == found.schema.field("twice").type == pa.duration("us")
    assert set(found.column("gap").to_pylist()) == {LENGTHS[1] - LENGTHS[0], LENGTHS[3] - LENGTHS[0]}


def test_a_length_of_time_makes_partitions() -> None:
    events = pa.table({"ts": [1, 2, 3, 4], "kind": ["A", "A", "B", "B"], "d": [LENGTHS[i] for i in (0, 1, 1, 0)]})
    found = run("PATTERN SEQ(A a, B b) WHERE [d] RETURN d, a.ts, b.ts", events).to_pylist()
    assert sorted((row["a_ts"], row["b_ts"], row["d"]) for row in found) == [(1, 4, LENGTHS[0]), (2, 3, LENGTHS[1])]


def test_a_length_of_time_tells_events_apart() -> None:
    events = pa.table({"ts": [1, 1, 1], "kind": ["A"] * 3, "d": [LENGTHS[0], LENGTHS[1], None]})
    found = run("PATTERN A a RETURN a.d", events, match_id=True)
    assert len(set(found.column("match_id").to_pylist())) == 3


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_returned_duration_column_stays_one(unit: str) -> None:
    lengths = pa.array([dt.timedelta(seconds=5), None], pa.duration(unit))
    events = pa.table({"ts": [1, 2], "kind": ["A", "B"], "d": lengths})
    rows = ev.query("PATTERN SEQ(A a, B b) RETURN a.d, b.d", ts="ts", ts_unit="s", type="kind").run(events)
    assert rows.schema.field("a_d").type == pa.duration(unit)
    assert rows.select(["a_d", "b_d"]).to_pylist() == [{"a_d": dt.timedelta(seconds=5), "b_d": None}]
