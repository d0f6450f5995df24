"""Patterns as joins on Spark: no Python worker, the same rows as the matcher, and the choice by itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.engines.spark.ship import WrongPythonError
from tests.engines.streams import collect, read_batches, write_files

pytestmark = pytest.mark.spark

TEXTS = [
    "PATTERN SEQ(A, NOT B, C) WHERE [u] WITHIN 4 seconds RETURN A.x, C.x",
    "PATTERN SEQ(A, B?, C) WHERE [u] SEMANTICS next WITHIN 9 seconds RETURN *",
    "PATTERN AND(A, SEQ(B, C)) WHERE A.x < C.x WITHIN 9 seconds SLIDE 2 seconds",
    "PATTERN A{2,} WITHIN 9 seconds SLIDE 4 seconds RETURN COUNT(*)",
    "PATTERN SEQ(NOT C, A{1,2}, NOT C) SEMANTICS contiguous WITHIN 2 seconds",
]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    kinds = "ABACBC" * 3
    times = pa.array([i * 1_000_000 for i in range(len(kinds))], pa.timestamp("us", "UTC"))
    users = [None if i % 7 == 0 else "ann" for i in range(len(kinds))]
    return pa.table({"ts": times, "kind": list(kinds), "u": users, "x": pa.array(range(len(kinds)), pa.int32())})


def listed(rows: pa.Table) -> list[str]:
    return sorted(str(row) for row in rows.to_pylist())


def test_the_rows_and_their_types_are_those_of_the_matcher_without_a_python_worker(spark: Any, table: pa.Table) -> None:
    from eventide.engines.spark.relational import python_nodes

    frame = spark.createDataFrame(table)
    for text in TEXTS:
        query = ev.query(text, type="kind")
        rows = query.run(frame, plan="joins")
        assert query.last_run.reason == "joins: asked for"
        assert rows.schema == query.run(frame, plan="kernels").schema
        assert python_nodes(rows._jdf.queryExecution().toString()) == []
        assert listed(rows.toArrow()) == listed(query.run(table)), text


def test_a_filter_goes_to_spark_by_itself_and_pushes_its_conditions_into_the_files(
    spark: Any, table: pa.Table, tmp_path: Path
) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(table, path)
    query = ev.query("PATTERN OR(A, B) WHERE A.x > 3 RETURN A.x, B.x", type="kind")
    rows = query.run(path, engine="spark", spark=spark)
    assert query.last_run.reason.startswith("joins: every event that fits is a row")
    assert listed(rows.toArrow()) == listed(query.run(table))
    plan = query.explain(path, engine="spark", spark=spark)
    assert "PushedFilters: [Or(And(EqualTo(kind,A),GreaterThan(x,3)),EqualTo(kind,B))]" in plan
    assert "  no Python worker in this plan" in plan
    assert "  optimized   OR of single events: one scan with the conditions of all, in place of a union" in plan
    assert query.run(path, engine="spark", spark=spark, plan="kernels").count() == rows.count()


def test_an_event_without_a_time_is_told(spark: Any) -> None:
    frame = spark.createDataFrame([(None, "A", 1)], "ts timestamp, kind string, x int")
    with pytest.raises(Exception, match="an event has no time: 'ts' is NULL"):
        ev.query("PATTERN A RETURN A.x", type="kind").run(frame).collect()
    dropped = ev.query("PATTERN A RETURN A.x", type="kind", on_bad_event="drop").run(frame, plan="joins")
    assert dropped.collect() == []


def test_without_python_on_the_workers_a_pattern_runs_as_joins(
    spark: Any, table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(session: Any) -> None:
        raise WrongPythonError("no Python", hint="install it")

    monkeypatch.setattr("eventide.engines.spark.run.ensure_shipped", missing)
    frame = spark.createDataFrame(table)
    query = ev.query("PATTERN SEQ(A, C) WITHIN 3 seconds", type="kind")
    assert listed(query.run(frame).toArrow()) == listed(query.run(table))
    with pytest.raises(ev.InputError, match=r"plan='joins' needs no Python, but a repetition without an upper bound"):
        ev.query("PATTERN SEQ(A+, C) WITHIN 3 seconds", type="kind").run(frame)


def test_a_filter_on_a_stream_has_no_state_and_other_patterns_are_refused(
    spark: Any, table: pa.Table, tmp_path: Path
) -> None:
    write_files(tmp_path / "in", table, 3)
    stream = read_batches(spark, tmp_path / "in")
    query = ev.query("PATTERN OR(A, B) WHERE A.x > 3 RETURN A.x, B.x", type="kind")
    rows = query.run(stream, plan="joins")
    assert listed(collect(rows, tmp_path, spark)) == listed(query.run(table))
    with pytest.raises(ev.QueryError, match="a pattern of several events on a stream is not possible"):
        ev.query("PATTERN SEQ(A, B) WITHIN 4 seconds", type="kind").run(stream, plan="joins")


@pytest.mark.spark
def test_rows_with_nan_are_not_lost_by_statistics_of_files(spark: Any, tmp_path: Path) -> None:
    """Spark's own filter loses them: statistics leave NaN out, and NaN is greater than all numbers."""
    table = pa.table({"ts": [1, 2, 3, 4], "kind": ["A"] * 4, "x": [1.0, math.nan, 2.0, 9.0]})
    pq.write_table(table, tmp_path / "events.parquet", row_group_size=2)
    query = ev.query("PATTERN A WHERE A.x > 5 RETURN A.ts", ts_unit="s", type="kind")
    for plan in ("auto", "joins", "kernels"):
        rows = query.run(spark.read.parquet(str(tmp_path / "events.parquet")), plan=plan)
        assert sorted(row.A_ts for row in rows.collect()) == [2, 4]
