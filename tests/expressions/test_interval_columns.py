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


def test_repeated_events_return_lengths_of_time() -> None:
    found = run("PATTERN SEQ(A a+, B b) SEMANTICS next WITHIN 9 seconds RETURN a.d", EVENTS)
    assert found.schema.field("a_d").type.value_type == pa.duration("us")
    assert [LENGTHS[0]] in found.column("a_d").to_pylist()


def test_trends_situations_and_the_builder_have_a_least_and_a_greatest_length() -> None:
    trends = ev.query("PATTERN A a+ DEFINE A AS true WITHIN 9 seconds RETURN MIN(a.d), MAX(a.d)", ts_unit="s")
    (row,) = trends.run(EVENTS).to_pylist()
    assert (row["min_a_d"], row["max_a_d"]) == (LENGTHS[3], LENGTHS[1])
    situations = ev.query(
        "DEFINE A AS ts < 3, B AS ts > 3 AND ts < 6 PATTERN A before B RETURN max(A.d) AS most, min(A.d) AS least",
        ts_unit="s",
    )
    ended = [*EVENTS, {"ts": 5, "kind": "B", "d": None}, {"ts": 6, "kind": "B", "d": None}]
    (row,) = situations.run(ended).to_pylist()
    assert (row["most"], row["least"]) == (LENGTHS[1], LENGTHS[0])
    steps = ev.Pattern.begin("a", "ts = 1").next("b", "ts > 1").one_or_more()
    found = ev.detect(EVENTS, steps, ts_unit="s", select={"most": "max(b.d)", "least": "min(b.d)"}).matches.to_pylist()
    assert {(row["most"], row["least"]) for row in found} >= {(LENGTHS[1], LENGTHS[3])}


def test_measures_of_rows_are_lengths_of_time() -> None:
    statement = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts
        MEASURES max(d) AS most, min(d) AS least, first(d) AS f, array_agg(d) AS every
        PATTERN (A+) DEFINE A AS true)"""
    found = ev.sql(statement, t=pa.Table.from_pylist(EVENTS))
    assert found.schema.field("most").type == pa.duration("us")
    (row,) = found.to_pylist()
    assert (row["most"], row["least"], row["f"]) == (LENGTHS[1], LENGTHS[3], LENGTHS[0])
    assert row["every"] == [length for length in LENGTHS if length is not None]
