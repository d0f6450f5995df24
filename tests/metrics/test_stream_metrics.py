"""The metrics of streams that run on Spark, one key of which has half of all events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyarrow as pa
import pytest

import eventide as ev
from tests.engines.plans import SECOND_US, make_events, table_rows
from tests.engines.streams import SCHEMA, read_batches, rows_in, write_files

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

TEXT = "PATTERN SEQ(A a, B b, C c) SEMANTICS next WITHIN 20 seconds RETURN user, a.ts AS a, c.amount AS x"
WINDOW_US, LATENESS_US = 20 * SECOND_US, 5 * SECOND_US


def pattern(**options: Any) -> ev.Query:
    lateness = f"{LATENESS_US // SECOND_US} seconds"
    return ev.query(TEXT, ts="ts", type="kind", partition_by="user", allowed_lateness=lateness, **options)


def hot_events(n: int) -> pa.Table:
    """Every other event is of one user."""
    events = make_events(n, seed=21, n_users=6)
    users = ["hot" if i % 2 else user for i, user in enumerate(events.column("user").to_pylist())]
    return events.set_column(0, "user", pa.array(users))


def read(spark: Any, base: Path) -> Any:
    return read_batches(spark, base / "in", SCHEMA)


def write(rows: Any, base: Path, name: str) -> Any:
    writer = rows.writeStream.queryName(name).format("parquet").option("path", str(base / "out"))
    query = writer.option("checkpointLocation", str(base / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def soon(holds: Callable[[], bool]) -> None:
    """Spark tells listeners of progress a little later."""
    deadline = time.monotonic() + 60
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert holds()


@pytest.fixture
def server(spark: Any) -> Iterator[Any]:
    with ev.metrics.serve(spark, port=0) as made:
        yield made


def test_a_stream_with_a_hot_key_returns_all_rows_and_says_what_it_did(spark: Any, tmp_path: Path, server: Any) -> None:
    events = hot_events(400)
    times = events.column("ts").cast(pa.int64()).to_pylist()
    write_files(tmp_path / "in", events, n_files=3)
    # Of the last file one event has no time, one is late, and one says that all others are over.
    extra = pa.array([None, times[0], times[-1] + 10 * SECOND_US], pa.int64()).cast(pa.timestamp("us", "UTC"))
    last = pa.table({"user": ["u1", "u1", "u2"], "ts": extra, "kind": ["A", "A", "A"]})
    write_files(tmp_path / "in", last.append_column("amount", pa.array([1, 1, 1], pa.int32())), 1, first=3)
    q = pattern(on_bad_event="drop")
    query = write(q.run(read(spark, tmp_path)), tmp_path, "hot")

    rows = rows_in(spark, tmp_path)
    assert rows == table_rows(pattern().run(events))
    assert {row[0] for row in rows} > {"hot"}
    counted = q.metrics(query)
    watermark_us = times[-1] + 10 * SECOND_US - LATENESS_US
    wanted = events.column("kind").to_pylist()
    n_wanted = sum(kind in "ABC" for kind in wanted)
    open_times = [ts for ts, kind in zip(times, wanted, strict=True) if kind == "A" and ts > watermark_us - WINDOW_US]
    assert counted["events"] == n_wanted + 2
    assert (counted["late_events"], counted["dropped_events"], counted["bad_records"]) == (1, 1, 0)
    assert (counted["matches"], counted["input_rows"]) == (len(rows), 403)
    assert counted["open_runs"] == len(open_times) + 1
    assert int(counted["watermark"].timestamp() * 1000) == watermark_us // 1000
    assert 0 < counted["kernel_us"] <= counted["task_us"]
    assert counted["state_bytes"] > 0
    assert counted["query"] == "hot"

    soon(lambda: server.listener.latest("hot")["batches"] == counted["batches"])
    assert server.listener.latest("hot") == counted
    # The hot key's bucket has half of the wanted events, and may have other keys.
    first = server.listener.history(query)[0]
    assert first["events"] > 80
    assert 0.5 <= first["largest_bucket_events"] <= 1
    with urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=10) as response:
        lines = response.read().decode().splitlines()
    labels = f'{{query="hot",id="{query.id}",rule=""}}'
    (found,) = (line for line in lines if line.startswith("eventide_matches_total{"))
    assert sorted(found.split("{")[1].split("}")[0].split(",")) == sorted(labels[1:-1].split(","))
    assert float(found.split()[-1]) == len(rows)


def test_results_that_are_put_together_are_counted_together(spark: Any, tmp_path: Path) -> None:
    events = make_events(80, seed=22, n_users=2)
    write_files(tmp_path / "in", events, n_files=1)
    falls = ev.match_recognize(
        partition_by="user",
        order_by="ts",
        pattern="A B",
        define={"A": "kind = 'A'", "B": "kind = 'B'"},
        measures={"a": "A.ts", "x": "B.amount"},
        within="20 seconds",
    )
    stream = read(spark, tmp_path)
    both = pattern().run(stream).select("user", "a", "x").unionByName(falls(stream).select("user", "a", "x"))
    query = write(both, tmp_path, "both")
    counted = falls.metrics(query)
    rows = rows_in(spark, tmp_path)
    wanted = sum(kind in "ABC" for kind in events.column("kind").to_pylist())
    assert counted["matches"] == len(rows) > 0
    assert counted["events"] == wanted + events.num_rows
    assert ev.metrics.of(query) == counted
