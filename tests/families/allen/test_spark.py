"""Batch DataFrames and streams give the pairs of the embedded engine."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.errors import InputError, UnsupportedError
from eventide.plan.choose import SLICES, forced
from tests.engines.streams import collect, read_batches, write_batch, write_files
from tests.families.allen.cases import Case, found

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
TIMES = ("from", "to", "since", "until")
ALL = ("before", "meets", "overlaps", "starts", "during", "finishes", "equals", "after", "met-by", "contains")


def made(n: int, names: tuple[str, str], keys: list[str | None], seed: int, label: str) -> tuple[dict[str, Any], ...]:
    random = Random(seed)
    rows = []
    for i in range(n):
        start = random.randrange(300)
        times = {names[0]: start, names[1]: start + random.choice([0, 1, 4, 9, 30])}
        rows.append({"key": random.choice(keys), **times, label: i if label == "n" else str(i)})
    return tuple(rows)


def random_case(seed: int, *, within: int | None = 20, partitioned: bool = True, points: str | None = None) -> Case:
    keys: list[str | None] = ["a", "b", "c", None]
    left, right = made(120, ("from", "to"), keys, seed, "n"), made(150, ("since", "until"), keys, seed + 1, "word")
    relations = ALL
    if points:
        relations = ("before", "meets", "started-by", "contains", "after", "equals")
    return Case(left, right, relations, within, partitioned, points)


def with_times(table: pa.Table) -> pa.Table:
    """Seconds as timestamps."""
    for i, name in enumerate(table.column_names):
        if name in TIMES:
            at = pc.multiply(table.column(name), 1_000_000)
            at = pc.add(at, int(EPOCH.timestamp()) * 1_000_000).cast(pa.timestamp("us", "UTC"))
            table = table.set_column(i, name, at)
    return table


def in_seconds(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def plain(value: Any) -> Any:
        if not isinstance(value, datetime):
            return value
        return (value.replace(tzinfo=value.tzinfo or UTC) - EPOCH) // timedelta(seconds=1)

    return [{name: plain(value) for name, value in row.items()} for row in rows]


CASES: list[Callable[[], Case]] = [
    lambda: random_case(1),
    lambda: random_case(2, partitioned=False),
    lambda: random_case(3, points="right"),
]


@pytest.mark.parametrize("make", [*CASES, lambda: random_case(4, within=None)])
def test_batch_frames_give_the_oracles_pairs(spark: Any, make: Callable[[], Case]) -> None:
    case = make()
    frames = [spark.createDataFrame(with_times(table)) for table in case.tables()]
    assert found(in_seconds(case.run(*frames).toArrow().to_pylist())) == case.expected()


@pytest.mark.parametrize("partitioned", [False, True])
def test_slices_of_time_of_batch_frames_give_the_oracles_pairs(spark: Any, partitioned: bool) -> None:
    case = random_case(5, partitioned=partitioned)
    frames = [spark.createDataFrame(with_times(table)) for table in case.tables()]
    asked = {name: value for name, value in case.arguments.items() if name != "relations"}
    query = ev.allen(case.arguments["relations"], **asked)
    with forced(SLICES):
        rows = query.run(left=frames[0], right=frames[1])
    assert "by time" in query.last_run.reason
    assert found(in_seconds(rows.toArrow().to_pylist())) == case.expected()


def test_integer_times_and_empty_frames_work_on_spark_too(spark: Any) -> None:
    case = Case(random_case(5).left[:20], (), ALL, 20, True)
    frames = [spark.createDataFrame(table) for table in case.tables()]
    result = case.run(*frames, ts_unit="s").toArrow()
    assert result.num_rows == 0
    assert result.schema.names == case.run(*case.tables(), ts_unit="s").schema.names


def test_paths_are_read_by_spark_when_it_is_told_so(spark: Any, tmp_path: Path) -> None:
    case = random_case(6)
    for name, table in zip(("left", "right"), case.tables(), strict=True):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    paths = [str(tmp_path / f"{name}.parquet") for name in ("left", "right")]
    result = case.run(*paths, ts_unit="s", engine="spark", spark=spark)
    assert found(result.toArrow().to_pylist()) == case.expected()
    with pytest.raises(InputError, match="needs a session"):
        case.run(*paths, ts_unit="s", engine="spark")


def write_stream(spark: Any, folder: Path, table: pa.Table, end: str, n_files: int) -> Any:
    """A streaming DataFrame, one file a micro-batch, in the order of the ends; the last file moves time on."""
    write_files(folder, table.take(pc.sort_indices(table, [(end, "ascending")])), n_files)
    return read_batches(spark, folder)


def run_stream(result: Any, base: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = collect(result, base, result.sparkSession).to_pylist()
    return found


def streams(spark: Any, base: Path, case: Case, n_files: tuple[int, int] = (3, 2), times: bool = True) -> list[Any]:
    tables = [with_times(table) if times else table for table in case.tables()]
    sides = zip(("left", "right"), tables, (case.times[0][1], case.times[1][1]), n_files, strict=True)
    return [write_stream(spark, base / name, table, end, n) for name, table, end, n in sides]


def decided(case: Case) -> Any:
    """The pairs up to the final watermark: a second before the last end of the side that ends first."""
    ends = [[row[times[1]] for row in rows] for rows, times in zip((case.left, case.right), case.times, strict=True)]
    last = min(map(max, ends)) - 1
    rows = Case(
        tuple(row for row in case.left if row[case.times[0][1]] <= last),
        tuple(row for row in case.right if row[case.times[1][1]] <= last),
        case.relations,
        case.within,
        case.is_partitioned,
        case.points,
    )
    return rows.expected()


@pytest.mark.parametrize("make", CASES)
def test_streams_give_the_oracles_pairs_that_are_decided(spark: Any, tmp_path: Path, make: Callable[[], Case]) -> None:
    case = make()
    result = case.run(*streams(spark, tmp_path, case), allowed_lateness="1 second")
    assert result.isStreaming
    assert found(in_seconds(run_stream(result, tmp_path))) == decided(case)


def test_streams_with_integer_times_have_a_watermark_of_each_side(spark: Any, tmp_path: Path) -> None:
    case = random_case(8)
    result = case.run(*streams(spark, tmp_path, case, (2, 3), times=False), ts_unit="s", allowed_lateness="1 second")
    assert found(run_stream(result, tmp_path)) == decided(case)


def test_watermarks_of_the_users_own_are_kept(spark: Any, tmp_path: Path) -> None:
    case = random_case(9)
    left, right = streams(spark, tmp_path, case)
    result = case.run(left.withWatermark("to", "1 second"), right.withWatermark("until", "1 second"))
    assert found(in_seconds(run_stream(result, tmp_path))) == decided(case)
    with pytest.raises(InputError, match="watermark on 'from', but its intervals come by their end, 'to'"):
        case.run(left.withWatermark("from", "1 second"), right)


def test_the_result_of_a_stream_has_the_composite_end_as_its_event_time(spark: Any, tmp_path: Path) -> None:
    case = random_case(10)
    result = case.run(*streams(spark, tmp_path, case))
    assert "spark.watermarkDelayMs" in result.schema["interval_end"].metadata


def test_late_intervals_of_both_sides_are_a_stream_that_names_the_side(spark: Any, tmp_path: Path) -> None:
    # The second file of each side holds an interval that ends before what the first files have brought the time to.
    given = {
        "left": [{"key": "a", "from": 90, "to": 100, "n": 1}, {"key": "b", "from": 5, "to": 9, "n": 2}],
        "right": [
            {"key": "a", "since": 80, "until": 101, "word": "x"},
            {"key": "a", "since": 1, "until": 7, "word": "y"},
        ],
    }
    frames = []
    for name, rows in given.items():
        for i, row in enumerate(rows):
            write_batch(with_times(pa.Table.from_pylist([row])), tmp_path / name, i)
        frames.append(read_batches(spark, tmp_path / name))
    times = {"left_times": ("from", "to"), "right_times": ("since", "until")}
    query = ev.allen("before", within="1 hour", partition_by="key", **times)
    late = query.late(left=frames[0], right=frames[1])
    assert late.isStreaming
    none = dict.fromkeys(["left_from", "left_to", "left_n", "right_since", "right_until", "right_word"])
    assert sorted(in_seconds(run_stream(late, tmp_path)), key=lambda row: row["side"]) == [
        none | {"side": "left", "key": "b", "left_from": 5, "left_to": 9, "left_n": 2},
        none | {"side": "right", "key": "a", "right_since": 1, "right_until": 7, "right_word": "y"},
    ]


def test_a_stream_needs_a_window_and_two_streams(spark: Any, tmp_path: Path) -> None:
    case = random_case(11, within=None)
    left, right = streams(spark, tmp_path, case)
    with pytest.raises(UnsupportedError, match=r"(?s)without within.*Hint: add within"):
        case.run(left, right)
    with pytest.raises(InputError, match="only left is a stream"):
        random_case(11).run(left, spark.createDataFrame(with_times(case.tables()[1])))


def test_bad_intervals_are_errors_or_dropped_on_spark(spark: Any) -> None:
    rows = [{"key": "a", "from": 1, "to": 5}, {"key": "a", "from": 9, "to": 3}, {"key": "b", "from": None, "to": 3}]
    schema = "key string, from bigint, to bigint"
    left, right = spark.createDataFrame(rows[1:], schema), spark.createDataFrame(rows[:1], schema)
    asked = {"start": "from", "end": "to", "ts_unit": "s", "partition_by": "key"}
    with pytest.raises(Exception, match="an interval of left ends before it starts in the row with from = 9, to = 3"):
        ev.allen(left.limit(1), right, "after", **asked).collect()
    dropped = ev.allen(spark.createDataFrame(rows, schema), right, "equals", on_bad_event="drop", **asked)
    assert [row["relation"] for row in dropped.collect()] == ["equals"]


def test_instants_of_frames_and_streams(spark: Any) -> None:
    frame = spark.sql("SELECT 1 AS n, TIMESTAMP '2024-01-01' AS interval_start, TIMESTAMP '2024-01-02' AS interval_end")
    assert ev.to_instants(frame, at="earliest").columns == ["n", "ts"]
    assert ev.to_instants(frame, at="latest").collect()[0]["ts"].day == 2
    fixed = datetime(2030, 5, 6, tzinfo=UTC)
    told = ev.to_instants(frame, at="now", clock=lambda: fixed).toArrow().column("ts")[0].as_py()
    assert told == fixed
    for kind in ("timestamp", "timestamp_ntz", "date", "bigint"):
        times = [f"cast({name} AS {kind}) AS {name}" for name in ("interval_start", "interval_end")]
        typed = frame.selectExpr("n", *times)
        unit = {"ts_unit": "s"} if kind == "bigint" else {}
        now = ev.to_instants(typed, at="now", **unit).schema["ts"].dataType
        assert now == typed.schema["interval_start"].dataType
