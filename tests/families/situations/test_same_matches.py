"""Random situation queries have the matches of the oracle and their instants of detection, on every engine.

A failure prints the query, its options and the events; `missing` is what the oracle has and the product has not.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import eventide as ev
from tests.budget import ON_SPARK, QUICK, budgeted
from tests.engines.streams import both_readings, collect, read_batches, write_batch
from tests.families.situations.cases import situation_cases
from tests.families.situations.compare import SECOND_US, SituationCase
from tests.micro_batches import Arrival, arrivals

SEVERAL = (1, 2, 3, None)


def run(case: SituationCase, events: Any = None, **inputs: Any) -> Any:
    try:
        return ev.query(case.text, **case.options).run(case.table() if events is None else events, **inputs)
    except ev.EventideError as error:
        raise AssertionError(f"{case}{type(error).__name__}: {error}") from error


# --- embedded ---------------------------------------------------------------------------------------------------


@budgeted(**QUICK)
@given(situation_cases())
def test_matches_are_those_of_the_oracle(case: SituationCase) -> None:
    case.check(run(case))


@budgeted(**QUICK)
@given(situation_cases(focus="durations", symbols=(2, 4)))
def test_durations_defer_matches_as_in_the_oracle(case: SituationCase) -> None:
    case.check(run(case))


@budgeted(**QUICK)
@given(situation_cases(focus="gaps", symbols=(2, 4)))
def test_gaps_end_situations_as_in_the_oracle(case: SituationCase) -> None:
    case.check(run(case))


@budgeted(**QUICK)
@given(situation_cases(focus="prefix", emission="early", symbols=(2, 5)))
def test_prefix_groups_are_found_when_the_oracle_finds_them(case: SituationCase) -> None:
    case.check(run(case))


@budgeted(**QUICK)
@given(situation_cases(partitioned=True, groups=SEVERAL, max_events=22))
def test_partitions_are_matched_apart(case: SituationCase) -> None:
    case.check(run(case))


@budgeted(**QUICK)
@given(situation_cases(symbols=(2, 3), partitioned=False, max_events=24))
def test_long_streams_have_the_matches_of_the_oracle(case: SituationCase) -> None:
    case.check(run(case))


@budgeted(**QUICK)
@given(situation_cases(), st.randoms(use_true_random=False))
def test_rows_in_any_order_give_the_same_matches(case: SituationCase, disorder: Any) -> None:
    order = list(range(len(case.events)))
    disorder.shuffle(order)
    case.check(run(case, case.table().take(pa.array(order, pa.int64()))))


@budgeted(**QUICK)
@given(situation_cases(groups=SEVERAL))
def test_events_cut_by_partition_give_the_same_matches(case: SituationCase) -> None:
    """A memory limit of a few bytes: every block is spilled and worked off bucket by bucket."""
    case.check(run(case, memory_limit=64))


@budgeted(**QUICK)
@given(situation_cases(groups=SEVERAL))
def test_a_file_in_pieces_gives_the_same_matches(tmp_path_factory: Any, case: SituationCase) -> None:
    path = tmp_path_factory.mktemp("events") / "events.parquet"
    pq.write_table(case.table(), path, row_group_size=3)
    case.check(run(case, path))


@budgeted(**QUICK)
@given(situation_cases(groups=SEVERAL))
def test_shares_of_threads_and_chunks_of_time_give_the_same_matches(case: SituationCase) -> None:
    """Partitions and stretches of time on threads, orders that follow what was seen, room for one match at first."""
    with (
        patch("eventide.families.situations.operator._EVENTS_PER_SHARE", 1),
        patch("eventide.families.situations.matcher._RUNS_PER_CHUNK", 2),
        patch("eventide.families.situations.matcher._ROOM", 1),
        patch("os.cpu_count", lambda: 3),
    ):
        case.check(run(case))


# --- in micro-batches -------------------------------------------------------------------------------------------


@budgeted(**QUICK)
@given(
    # A stream has no end that could close a situation.
    case=situation_cases(groups=SEVERAL, close_at_end=False)
    | situation_cases(groups=SEVERAL, close_at_end=False, focus="gaps", symbols=(2, 4)),
    arrival=arrivals(13, 5),
)
def test_micro_batches_give_the_matches_of_the_oracle(case: SituationCase, arrival: Arrival) -> None:
    case.check_arrival(ev.query(case.text, **case.options).plan(case.table().schema), arrival)


# --- on Spark ---------------------------------------------------------------------------------------------------


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(situation_cases(groups=SEVERAL))
def test_a_spark_dataframe_gives_the_matches_of_the_oracle(spark: Any, case: SituationCase) -> None:
    assume(case.events and case.expected)
    case.check(run(case, spark.createDataFrame(case.table())).toArrow())


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(situation_cases(groups=SEVERAL))
def test_files_read_by_spark_tasks_give_the_matches_of_the_oracle(
    spark: Any, tmp_path_factory: Any, case: SituationCase
) -> None:
    assume(case.events and case.expected)
    read = partial(run, case, engine="spark", spark=spark)
    for rows in both_readings(tmp_path_factory.mktemp("events"), case.table(), 4, read):
        case.check(rows)


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(
    # Spark's watermark begins at the epoch: what is not after it is late.
    case=situation_cases(groups=SEVERAL, close_at_end=False, windowed=True, starts=(100, 1_600_000_000)),
    borders=st.lists(st.integers(1, 13), max_size=3),
    disorder=st.randoms(use_true_random=False),
)
def test_a_stream_gives_the_matches_of_the_oracle(
    spark: Any, tmp_path_factory: Any, case: SituationCase, borders: list[int], disorder: Any
) -> None:
    """Micro-batches in disorder within the allowed lateness; a last event far away decides all others."""
    assume(case.events and case.expected)
    folder: Path = tmp_path_factory.mktemp("stream")
    table = case.table()
    order = sorted(range(table.num_rows), key=lambda i: case.events[i]["ts"] + disorder.uniform(0, 2.9))
    arriving = table.take(pa.array(order, pa.int64()))
    cuts = sorted({0, table.num_rows, *(border for border in borders if border < table.num_rows)})
    parts = [arriving.slice(start, stop - start) for start, stop in pairwise(cuts)]
    for i, part in enumerate([*parts, _far(case)]):
        write_batch(part, folder / "in", i)
    query = ev.query(case.text, allowed_lateness="3 seconds", **case.options)
    case.check(collect(query.run(read_batches(spark, folder / "in")), folder, spark))


def _far(case: SituationCase) -> pa.Table:
    """One event that no watermark passes."""
    last = max(event["ts"] for event in case.events) + 1000
    ts = pa.array([last if case.integer_time else last * SECOND_US], case.time_type)
    return case.table().slice(0, 1).set_column(0, "ts", ts)
