"""A stream returns the batch rows that are decided up to its final watermark, however the events arrive."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.errors import InputError, UnsupportedError
from eventide.runtime.times import TimeType
from tests.engines.plans import (
    SECOND_US,
    expected_rows,
    final_watermark_us,
    make_events,
    make_plan,
    shuffle_within,
)
from tests.engines.streams import finish, start, write_files

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

LATENESS_US = 5 * SECOND_US


def make_stream(base: Path, rows: list[tuple[int, str, str, int]]) -> pa.Table:
    """Events (file, user, kind, second) as files; returns them all."""
    tables = []
    for number in sorted({row[0] for row in rows}):
        mine = [row for row in rows if row[0] == number]
        seconds = pa.array([(1_700_000_000 + row[3]) * SECOND_US for row in mine], pa.int64())
        tables.append(
            pa.table(
                {
                    "user": pa.array([row[1] for row in mine]),
                    "ts": seconds.cast(pa.timestamp("us", "UTC")),
                    "kind": pa.array([row[2] for row in mine]),
                    "amount": pa.array([row[3] for row in mine], pa.int32()),
                }
            )
        )
        write_files(base / "in", tables[-1], 1, first=number)
    return pa.concat_tables(tables)


def test_labels_spread_evenly_over_shuffle_partitions(spark: Any) -> None:
    from eventide.engines.spark.parallelism import bucket_labels, murmur3

    values = [0, 1, 7, 42, 12345, 2**31 - 1]
    hashed = spark.createDataFrame([(v,) for v in values], "v int").selectExpr("hash(v)").collect()
    assert [row[0] for row in hashed] == [murmur3(v) for v in values]
    for n_buckets in (1, 4, 7, 64, 200):
        labels = bucket_labels(n_buckets)
        assert Counter(murmur3(label) % n_buckets for label in labels) == dict.fromkeys(range(n_buckets), 1)
        assert 0 in labels
    assert set(Counter(murmur3(label) % 8 for label in bucket_labels(32)).values()) == {4}


@pytest.mark.parametrize("strategy", ["any", "next", "contiguous"])
def test_disorder_and_batch_borders_do_not_change_the_rows(spark: Any, tmp_path: Path, strategy: str) -> None:
    plan = make_plan(strategy, lateness_us=LATENESS_US)
    events = make_events(300, seed=3, n_users=4, null_users=True)
    write_files(tmp_path / "in", shuffle_within(events, LATENESS_US, seed=4), n_files=4, seed=5)
    rows = finish(spark, tmp_path, plan)
    assert rows == expected_rows(events, plan, final_watermark_us(events, LATENESS_US))
    assert rows


def test_a_restart_continues_from_the_checkpoint(spark: Any, tmp_path: Path) -> None:
    plan = make_plan(lateness_us=LATENESS_US, window_us=60 * SECOND_US)
    events = make_events(200, seed=6)
    shuffled = shuffle_within(events, LATENESS_US, seed=7)
    write_files(tmp_path / "in", shuffled.slice(0, 110), n_files=2)
    first = finish(spark, tmp_path, plan)
    write_files(tmp_path / "in", shuffled.slice(110), n_files=2, first=2)
    rows = finish(spark, tmp_path, plan)
    assert rows == expected_rows(events, plan, final_watermark_us(events, LATENESS_US))
    assert 0 < len(first) < len(rows)


def test_a_checkpoint_refuses_another_bucket_count_and_another_query(spark: Any, tmp_path: Path) -> None:
    from eventide.engines.spark.errors import user_message

    write_files(tmp_path / "in", make_events(60, seed=8, n_users=1), n_files=1)
    finish(spark, tmp_path, make_plan(), n_buckets=4)
    write_files(tmp_path / "in", make_events(61, seed=8, n_users=1).slice(60), n_files=1, first=1)
    for options, said in [
        (
            {"physical": make_plan(), "n_buckets": 8},
            "the checkpoint was made with 4 buckets, the query now runs with 8",
        ),
        (
            {"physical": make_plan(query="SEQ(A, C, B)"), "n_buckets": 4},
            "the saved state belongs to another query:\n  SEQ(A, B, C) became SEQ(A, C, B)\n",
        ),
    ]:
        with pytest.raises(Exception, match="eventide") as caught:
            finish(spark, tmp_path, **options)
        assert said in str(user_message(caught.value))
        assert "checkpoint" in str(user_message(caught.value)).splitlines()[-1]


def test_bytes_written_per_batch_do_not_grow_with_the_state(spark: Any, tmp_path: Path) -> None:
    events = make_events(2400, seed=9, step_us=1000)
    write_files(tmp_path / "in", events, n_files=6)
    query = start(spark, tmp_path, make_plan("next", window_us=3600 * SECOND_US))
    query.awaitTermination()
    progress = [p.stateOperators[0] for p in query.recentProgress if p.numInputRows]
    written = [state.customMetrics["rocksdbTotalBytesWritten"] for state in progress]
    assert progress[-1].numRowsTotal > progress[0].numRowsTotal
    assert max(written) < 1.3 * min(written)


def test_late_events_are_dropped_and_quiet_buckets_advance(spark: Any, tmp_path: Path) -> None:
    # "quiet" has nothing after file 0; others move the watermark. The last "late" A and B come after it passed.
    rows = [
        (0, "quiet", "A", 1),
        (0, "quiet", "B", 2),
        (0, "late", "A", 3),
        (0, "late", "B", 4),
        (1, "late", "C", 5),
        (1, "other", "X", 30),
        (1, "quiet", "C", 6),
        (2, "late", "C", 7),
        (2, "other", "A", 31),
    ]
    events = make_stream(tmp_path, rows)
    plan = make_plan(lateness_us=10 * SECOND_US)
    got = finish(spark, tmp_path, plan)
    in_time = events.filter(pa.array([row != (2, "late", "C", 7) for row in rows]))
    assert got == expected_rows(in_time, plan, final_watermark_us(events, 10 * SECOND_US))
    assert {row[0] for row in got} == {"quiet", "late"}
    assert ev.stream_metrics(tmp_path / "checkpoint", spark)["late_events"] == 1


def test_metrics_of_something_else_than_a_checkpoint_are_an_error(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not the checkpoint of an Eventide stream"):
        ev.stream_metrics(tmp_path, spark)


def test_events_that_no_step_wants_advance_the_watermark(spark: Any, tmp_path: Path) -> None:
    events = make_stream(tmp_path, [(0, "u", "A", 1), (0, "u", "B", 2), (0, "u", "C", 3), (1, "v", "X", 50)])
    plan = make_plan(lateness_us=LATENESS_US)
    assert finish(spark, tmp_path, plan) == expected_rows(events, plan)


def test_absences_come_out_when_only_events_of_other_types_arrive(spark: Any, tmp_path: Path) -> None:
    rows = [(0, "u", "A", 1), (0, "v", "A", 2), (0, "v", "B", 3), (1, "w", "X", 50), (2, "w", "X", 60)]
    events = make_stream(tmp_path, rows)
    query = ev.query("PATTERN SEQ(A a, NOT B b) WHERE [user] WITHIN 5 seconds RETURN user", type="kind")
    found = finish(spark, tmp_path, query.plan(events.schema, "spark"))
    assert [row[0] for row in found] == ["u"]


def test_the_result_can_be_aggregated_by_windows_of_detected_at(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as sf

    plan = make_plan()
    events = make_events(300, seed=10)
    write_files(tmp_path / "in", events, n_files=3)

    def count(result: Any) -> Any:
        counted = result.groupBy(sf.window("detected_at", "30 seconds")).count()
        return counted.select(sf.unix_seconds("window.end").alias("end"), "count")

    counts = dict(finish(spark, tmp_path, plan, after=count))
    watermark_us = final_watermark_us(events)
    expected = Counter(row[-1] // (30 * SECOND_US) * 30 + 30 for row in expected_rows(events, plan, watermark_us))
    closed = {end: n for end, n in expected.items() if end * SECOND_US <= watermark_us}
    assert counts == closed
    assert len(closed) > 3


def test_a_watermark_of_the_users_own_is_kept(spark: Any, tmp_path: Path) -> None:
    events = make_events(120, seed=11)
    write_files(tmp_path / "in", events, n_files=2)
    plan = make_plan(lateness_us=0)
    rows = finish(spark, tmp_path, plan, before=lambda df: df.withWatermark("ts", "20 seconds"))
    assert rows == expected_rows(events, plan, final_watermark_us(events, 20 * SECOND_US))


def test_integer_and_zoneless_times_stream_too(spark: Any, tmp_path: Path) -> None:
    events = make_events(120, seed=12, step_us=2 * SECOND_US)
    for name, sql, time_type in [
        ("int", "unix_millis(ts) AS ts", TimeType(pa.int64(), "ms")),
        ("ntz", "CAST(ts AS TIMESTAMP_NTZ) AS ts", TimeType(pa.timestamp("us"))),
    ]:
        base = tmp_path / name
        write_files(base / "in", events, n_files=2)
        plan = make_plan("next", time=time_type, lateness_us=LATENESS_US)
        rows = finish(spark, base, plan, before=lambda df, sql=sql: df.selectExpr("`user`", sql, "kind", "amount"))
        ts = events.column("ts").cast(pa.timestamp("us"))
        ts = ts.cast(pa.int64()) if name == "ntz" else ts.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
        converted = events.set_column(1, "ts", ts.cast(time_type.arrow))
        assert rows == expected_rows(converted, plan, final_watermark_us(events, LATENESS_US))


def test_an_event_without_a_time_fails_the_query_or_is_dropped(spark: Any, tmp_path: Path) -> None:
    from eventide.engines.spark.errors import user_message

    events = make_events(60, seed=13)
    times = pa.array([None, *events.column("ts").to_pylist()[1:]], pa.timestamp("us", "UTC"))
    write_files(tmp_path / "in", events.set_column(1, "ts", times), n_files=1)
    with pytest.raises(Exception, match="eventide") as caught:
        finish(spark, tmp_path, make_plan())
    assert str(user_message(caught.value)).startswith("an event has no time: 'ts' is NULL")
    dropping = make_plan(drop_bad_events=True)
    rows = finish(spark, tmp_path, dropping)
    assert rows == expected_rows(events.slice(1), dropping, final_watermark_us(events))


def test_a_stream_needs_a_window(spark: Any) -> None:
    from eventide.engines.spark.stream import run

    rate = spark.readStream.format("rate").load().selectExpr("timestamp AS ts")
    with pytest.raises(UnsupportedError, match="WITHIN"):
        run(rate, make_plan(window_us=None))


_DRIVER = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from tests.engines.plans import make_plan
from tests.engines.streams import start
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
         .config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "2").getOrCreate())
start(spark, Path(sys.argv[1]), make_plan(lateness_us=5_000_000)).awaitTermination()
spark.stop()
"""


def test_a_killed_driver_restarts_without_losing_or_repeating_rows(spark: Any, tmp_path: Path) -> None:
    events = make_events(400, seed=14)
    write_files(tmp_path / "in", shuffle_within(events, LATENESS_US, seed=15), n_files=8)
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", _DRIVER, str(tmp_path)]
    # Its own group: the JVM must die with the driver.
    driver = subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
    commits = tmp_path / "checkpoint" / "commits"
    deadline = time.monotonic() + 240
    try:
        while not (commits / "1").exists() and driver.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert (commits / "1").exists()
    assert not (commits / "7").exists()
    plan = make_plan(lateness_us=LATENESS_US)
    rows = finish(spark, tmp_path, plan, n_buckets=2)
    assert rows == expected_rows(events, plan, final_watermark_us(events, LATENESS_US))
