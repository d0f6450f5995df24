"""Spark batch returns what the operator returns in this process, with the input's types."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.engines.file_input import FileInput
from eventide.runtime.times import TimeType
from tests.engines.plans import expected_rows, make_events, make_plan, table_rows

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def events() -> pa.Table:
    return make_events(600, seed=1)


@pytest.fixture(scope="module")
def folder(events: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("batch") / "events"
    path.mkdir()
    pq.write_table(events.slice(0, 250), path / "1.parquet", row_group_size=40)
    pq.write_table(events.slice(250), path / "2.parquet", row_group_size=100)
    return path


@pytest.mark.parametrize("strategy", ["any", "next", "contiguous"])
def test_a_dataframe_gives_the_operators_rows(spark: Any, events: pa.Table, folder: Path, strategy: str) -> None:
    from eventide.engines.spark.batch import run_dataframe

    plan = make_plan(strategy)
    rows = table_rows(run_dataframe(spark.read.parquet(str(folder)), plan).toArrow())
    assert rows == expected_rows(events, plan)
    assert rows


@pytest.mark.parametrize("strategy", ["any", "contiguous"])
def test_tasks_that_read_parquet_themselves_give_the_same_rows(
    spark: Any, events: pa.Table, folder: Path, strategy: str
) -> None:
    from eventide.engines.names import expand_path
    from eventide.engines.spark.batch import run, run_pieces
    from eventide.engines.spark.exchange import blocks_by_key, from_paths

    plan = make_plan(strategy)
    given = FileInput(expand_path(str(folder)), plan)
    shares = given.pieces(3)
    assert (len(shares), given.n_rows) == (3, events.num_rows)
    blocks = blocks_by_key(from_paths(spark, shares, plan), plan, 4)
    assert table_rows(run(blocks, plan, spark, 4).toArrow()) == expected_rows(events, plan)
    pieces = [piece for share in shares for piece in share]
    assert table_rows(run_pieces(pieces, plan, spark).toArrow()) == expected_rows(events, plan)


def test_each_bucket_is_one_task(spark: Any, folder: Path) -> None:
    from pyspark.sql import functions as sf

    from eventide.engines.spark.exchange import blocks_by_key, from_dataframe

    plan = make_plan()
    blocks = blocks_by_key(from_dataframe(spark.read.parquet(str(folder)), plan), plan, 3)
    placed = blocks.repartitionById(3, "bucket").select("bucket", sf.spark_partition_id().alias("task")).distinct()
    assert sorted(map(tuple, placed.collect())) == [(0, 0), (1, 1), (2, 2)]


def test_a_null_partition_is_one_partition_across_blocks(spark: Any, tmp_path: Path) -> None:
    from eventide.engines.spark.batch import run
    from eventide.engines.spark.exchange import blocks_by_key, from_paths

    events, plan = make_events(200, seed=2, null_users=True), make_plan()
    pq.write_table(events, tmp_path / "e.parquet", row_group_size=30)
    shares = FileInput([str(tmp_path / "e.parquet")], plan).pieces(4)
    blocks = blocks_by_key(from_paths(spark, shares, plan), plan, 2)
    assert table_rows(run(blocks, plan, spark, 2).toArrow()) == expected_rows(events, plan)


@pytest.mark.parametrize(
    ("sql", "arrow", "unit", "spark_type"),
    [
        ("CAST(ts AS TIMESTAMP_NTZ)", pa.timestamp("us"), None, "timestamp_ntz"),
        ("CAST(unix_millis(ts) AS BIGINT)", pa.int64(), "ms", "bigint"),
        ("CAST(unix_seconds(ts) AS INT)", pa.int32(), "s", "int"),
        ("CAST(ts AS DATE)", pa.date32(), None, "date"),
    ],
)
def test_result_times_have_the_type_of_the_time_column(
    spark: Any, folder: Path, sql: str, arrow: pa.DataType, unit: str | None, spark_type: str
) -> None:
    from eventide.engines.spark.batch import run_dataframe

    plan = make_plan("next", window_us=None, time=TimeType(arrow, unit))
    df = spark.read.parquet(str(folder)).selectExpr("`user`", f"{sql} AS ts", "kind", "amount")
    result = run_dataframe(df, plan, n_buckets=2)
    types = {field.name: field.dataType.simpleString() for field in result.schema.fields}
    assert types == {
        "user": "string",
        "a": spark_type,
        "b": spark_type,
        "c": spark_type,
        "x": "int",
        "detected_at": spark_type,
    }
    assert table_rows(result.toArrow()) == expected_rows(df.toArrow(), plan)


def test_an_event_without_a_time_is_an_error_the_user_can_read(spark: Any) -> None:
    from eventide.engines.spark.batch import run_dataframe
    from eventide.engines.spark.errors import user_message

    df = spark.sql("SELECT 'u7' AS user, CAST(NULL AS TIMESTAMP) AS ts, 'X' AS kind, 3 AS amount")
    with pytest.raises(Exception) as caught:
        run_dataframe(df, make_plan(), n_buckets=1).collect()
    assert user_message(caught.value) == (
        "an event has no time: 'ts' is NULL in the event with user = 'u7', amount = 3\n"
        'Hint: fill in the time, or pass on_bad_event="drop" to drop and count such events'
    )
    assert run_dataframe(df, make_plan(drop_bad_events=True), n_buckets=1).collect() == []


def test_an_empty_input_gives_no_rows_and_the_same_schema(spark: Any, folder: Path) -> None:
    from eventide.engines.spark.batch import run_dataframe

    df = spark.read.parquet(str(folder))
    empty = run_dataframe(df.limit(0), make_plan(), n_buckets=2)
    assert empty.collect() == []
    assert empty.schema == run_dataframe(df, make_plan(), n_buckets=2).schema


def test_only_plain_parquet_is_read_directly(tmp_path: Path, folder: Path, events: pa.Table) -> None:
    from eventide.engines.spark.sources import can_read_directly, find

    def reason(path: Path) -> str:
        return str(can_read_directly(find(str(path))))

    assert can_read_directly(find(str(folder))) is None
    assert can_read_directly(find(f"{folder}/*")) is None
    assert can_read_directly(find(f"file://{folder}", local_master=False)) is None
    assert "executors" in str(can_read_directly(find(str(folder), local_master=False)))
    assert "executors" in str(can_read_directly(find("s3://bucket/events")))
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    assert "it is a Delta table" in reason(tmp_path / "delta")
    (tmp_path / "hive" / "user=1").mkdir(parents=True)
    pq.write_table(events, tmp_path / "hive" / "user=1" / "1.parquet")
    assert "names of its folders" in reason(tmp_path / "hive")
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    pq.write_table(events, mixed / "1.parquet")
    pq.write_table(events.drop_columns(["amount"]), mixed / "2.parquet")
    assert "schema" in reason(mixed)
    pq.write_table(events, tmp_path / "old.parquet", use_deprecated_int96_timestamps=True)
    assert "INT96" in reason(tmp_path / "old.parquet")


@pytest.mark.parametrize(
    ("dtype", "reason"),
    [
        (pa.duration("us"), "column d is a duration"),
        (pa.list_(pa.struct({"inner": pa.duration("ms")})), "column d is a duration"),
        (pa.struct({"inner": pa.timestamp("ns")}), "column d has nanoseconds"),
        (pa.timestamp("ns", "UTC"), None),
        (pa.list_(pa.uint8()), "column d is unsigned"),
        (pa.map_(pa.string(), pa.duration("s")), "column d is a duration"),
        (pa.list_(pa.struct({"inner": pa.int64()})), None),
    ],
    ids=str,
)
def test_types_that_spark_reads_differently_are_left_to_spark(
    tmp_path: Path, dtype: pa.DataType, reason: str | None
) -> None:
    from eventide.engines.spark.sources import can_read_directly, find

    pq.write_table(pa.table({"d": pa.array([None], dtype)}), tmp_path / "events.parquet")
    found = can_read_directly(find(str(tmp_path / "events.parquet")))
    assert found is None if reason is None else str(found).startswith(reason)


DURATIONS = [(1, "A", 1_000_000), (2, "B", 3_456_000_000_000), (3, "A", None), (4, "B", -2)]  # microseconds


def test_durations_in_parquet_are_whole_numbers_as_spark_reads_them(spark: Any, tmp_path: Path) -> None:
    ts, kind, lengths = zip(*DURATIONS, strict=True)
    table = pa.table({"ts": ts, "kind": kind, "d": pa.array(lengths, pa.duration("us"))})
    pq.write_table(table, tmp_path / "events.parquet")
    query = ev.query("PATTERN SEQ(A a, B b) WHERE a.d < b.d RETURN a.d, b.d", ts_unit="s", type="kind")
    rows = query.run(str(tmp_path / "events.parquet"), engine="spark", spark=spark).toArrow()
    assert rows.to_pylist() == [{"a_d": 1_000_000, "b_d": 3_456_000_000_000, "detected_at": 2}]
    assert query.run(str(tmp_path / "events.parquet")).equals(rows)


def test_intervals_of_a_dataframe_stay_intervals(spark: Any) -> None:
    rows = [(ts, kind, None if us is None else dt.timedelta(microseconds=us)) for ts, kind, us in DURATIONS]
    frame = spark.createDataFrame(rows, "ts bigint, kind string, d interval day to second")
    text = "PATTERN SEQ(A a, B b) WHERE a.d < b.d AND a.d < INTERVAL '5' SECOND RETURN a.d, b.d"
    found = ev.query(text, ts_unit="s", type="kind").run(frame).collect()
    assert [tuple(row) for row in found] == [(rows[0][2], rows[1][2], 2)]


def test_row_groups_are_shared_out_by_rows(folder: Path) -> None:
    files = [str(folder / "1.parquet"), str(folder / "2.parquet")]
    shares = FileInput(files, make_plan()).pieces(3)
    groups = [(path, group) for share in shares for path, start, stop in share for group in range(start, stop)]
    assert groups == [(files[0], i) for i in range(7)] + [(files[1], i) for i in range(4)]
    rows = [sum(_rows(piece) for piece in share) for share in shares]
    assert len(rows) == 3
    assert max(rows) - min(rows) <= 100


def _rows(piece: tuple[str, int, int]) -> int:
    path, start, stop = piece
    return sum(pq.read_metadata(path).row_group(i).num_rows for i in range(start, stop))
