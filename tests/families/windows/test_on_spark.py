"""Random queries of windows have the rows of the oracle on Spark: DataFrames, files that tasks read, and streams."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given

import eventide as ev
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
