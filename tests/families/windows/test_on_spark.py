"""Random queries of windows have the rows of the oracle on Spark: DataFrames, files that tasks read, and streams."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given

import eventide as ev
from eventide.errors import UnsupportedError
from eventide.runtime.costs import costing
from tests.budget import ON_SPARK, budgeted
from tests.engines.streams import both_readings, collect, read_batches, write_batch
from tests.families.windows.cases import WindowCase, window_cases

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark


def check(case: WindowCase, rows: pa.Table) -> None:
    """Spark's times have a zone, which is UTC here."""
    plain = [pa.timestamp("us") if pa.types.is_timestamp(field.type) else field.type for field in rows.schema]
    case.check(rows.cast(pa.schema(list(zip(rows.column_names, plain, strict=True)))))


@budgeted(**ON_SPARK)
@given(window_cases())
def test_a_spark_dataframe_returns_the_oracles_windows(spark: Any, case: WindowCase) -> None:
    assume(case.expected)
    check(case, case.query.run(spark.createDataFrame(case.table())).toArrow())


@budgeted(**ON_SPARK)
@given(window_cases())
def test_files_read_by_spark_tasks_return_the_oracles_windows(
    spark: Any, tmp_path_factory: Any, case: WindowCase
) -> None:
    """Always aggregates in place of events, however little they save; and one task that reads all."""
    assume(case.expected)
    query, reasons = case.query, []

    def run(path: Path) -> Any:
        rows = query.run(path, engine="spark", spark=spark)
        reasons.append(query.last_run.reason)
        return rows

    with costing(most_combined=1e9):
        found = both_readings(tmp_path_factory.mktemp("events"), case.table(), 5, run)
    for rows in found:
        check(case, rows)
    assert reasons == ["tasks read the files themselves", "one task reads the files and matches"]


@budgeted(**ON_SPARK)
@given(window_cases(kinds=("time", "growing", "session", "count")))
def test_a_stream_returns_the_oracles_windows(spark: Any, tmp_path_factory: Any, case: WindowCase) -> None:
    """Micro-batches in disorder within the allowed lateness; a last event far away decides all windows but its own."""
    # Spark's watermark begins at the epoch: what is not after it is late.
    case = replace(case, events=tuple({**event, "ts": event["ts"] + 100} for event in case.events))
    if case.oracle.kind == "count":
        # On a stream, a window that is not full waits for more events.
        case = replace(case, least=max(case.least, int(case.oracle.text.split()[1])))
    assume(case.expected)
    folder = tmp_path_factory.mktemp("stream")
    check(case, as_stream(case, folder, spark))


def as_stream(case: WindowCase, folder: Path, spark: Any) -> pa.Table:
    seconds = [event["ts"] for event in case.events]
    order = sorted(range(len(seconds)), key=lambda i: seconds[i] + i * 37 % 30 / 10)
    table = case.table().take(order)
    far = replace(case, events=({**case.events[0], "ts": max(seconds) + 1000, "id": 99},)).table()
    for i in range(3):
        write_batch(table.slice(len(order) * i // 3, len(order) * (i + 1) // 3 - len(order) * i // 3), folder / "in", i)
    write_batch(far, folder / "in", 3)
    query = ev.query(case.text, allowed_lateness="3 seconds", **case.options)
    return collect(query.run(read_batches(spark, folder / "in")), folder, spark)


def test_late_events_are_left_out_and_are_a_stream_of_their_own(spark: Any, tmp_path: Path) -> None:
    query = ev.query(
        "FROM e GROUP BY g WITHIN 10 seconds RETURN g, count(*) AS n", ts_unit="s", allowed_lateness="3 seconds"
    )
    # When 30 has come, 26 is late and 28 is not.
    for i, times in enumerate(([12, 21, 30], [26, 28], [1000])):
        write_batch(pa.table({"ts": times, "g": ["a"] * len(times)}), tmp_path / "in", i)
    rows = collect(query.run(read_batches(spark, tmp_path / "in")), tmp_path, spark)
    assert sorted((row["window_start"], row["n"]) for row in rows.to_pylist()) == [(10, 1), (20, 2), (30, 1)]
    late = collect(query.late(read_batches(spark, tmp_path / "in")), tmp_path, spark, out="late")
    assert late.to_pylist() == [{"ts": 26, "g": "a"}]


def test_a_stream_returns_open_windows_beside_the_final_ones(spark: Any, tmp_path: Path) -> None:
    """Also with a time that Spark takes as the event time of the result, which must not be behind its watermark."""
    query = ev.query("FROM e GROUP BY g WITHIN 60 seconds EMIT EVERY 10 seconds RETURN g, count(*) AS n")
    for i, times in enumerate(([61, 65, 72], [74], [99, 101], [1000])):
        ts = pa.array([seconds * 1_000_000 for seconds in times]).cast(pa.timestamp("us", "UTC"))
        write_batch(pa.table({"ts": ts, "g": ["a"] * len(times)}), tmp_path / "in", i)
    rows = collect(query.run(read_batches(spark, tmp_path / "in")), tmp_path, spark).to_pylist()
    shown = [
        (row["detected_at"].timestamp(), row["n"], row["is_final"], row["window_start"].timestamp()) for row in rows
    ]
    assert sorted(row[:3] for row in shown if row[3] == 60) == [(100, 6, False), (120, 6, True)]
    assert all(not is_final for _, _, is_final, start in shown if start > 60)
    counted = ev.query("FROM e WITHIN 5 seconds RETURN count(*) AS n").run(read_batches(spark, tmp_path / "in"))
    with pytest.raises(UnsupportedError, match="EMIT EVERY needs a stream as it is read"):
        ev.query("FROM e WITHIN 60 seconds EMIT EVERY 10 seconds RETURN sum(n) AS n", ts="detected_at").run(counted)
