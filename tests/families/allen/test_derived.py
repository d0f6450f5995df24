"""Intervals that the same streaming query derives come after their end, with the watermark that decides them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as ev
from eventide.families.allen.following import behind
from eventide.families.intervals.family import lag_us
from eventide.families.intervals.lower import Deriving, Runs, Spans
from eventide.families.registry import family_named
from eventide.plan.options import Options
from eventide.runtime.interval_columns import LEFT, RIGHT
from tests.budget import QUICK, budgeted
from tests.engines.streams import read_batches, write_files
from tests.families.allen.cases import Case, cases, found
from tests.families.allen.micro_batches import SECOND_US, Stream, block_of, plan_of, play_derived
from tests.families.allen.test_spark import run_stream


@budgeted(**QUICK)
@given(
    case=cases(bounded=True),
    borders=st.lists(st.integers(0, 16), max_size=5),
    disorder=st.randoms(use_true_random=False),
    lag=st.sampled_from([0, 1, 4]),
    following=st.sampled_from([LEFT, RIGHT, LEFT | RIGHT]),
)
def test_intervals_that_come_after_their_end_give_the_pairs_of_one_batch(
    case: Case, borders: list[int], disorder: Any, lag: int, following: int
) -> None:
    rows = play_derived(case, borders, disorder, lag, following)
    expected = case.expected()
    instants = [row.pop("detected_at") for row in rows] if lag else []
    assert found(rows) == expected
    assert instants == [row["interval_end"] + lag for row in rows][: len(instants)]


def one_of_each(left: tuple[int, int], right: tuple[int, int]) -> Case:
    return Case(
        ({"key": "a", "from": left[0], "to": left[1], "n": 0},),
        ({"key": "a", "since": right[0], "until": right[1], "word": "w"},),
        ("before",),
        100,
        True,
    )


def test_a_pair_waits_until_no_earlier_interval_can_come() -> None:
    case = one_of_each((1, 2), (5, 9))
    plan = behind(plan_of(case), LEFT | RIGHT, 10 * SECOND_US)
    stream = Stream(plan)
    assert stream.step(block_of(case, plan), 12 * SECOND_US) == []
    assert stream.operator().pending_us() == 19 * SECOND_US
    assert [row["detected_at"] for row in stream.step(block_of(case, plan).slice(0, 0), 19 * SECOND_US)] == [19]


def test_of_a_side_that_is_not_derived_what_comes_behind_the_watermark_is_late() -> None:
    case = one_of_each((1, 2), (5, 9))
    plan = behind(plan_of(case), LEFT, 10 * SECOND_US)
    stream = Stream(plan)
    stream.step(block_of(case, plan), 9 * SECOND_US)  # the right one ends then
    assert stream.operator().late_events() == 1
    assert stream.finish() == []


def test_a_gap_and_a_fixed_length_bound_how_late_an_interval_comes() -> None:
    schema = pa.schema([("ts", pa.timestamp("us")), ("x", pa.int64())])

    def lag(form: Runs | Spans) -> int | None:
        spec: Any = family_named("intervals").prepare(Deriving(form), Options.of(), schema).spec
        return lag_us(spec)

    assert lag(Runs("x > 1", gap_us=5)) == 5
    assert lag(Runs("x > 1")) is None and lag(Runs("x > 1", 1, 3)) is None
    assert lag(Runs("x > 1", 3, 3)) == 0 and lag(Spans("x > 1", "x < 0")) == 0


# --- on Spark -----------------------------------------------------------------------------------------------


def events() -> pa.Table:
    """Rooms that are hot and full of smoke now and then."""
    rows = []
    for i in range(120):
        hot, smoke = (i // 7) % 3 != 0, (i // 5) % 2 == 0
        rows.append({"ts": (1_700_000_000 + 2 * i) * 1_000_000, "room": "ab"[i % 3 == 0], "hot": hot, "smoke": smoke})
    table = pa.Table.from_pylist(rows)
    return table.set_column(0, "ts", table.column("ts").cast(pa.timestamp("us", "UTC")))


def stream_of(spark: Any, folder: Path, table: pa.Table, n_files: int) -> Any:
    write_files(folder, table, n_files)
    return read_batches(spark, folder)


def related(events: Any) -> Any:
    hot = ev.intervals.homogeneous(events, "hot", within="6 seconds", partition_by="room")
    smoke = ev.intervals.heterogeneous(events, start="smoke", end="NOT smoke", partition_by="room")
    relations = "overlaps | during | overlapped-by | contains | finishes | starts"
    return ev.allen(hot, smoke, relations, within="2 minutes", partition_by="room")


@pytest.mark.spark
def test_one_streaming_query_derives_intervals_and_relates_them(spark: Any, tmp_path: Path) -> None:
    table = events()
    result = related(stream_of(spark, tmp_path / "in", table, 3))
    assert "spark.watermarkDelayMs" in result.schema["detected_at"].metadata
    names = [name for name in result.columns if "detected_at" not in name]
    rows = spark.createDataFrame(run_stream(result.select(*names), tmp_path), result.select(*names).schema)
    # A pair is decided six seconds, the greatest lag, after its later end.
    last = pc.max(table.column("ts")).as_py()
    batch = related(spark.createDataFrame(table)).select(*names)
    expected = batch.where(f"interval_end + INTERVAL 6 SECONDS <= TIMESTAMP '{last:%Y-%m-%d %H:%M:%S}'")
    assert rows.count() == expected.count() > 5
    assert rows.exceptAll(expected).count() == 0


@pytest.mark.spark
def test_intervals_without_a_bound_or_an_event_time_are_refused(spark: Any, tmp_path: Path) -> None:
    stream = stream_of(spark, tmp_path / "in", events(), 1)
    bounded = ev.intervals.heterogeneous(stream, start="smoke", end="NOT smoke")
    loose = ev.intervals.homogeneous(stream, "hot")
    with pytest.raises(ev.InputError, match="nothing bounds how long after 'interval_end'") as caught:
        ev.allen(loose, bounded, "during", within="1 minute")
    assert "within='1 minute', or give allowed_lateness" in str(caught.value)
    assert ev.allen(loose, bounded, "during", within="1 minute", allowed_lateness="1 minute").isStreaming
    seconds = stream.selectExpr("unix_seconds(ts) AS ts", "hot", "smoke")
    without = ev.intervals.homogeneous(seconds, "hot", within="6 seconds", ts_unit="s")
    with pytest.raises(ev.InputError, match="left is derived in the same query and has no event time"):
        ev.allen(without, without, "before", within="1 minute", ts_unit="s")
