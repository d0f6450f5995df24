"""The folder that a Spark stream wrote: the files that its log names, and no leftovers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev

QUERY = ev.query("PATTERN A a RETURN a.ts", ts_unit="s", type="kind")


def write_file(folder: Path, name: str, *times: int) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"ts": list(times), "kind": ["A"] * len(times)}), folder / name)


def write_log(folder: Path, batch: str, *names: str, version: str = "v1") -> None:
    """`-name` for a file that is deleted."""
    (folder / "_spark_metadata").mkdir(parents=True, exist_ok=True)
    records = [
        {"path": (folder / name.lstrip("-")).as_uri(), "isDir": False, "action": "delete" if name[0] == "-" else "add"}
        for name in names
    ]
    text = "\n".join([version, *map(json.dumps, records)])
    (folder / "_spark_metadata" / batch).write_text(text)


@pytest.fixture
def sink(tmp_path: Path) -> Path:
    """Batches 0 and 1, the latter with a space in a name, and what a killed batch 2 has left."""
    folder = tmp_path / "out"
    for i, name in enumerate(("a.parquet", "b 1.parquet", "left.parquet")):
        write_file(folder, name, i)
    write_log(folder, "0", "a.parquet")
    write_log(folder, "1", "b 1.parquet")
    (folder / "_spark_metadata" / ".1.crc").write_bytes(b"x")
    (folder / "_spark_metadata" / ".2.tmp").write_text("v1")
    return folder


def times(path: Any) -> list[int]:
    return sorted(QUERY.run(path)["a_ts"].to_pylist())


def test_a_leftover_of_a_killed_batch_is_not_read(sink: Path) -> None:
    assert times(sink) == [0, 1]
    assert ev.sql("SELECT ts FROM t ORDER BY ts", t=sink)["ts"].to_pylist() == [0, 1]


def test_a_compact_log_stands_for_all_before(sink: Path) -> None:
    for i in range(2, 10):
        write_file(sink, f"{i}.parquet", i)
        write_log(sink, str(i), f"{i}.parquet")
    # Batches before a compact one may be gone, or be there still.
    write_log(sink, "9.compact", "a.parquet", *(f"{i}.parquet" for i in range(3, 10)))
    (sink / "_spark_metadata" / "0").unlink()
    write_file(sink, "10.parquet", 10)
    write_log(sink, "10", "10.parquet")
    assert times(sink) == [0, *range(3, 11)]


def test_a_file_that_the_log_deletes_is_not_read(sink: Path) -> None:
    write_log(sink, "2", "-a.parquet")
    assert times(sink) == [1]


def test_a_batch_without_rows(sink: Path) -> None:
    write_log(sink, "2")
    assert times(sink) == [0, 1]


def test_a_folder_that_has_moved(sink: Path, tmp_path: Path) -> None:
    shutil.copytree(sink, tmp_path / "moved" / "there")
    write_file(sink, "a.parquet", 77)
    assert times(tmp_path / "moved" / "there") == [0, 1]


def test_columns_in_the_names_of_a_streams_folders(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        write_file(tmp_path / "out", f"day={day}/a.parquet", day)
    write_log(tmp_path / "out", "0", "day=1/a.parquet", "day=2/a.parquet")
    query = ev.query("PATTERN A a WHERE a.day > 1 RETURN a.ts, a.day", ts_unit="s", type="kind")
    assert query.run(tmp_path / "out").drop_columns("detected_at").to_pylist() == [{"a_ts": 2, "a_day": 2}]


@pytest.mark.parametrize(
    ("batch", "text", "message"),
    [
        ("1", "", "'1' begins with '', not with 'v1'"),
        ("1", "v2\n{}", "'1' begins with 'v2'"),
        ("1", 'v1\n{"path":', "a line that is not a record"),
        ("1", 'v1\n{"path": "file:///x/gone.parquet", "action": "add"}', r"the file 'gone\.parquet' is gone"),
        ("3", "v1", "batch 2 is missing"),
        ("2.compact", "v1", "names none"),
    ],
)
def test_a_log_that_does_not_tell_is_an_error(sink: Path, batch: str, text: str, message: str) -> None:
    (sink / "_spark_metadata" / batch).write_text(text)
    with pytest.raises(ev.InputError, match=message):
        QUERY.run(sink)


def test_no_file_of_the_folder_by_itself(sink: Path) -> None:
    for path in (sink / "left.parquet", f"{sink}/*.parquet", sink.parent, f"{sink.parent}/*/l*"):
        with pytest.raises(ev.InputError, match="the folder of a Spark stream"):
            QUERY.run(path)


@pytest.mark.spark
def test_spark_reads_the_same_files(spark: Any, tmp_path: Path) -> None:
    """A real stream, whose log is compacted, and a leftover; tasks read the files, and so does Spark."""
    for i in range(3):
        write_file(tmp_path / "in", f"{i}.parquet", i)
    spark.conf.set("spark.sql.streaming.fileSink.log.compactInterval", "2")
    try:
        events = spark.readStream.schema("ts long, kind string").option("maxFilesPerTrigger", 1)
        stream = events.parquet(str(tmp_path / "in")).writeStream.option("checkpointLocation", str(tmp_path / "check"))
        stream.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
    finally:
        spark.conf.unset("spark.sql.streaming.fileSink.log.compactInterval")
    out = tmp_path / "out"
    assert (out / "_spark_metadata" / "1.compact").exists()
    write_file(out, "left.parquet", 99)
    assert times(out) == [0, 1, 2]
    assert sorted(QUERY.run(out, engine="spark", spark=spark).toArrow()["a_ts"].to_pylist()) == [0, 1, 2]
    dropping = ev.query("PATTERN A a RETURN a.ts", ts_unit="s", type="kind", on_bad_event="drop")
    assert sorted(dropping.run(out, engine="spark", spark=spark).toArrow()["a_ts"].to_pylist()) == [0, 1, 2]
    assert "Spark reads the files" in dropping.last_run.reason
