"""A family that no file of the package knows runs like the others: see `toy.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as ev
from tests.budget import budgeted
from tests.families.toy import silences
from tests.micro_batches import Stream

SECOND_US = 1_000_000
EVENTS = pa.table({"ts": [1, 2, 9, 10, 30, 4, 5], "key": ["a", "a", "a", "a", "a", "b", "b"]})
EXPECTED = [("a", 2), ("a", 10), ("a", 30), ("b", 5)]


def query(**options: Any) -> ev.Query:
    return silences(5 * SECOND_US, ts_unit="s", partition_by="key", **options)


def pairs(rows: Iterator[dict[str, Any]]) -> list[tuple[str, int]]:
    return sorted((row["key"], row["since"]) for row in rows)


def test_embedded_with_explain_metrics_and_batches() -> None:
    asked = query()
    assert pairs(asked.run(EVENTS).to_pylist()) == EXPECTED
    assert asked.metrics()["matches"] == len(EXPECTED)
    assert pairs(row for batch in asked.batches(EVENTS) for row in batch.to_pylist()) == EXPECTED
    assert pairs(row for table in asked.live([EVENTS]) for row in table.to_pylist()) == EXPECTED
    text = asked.explain(EVENTS)
    titles = [line for line in text.splitlines() if not line.startswith(" ")]
    assert titles == ["Query", "Logical plan", "Operator", "Distribution", "On a stream"]
    assert "SILENT FOR 5000000 MICROSECONDS" in text and "partitions by key are shared out" in text
    assert "needs the events' columns" in asked.explain()


def test_what_has_no_meaning_for_it_is_refused_with_a_reason() -> None:
    with pytest.raises(ev.UnsupportedError, match="this query has no steps"):
        query().diagnose(EVENTS)
    with pytest.raises(ev.UnsupportedError, match="only a query that relates situations has any"):
        query().situations(EVENTS)
    with pytest.raises(ev.InputError, match="a question for silence reads one input"):
        query().run(A=EVENTS)


@budgeted()
@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from("ab")), max_size=12), st.integers(1, 6))
def test_micro_batches_with_saved_state_give_the_same(events: list[tuple[int, str]], size: int) -> None:
    table = pa.table({"ts": [ts for ts, _ in events], "key": [key for _, key in events]}, SCHEMA)
    table = table.sort_by("ts")
    stream = Stream(query().plan(table.schema))
    found = []
    for start in range(0, table.num_rows, size):
        part = table.slice(start, size)
        newest = part.column("ts")[-1].as_py() * SECOND_US - 1
        found += stream.step(part, newest)
    found += stream.finish()
    assert pairs(iter(found)) == pairs(query().run(table).to_pylist())


SCHEMA = pa.schema([("ts", pa.int64()), ("key", pa.string())])


@pytest.mark.spark
def test_spark_batch_path_stream_and_late_events(spark: Any, tmp_path: Path) -> None:
    asked, path = query(), str(tmp_path / "events.parquet")
    pq.write_table(EVENTS, path)
    frame = spark.createDataFrame(EVENTS.to_pandas())
    assert pairs(asked.run(frame).toArrow().to_pylist()) == EXPECTED
    assert pairs(asked.run(path, engine="spark", spark=spark).toArrow().to_pylist()) == EXPECTED
    assert pairs(row for batch in asked.batches(frame) for row in batch.to_pylist()) == EXPECTED
    assert asked.explain(frame).splitlines()[0] == "Query"
    folder = tmp_path / "in"
    for i, (ts, key) in enumerate([(1, "a"), (40, "b"), (3, "a"), (90, "b")]):
        spark.createDataFrame([(ts, key)], "ts long, key string").write.parquet(str(folder / f"{i}"))
    # One file at a time, in the order in which they were written.
    source = spark.readStream.schema("ts long, key string").option("maxFilesPerTrigger", 1).parquet(f"{folder}/*")
    assert "spark stream" in asked.explain(source)
    for name, rows in (("found", asked.run(source)), ("late", asked.late(source))):
        out = tmp_path / name
        ev.write_stream(rows, to=out, checkpoint=tmp_path / f"{name}-state", once=True).awaitTermination()
    assert pairs(spark.read.parquet(str(tmp_path / "found")).toArrow().to_pylist()) == [("a", 1), ("b", 40)]
    late = spark.read.parquet(str(tmp_path / "late")).toArrow().to_pylist()
    assert [(row["key"], row["ts"]) for row in late] == [("a", 3)]
