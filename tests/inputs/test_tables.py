"""Folders that are tables: the rows that count, from the table's own reader, or a message; never rows of the past."""

from __future__ import annotations

import base64
import json
import os
import shutil
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyroaring import BitMap
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

import eventide as ev
from eventide.engines.addresses import source_of
from eventide.engines.spark.folders import open_folder

QUERY = ev.query("PATTERN A a RETURN a.ts, a.x, a.day", ts_unit="s", type="kind")


def events(*values: int, day: int = 1) -> pa.Table:
    n = len(values)
    return pa.table({"ts": list(values), "kind": ["A"] * n, "x": [10 * value for value in values], "day": [day] * n})


def times(rows: pa.Table) -> list[int]:
    return sorted(row["a_ts"] for row in rows.to_pylist())


def make_delta(folder: Path) -> Path:
    """A table of 3, 4 and 6; files with 1, 2 and 5 still lie there."""
    write_deltalake(folder, events(1, 2), partition_by=["day"])
    write_deltalake(folder, events(3, 4), mode="overwrite")
    write_deltalake(folder, events(5, 6, day=2), mode="append")
    DeltaTable(folder).delete("ts = 5")
    return folder


def make_iceberg(folder: Path) -> Path:
    """The same of Iceberg."""
    folder.mkdir(parents=True)
    catalog = SqlCatalog("test", uri="sqlite:///:memory:", warehouse=f"file://{folder}")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", schema=events(1).schema, location=f"file://{folder}")
    table.append(events(1, 2))
    table.overwrite(events(3, 4))
    table.append(events(5, 6, day=2))
    table.delete("ts = 5")
    return folder


def make_hudi(folder: Path) -> Path:
    (folder / ".hoodie").mkdir(parents=True)
    pq.write_table(events(1, 2), folder / "a.parquet")
    return folder


def data_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"))


TABLES: dict[str, Callable[[Path], Path]] = {"Delta": make_delta, "Iceberg": make_iceberg}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_gives_the_rows_that_count(tmp_path: Path, kind: str) -> None:
    folder = TABLES[kind](tmp_path / "t")
    assert len(data_files(folder)) > 2
    found = QUERY.run(folder)
    assert times(found) == [3, 4, 6]
    assert found.schema.field("a_x").type == pa.int64()
    assert times(QUERY.run(f"{folder}/")) == [3, 4, 6]
    assert times(QUERY.run(f"{tmp_path}/*")) == [3, 4, 6]


@pytest.mark.parametrize("kind", TABLES)
def test_every_entry_reads_the_table(tmp_path: Path, kind: str, eventide: Callable[..., Any]) -> None:
    path = str(TABLES[kind](tmp_path / "t"))
    assert ev.sql("SELECT ts FROM t ORDER BY ts", t=path)["ts"].to_pylist() == [3, 4, 6]
    # Twice in one statement: a stream of rows would be at its end.
    assert ev.sql("SELECT count(*) AS n FROM t a, t b", t=path)["n"].to_pylist() == [9]
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN (A+) DEFINE A AS kind = 'A')"
    assert ev.sql(f"SELECT n FROM t {clause}", t=path)["n"].to_pylist() == [3]
    assert ev.match_recognize(order_by="ts", pattern="A", measures={"t": "A.ts"})(path)["t"].to_pylist() == [3, 4, 6]
    assert ev.detect(path, ev.Pattern.begin("a", "kind = 'A'"), ts_unit="s").matches.num_rows == 3
    warm = ev.intervals.threshold(path, "x > 0", ts_unit="s", close_at_end=True)
    assert warm["interval_start"].to_pylist() == [3]
    kinds = ev.query("PATTERN SEQ(A a, B b) RETURN b.x", ts_unit="s")
    assert kinds.run(A=path, B=events(5))["b_x"].to_pylist() == [50] * 2
    (tmp_path / "q.evq").write_text("PATTERN A a RETURN a.ts OPTIONS (type = 'kind', ts_unit = 's')")
    code, out, _ = eventide("run", str(tmp_path / "q.evq"), "--input", path, "--json")
    assert code == 0 and sorted(json.loads(line)["a_ts"] for line in out.splitlines()) == [3, 4, 6]


def ways_inside(folder: Path) -> Sequence[str]:
    """Files and folders of the table, and patterns and links that lead there."""
    file = data_files(folder)[0]
    link = folder.parent / "link.parquet"
    link.symlink_to(file)
    (folder.parent / "links").mkdir()
    (folder.parent / "links" / "b.parquet").symlink_to(file)
    relative = os.path.relpath(file, folder)
    inside = [str(file), str(file.parent), f"{folder}/{os.path.dirname(relative)}/*.parquet", str(link)]
    inside += [f"{folder.parent}/*/{relative}", f"{folder}/**", str(folder.parent / "links"), str(folder.parent)]
    return [*inside, f"{folder.parent}/[lt]*", f"{folder}/../t/{relative}"]


@pytest.mark.parametrize("make", [make_delta, make_iceberg, make_hudi], ids=["Delta", "Iceberg", "Hudi"])
def test_no_way_leads_past_the_log_of_a_table(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    for path in ways_inside(make(tmp_path / "t")):
        if path.endswith("/**") and make is not make_hudi:
            # A pattern that finds the table, and then what is in it, means the table.
            assert times(QUERY.run(path)) == [3, 4, 6]
            continue
        with pytest.raises(ev.InputError, match=r"a Delta table|an Iceberg table|a Hudi table") as caught:
            QUERY.run(path)
        assert str(tmp_path / "t") in str(caught.value), path


@pytest.mark.parametrize("make", [make_delta, make_iceberg, make_hudi], ids=["Delta", "Iceberg", "Hudi"])
def test_a_folder_that_holds_a_table_is_refused(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    folder = make(tmp_path / "lake" / "deep" / "t")
    pq.write_table(events(9), tmp_path / "lake" / "a.parquet")
    for path in (tmp_path / "lake", f"{tmp_path}/lake/*", f"{tmp_path}/lake/**"):
        with pytest.raises(ev.InputError, match=r"holds (a Delta|an Iceberg|a Hudi) table") as caught:
            QUERY.run(path)
        assert f"name '{folder}' by itself" in str(caught.value)


def test_a_folder_called_metadata_makes_no_table(tmp_path: Path) -> None:
    (tmp_path / "t" / "metadata").mkdir(parents=True)
    (tmp_path / "t" / "metadata" / "notes.parquet").touch()
    pq.write_table(events(1), tmp_path / "t" / "a.parquet")
    assert times(QUERY.run(tmp_path / "t" / "a.parquet")) == [1]


@pytest.mark.parametrize(("kind", "library"), [("Delta", "deltalake"), ("Iceberg", "pyiceberg")])
def test_without_its_library_a_table_is_refused(
    tmp_path: Path, kind: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = TABLES[kind](tmp_path / "t")
    for name in [name for name in sys.modules if name.split(".")[0] == library] + [library]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ev.InputError) as caught:
        QUERY.run(folder)
    text = str(caught.value)
    assert f"{kind} table, and {library} is not installed" in text and f"pip install {library}" in text
    assert f'spark.read.format("{kind.lower()}").load(' in text


def test_hudi_is_for_spark(tmp_path: Path) -> None:
    with pytest.raises(ev.InputError, match=r'a Hudi table, and nothing .*\nHint: .*spark.read.format\("hudi"\)'):
        QUERY.run(make_hudi(tmp_path / "t"))


def test_a_delta_log_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    folder = make_delta(tmp_path / "t")
    for name in (folder / "_delta_log").glob("*2.json"):
        name.write_text("{")
    with pytest.raises(ev.InputError, match="deltalake cannot read"):
        QUERY.run(folder)
    shutil.rmtree(folder / "_delta_log")
    (folder / "_delta_log").mkdir()
    with pytest.raises(ev.InputError, match="deltalake cannot read"):
        QUERY.run(folder)


def test_a_delta_feature_that_the_reader_does_not_know_is_an_error(tmp_path: Path) -> None:
    folder = make_delta(tmp_path / "t")
    protocol = '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["x"],"writerFeatures":["x"]}}'
    (folder / "_delta_log" / f"{4:020}.json").write_text(protocol)
    with pytest.raises(ev.InputError, match="deltalake cannot read"):
        times(QUERY.run(folder))


Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"


def test_rows_that_a_deletion_vector_of_delta_marks_are_not_read(tmp_path: Path) -> None:
    """As Spark writes it: the file stays as it is, and the log says which of its rows are gone."""
    write_deltalake(tmp_path / "t", events(1, 2, 3))
    (log,) = (tmp_path / "t" / "_delta_log").glob("*.json")
    (added,) = (action["add"] for line in log.read_text().splitlines() if "add" in (action := json.loads(line)))
    # A magic number, the number of bitmaps, then the key of each and the bitmap itself.
    marks = struct.pack("<iqi", 1681511377, 1, 0) + BitMap([1]).serialize()
    padded = marks + bytes(-len(marks) % 4)
    text = base64.b85encode(padded).decode().translate(str.maketrans(B85, Z85))
    vector = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(marks), "cardinality": 1}
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    removed = {"path": added["path"], "dataChange": True, "deletionTimestamp": 1}
    commit = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": removed},
        {"add": {**added, "deletionVector": vector}},
    ]
    (log.parent / f"{1:020}.json").write_text("\n".join(map(json.dumps, commit)))
    assert times(QUERY.run(tmp_path / "t")) == [1, 3]


def test_renamed_columns_of_delta(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", events(1, 2), configuration={"delta.columnMapping.mode": "name"})
    assert times(QUERY.run(tmp_path / "t")) == [1, 2]


def test_two_newest_versions_of_iceberg_are_refused(tmp_path: Path) -> None:
    folder = make_iceberg(tmp_path / "t")
    newest = max((folder / "metadata").glob("*.metadata.json"))
    shutil.copy(newest, newest.with_name(f"{newest.name[:5]}-other.metadata.json"))
    with pytest.raises(ev.InputError, match="only its catalog knows which version counts"):
        QUERY.run(folder)


def test_versions_of_iceberg_are_numbers(tmp_path: Path) -> None:
    """The tenth comes after the ninth, in the way that Hadoop tables are named."""
    folder = make_iceberg(tmp_path / "t")
    by_age = sorted((folder / "metadata").glob("*.metadata.json"))
    for number, path in zip((8, 9, 10, 11, 12), by_age, strict=True):
        path.rename(path.with_name(f"v{number}.metadata.json"))
    assert times(QUERY.run(folder)) == [3, 4, 6]


def test_a_stream_reads_no_files_of_a_table(tmp_path: Path) -> None:
    folder = make_delta(tmp_path / "t")
    assert source_of(str(folder)).format == "delta"
    assert source_of(str(make_hudi(tmp_path / "h"))).format == "hudi"
    for path in (folder / "day=1", tmp_path):
        with pytest.raises(ev.InputError, match=r"a Delta table|a Hudi table"):
            source_of(str(path))
    with pytest.raises(ev.InputError, match=r"--format parquet .* a Delta table"):
        source_of(str(folder), "parquet")


@pytest.mark.spark
@pytest.mark.parametrize("make", [make_delta, make_iceberg, make_hudi], ids=["Delta", "Iceberg", "Hudi"])
def test_spark_without_the_source_refuses_a_table(
    spark: SparkSession, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    path = str(make(tmp_path / "t"))
    for run in (
        lambda: QUERY.run(path, engine="spark", spark=spark),
        lambda: ev.intervals.threshold(path, "x > 0", ts_unit="s", engine="spark", spark=spark),
        lambda: ev.allen(path, path, "before", engine="spark", spark=spark),
        lambda: open_folder(spark, source_of(path), None),
    ):
        with pytest.raises(ev.InputError, match=r"table, and this Spark session has no source for it\nHint: .*package"):
            run()
    with pytest.raises(ev.InputError, match="is inside"):
        QUERY.run(str(data_files(tmp_path / "t")[0]), engine="spark", spark=spark)


class FakeDelta(DataSource):
    """Stands for the source of Delta Lake, which there is not for every version of Spark."""

    @classmethod
    def name(cls) -> str:
        return "delta"

    def schema(self) -> str:
        assert self.options["path"].startswith("file:///") and self.options["path"].endswith("/t")
        return "ts long, kind string, x long, day long"

    def reader(self, schema: StructType) -> DataSourceReader:
        return FakeReader()


class FakeReader(DataSourceReader):
    """An event that is in no file of the folder."""

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        yield 7, "A", 70, 1


@pytest.mark.spark
def test_spark_reads_a_table_through_its_source(spark: SparkSession, tmp_path: Path) -> None:
    # Sources belong to a session.
    with_source = spark.newSession()
    with_source.dataSource.register(FakeDelta)
    expected = [{"a_ts": 7, "a_x": 70, "a_day": 1, "detected_at": 7}]
    path = make_delta(tmp_path / "t")
    assert [row.asDict() for row in QUERY.run(path, engine="spark", spark=with_source).collect()] == expected
    rows = QUERY.run(path, engine="spark", spark=with_source, plan="kernels")
    assert [row.asDict() for row in rows.collect()] == expected
    assert QUERY.last_run.reason == "Spark reads the files: it is a Delta table"
