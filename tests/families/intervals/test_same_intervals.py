"""Random derivations over random events: every engine derives the intervals of the oracle."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.budget import ON_SPARK, QUICK, budgeted
from tests.engines.streams import both_readings, collect, read_batches, write_batch
from tests.families.intervals.cases import CONJUNCTS, SCHEMA, SECOND_US, VALUES, Case, cases, found
from tests.micro_batches import Stream


def check(case: Case, rows: list[dict[str, Any]], detects: bool = False) -> None:
    assert found(rows) == case.expected(detects)


def everything() -> Case:
    """One case with all values, and compiled conditions of each kind."""
    values = [{"x": i % 5, "y": (i % 4) * 0.5, "kind": "ab"[i % 7 == 0]} for i in range(12)]
    events = tuple({"seq": i, "ts": i, "key": i % 2, **some} for i, some in enumerate(values))
    return Case(events, ("(x IS NULL OR x <> 3)", "y >= avg(y)"), tuple(VALUES), True)


def in_one_piece() -> Case:
    """Without partitions, so that time is cut."""
    events = tuple(
        {"seq": i, "ts": i, "key": 0, "kind": "ab"[i % 5 == 0], "x": i % 4, "y": i % 3 / 2} for i in range(40)
    )
    return Case(events, ("x >= 2", "kind = 'a'"), ("sum(x)", "max(y)"), True, gap=2, partition=False)


@budgeted(**QUICK)
@given(case=cases(), detects=st.booleans())
@example(case=everything(), detects=True)
def test_the_embedded_engine_derives_the_oracles_intervals(case: Case, detects: bool) -> None:
    check(case, case.derive(case.table(), detected_at=detects).to_pylist(), detects)


@budgeted(**QUICK)
@given(
    case=cases(),
    borders=st.lists(st.integers(0, 14), max_size=5),
    delay=st.sampled_from([0, 2]),
    disorder=st.randoms(use_true_random=False),
)
def test_micro_batches_with_a_restart_after_each_derive_the_intervals_of_one_batch(
    case: Case, borders: list[int], delay: int, disorder: Any
) -> None:
    order = sorted(case.events, key=lambda e: e["ts"] + disorder.random() * max(delay - 1, 0))
    stream = Stream(case.physical(detects=True))
    times_us = [event["ts"] * SECOND_US for event in order]
    stream.play(pa.Table.from_pylist(order, schema=SCHEMA), times_us, borders, delay * SECOND_US + 1)
    check(case, stream.rows, detects=True)


@budgeted(**QUICK)
@given(case=cases())
def test_files_in_time_order_are_worked_off_piece_by_piece(case: Case, tmp_path_factory: Any) -> None:
    assume(case.events)
    path = tmp_path_factory.mktemp("events") / "events.parquet"
    pq.write_table(case.table().sort_by([("ts", "ascending"), ("seq", "descending")]), path, row_group_size=3)
    with patch("eventide.engines.local.run.ROWS_PER_READ", 3):
        check(case, case.derive(str(path)).to_pylist())


@budgeted(**QUICK)
@given(case=cases())
@example(case=in_one_piece())
def test_threads_and_little_room_change_nothing(case: Case) -> None:
    module = "eventide.families.intervals.operator"
    with patch(f"{module}._WORTH_A_THREAD", 1), patch(f"{module}.ROOM", 2), patch("os.cpu_count", lambda: 3):
        check(case, case.derive(case.table()).to_pylist())


@pytest.mark.parametrize("condition", CONJUNCTS)
def test_each_condition_alone(condition: str) -> None:
    values = [(0, 1.0), (2, 1.5), (3, 2.5), (None, None), (1, 0.5), (1, 2.0), (4, 3.5), (4, 3.5), (2, None), (5, 0.0)]
    events = tuple(
        {"seq": i, "ts": i, "key": 0, "kind": "aabbac"[i % 6], "x": x, "y": y} for i, (x, y) in enumerate(values)
    )
    case = Case(events, (condition,), (), True, closes=True)
    assert case.expected()
    check(case, case.derive(case.table()).to_pylist())


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(case=cases())
@example(case=everything())
def test_a_spark_dataframe_gives_the_intervals_of_the_oracle(spark: Any, case: Case) -> None:
    assume(case.events)
    check(case, case.derive(spark.createDataFrame(case.table())).toArrow().to_pylist())


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(case=cases())
@example(case=everything())
@example(case=in_one_piece())
def test_files_read_by_spark_tasks_give_the_intervals_of_the_oracle(
    spark: Any, tmp_path_factory: Any, case: Case
) -> None:
    assume(case.events)
    run = partial(case.derive, engine="spark", spark=spark)
    for rows in both_readings(tmp_path_factory.mktemp("events"), case.table(), 4, run):
        check(case, rows.to_pylist())


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(case=cases())
@example(case=everything())
def test_a_stream_gives_the_intervals_that_are_decided(spark: Any, tmp_path_factory: Any, case: Case) -> None:
    """A last event far away in each partition breaks what is open; it begins nothing itself: it has no values."""
    assume(case.events and case.is_run)
    case = replace(case, closes=False)
    base = tmp_path_factory.mktemp("stream")
    shifted = [{**event, "ts": event["ts"] + 1_600_000_000} for event in case.events]
    latest = max(event["ts"] for event in shifted) + 1000
    nothing = {"kind": None, "x": None, "y": None}
    closing = [{"seq": 100 + i, "ts": latest, "key": key, **nothing} for i, key in enumerate([0, 1, None])]
    later = [{**event, "seq": event["seq"] + 10, "ts": event["ts"] + 1000} for event in closing]
    for number, rows in enumerate([shifted[::2], shifted[1::2], closing, later]):
        write_batch(pa.Table.from_pylist(rows, schema=SCHEMA), base / "in", number)
    result = case.derive(read_batches(spark, base / "in"), allowed_lateness="100 seconds")
    rows = collect(result, base, spark).to_pylist()
    whole = Case(
        **{**{name: getattr(case, name) for name in case.__dataclass_fields__}, "events": (*shifted, *closing)}
    )
    start = case.partition + 1
    expected = [row for row in whole.expected(detects=True) if row[start] < latest]
    assert found([row for row in rows if row["interval_end"] < latest]) == expected
