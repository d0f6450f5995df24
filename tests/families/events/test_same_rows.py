"""One test body, every engine: random queries on random events return the oracle's rows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given

import eventide as ev
from tests.budget import ON_SPARK, QUICK, budgeted
from tests.engines.streams import both_readings, collect, read_batches, write_batch
from tests.families.events.cases import AskedOfEvents, Case, cases

SEVERAL = [*range(5), None]
MANY = [*range(12), None]


def check(case: Case, result: pa.Table) -> None:
    assert case.found(result) == case.expected()


@budgeted(**QUICK)
@given(cases(groups=SEVERAL))
def test_the_embedded_engine_returns_the_oracles_rows(case: Case) -> None:
    check(case, ev.query(case.text, **case.options).run(case.table()))


@budgeted(**QUICK)
@given(cases(groups=MANY))
def test_files_cut_by_partition_return_the_same_rows(tmp_path_factory: Any, case: Case) -> None:
    """A memory limit of a few bytes: every block is spilled and worked off bucket by bucket."""
    query = ev.query(case.text, **case.options)
    check(case, query.run(case.table(), memory_limit=64))
    if case.expected():
        assert query.metrics()["spilled_bytes"] > 0


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(cases(groups=MANY))
def test_a_spark_dataframe_returns_the_oracles_rows(spark: Any, case: Case) -> None:
    assume(case.expected())
    frame = spark.createDataFrame(case.table())
    check(case, ev.query(case.text, **case.options).run(frame).toArrow())


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(cases(groups=MANY))
def test_files_read_by_spark_tasks_return_the_oracles_rows(spark: Any, tmp_path_factory: Any, case: Case) -> None:
    assume(case.expected())
    query, reasons = ev.query(case.text, **case.options), []

    def run(path: Path) -> Any:
        rows = query.run(path, engine="spark", spark=spark)
        # A hot key has the files cut by time; near a rare step fewer events are exchanged.
        reasons.append(re.split(", by time|, events near", query.last_run.reason)[0])
        return rows

    for rows in both_readings(tmp_path_factory.mktemp("events"), case.table(), 11, run):
        check(case, rows)
    assert reasons == ["tasks read the files themselves", "one task reads the files and matches"]


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(cases(groups=MANY, stream=True))
def test_a_stream_returns_the_oracles_rows(spark: Any, tmp_path_factory: Any, case: Case) -> None:
    """Micro-batches in disorder within the allowed lateness; a last event far away decides all others."""
    assume(case.expected())
    check(case, run_case_as_stream(case, tmp_path_factory.mktemp("stream"), spark))


def run_case_as_stream(case: AskedOfEvents, folder: Path, spark: Any) -> pa.Table:
    """The case's events as files in disorder, one a micro-batch, then one far away that decides all others."""
    table = case.table()
    far = table.slice(0, 1)
    if table.num_rows:
        far = far.set_column(0, "ts", _later(table.column("ts"))).set_column(1, "kind", pa.array(["Z"]))
    parts = _pieces(table.take(_disorder([event["ts"] for event in case.events])), 4)
    for i, part in enumerate([*parts, far]):
        write_batch(part, folder / "in", i)
    query = ev.query(case.text, allowed_lateness="3 seconds", **case.options)
    return collect(query.run(read_batches(spark, folder / "in")), folder, spark)


def _disorder(seconds: list[int]) -> pa.Array:
    """An order in which every event comes less than three seconds of event time behind the newest before it."""
    delay = np.random.default_rng(len(seconds)).uniform(0, 2.9, len(seconds))
    return pa.array(np.argsort(np.array(seconds) + delay, kind="stable"))


def _later(ts: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_integer(ts.type):
        return pa.array([ts[0].as_py() + 1000], ts.type)
    return pa.array([ts.cast(pa.int64())[0].as_py() + 1_000_000_000]).cast(ts.type)


def _pieces(table: pa.Table, n: int) -> list[pa.Table]:
    size = max(1, -(-table.num_rows // n))
    return [table.slice(start, size) for start in range(0, table.num_rows, size)]


def test_no_events_give_no_rows() -> None:
    case_schema = Case("", {}, None, (), 1).table().schema  # type: ignore[arg-type]
    query = ev.query("PATTERN SEQ(A a, B b) WITHIN 1 second RETURN a.id, b.x + 1 AS y", ts="ts", type="kind")
    result = query.run(case_schema.empty_table())
    assert result.num_rows == 0
    assert result.schema.field("y").type == pa.int32()
    assert Counter(result.column_names) == Counter(["a_id", "y", "detected_at"])


@pytest.mark.parametrize(
    ("word", "where", "found"),
    [
        ("AB", "", [(0, 1)]),
        ("AZB", "", []),  # an event of another type
        ("ABB", "AND b.n > 1", []),  # an event that fails a predicate
        ("AAB", "", [(1, 2)]),
    ],
)
def test_every_event_of_the_partition_counts_for_contiguity(word: str, where: str, found: list[Any]) -> None:
    events = [{"ts": i, "kind": kind, "n": i} for i, kind in enumerate(word)]
    query = f"PATTERN SEQ(A a, B b) WHERE a.n >= 0 {where} SEMANTICS contiguous RETURN a.n AS a, b.n AS b"
    rows = ev.query(query, ts="ts", ts_unit="s", type="kind").run(events).to_pylist()
    assert [(row["a"], row["b"]) for row in rows] == found
