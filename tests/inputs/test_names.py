"""Names of files: a path that is there is that file, whatever its characters; else it is a pattern."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.engines.names import look_up

QUERY = ev.query("PATTERN A a RETURN a.ts", ts_unit="s", type="kind")
NAMES = ("a[1]", "a1", "a*", "a?", "ab", "a[!b]", "[a]", "a{1,b}", "a b", "a'b", "a%20b", "a#b", "**", "a\\b")


def table(*times: int) -> pa.Table:
    return pa.table({"ts": list(times), "kind": ["A"] * len(times)})


def times(path: Any, **how: Any) -> list[int]:
    found = QUERY.run(path, **how)
    return sorted((found if isinstance(found, pa.Table) else found.toArrow())["a_ts"].to_pylist())


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_name_stands_for_itself(tmp_path: Path, ending: str) -> None:
    write = pq.write_table if ending == ".parquet" else pa_csv.write_csv
    for i, name in enumerate(NAMES):
        write(table(i), tmp_path / f"{name}{ending}")
    for i, name in enumerate(NAMES):
        path = f"{tmp_path}/{name}{ending}"
        assert times(path) == [i], name
        assert ev.sql("SELECT ts FROM t", t=path)["ts"].to_pylist() == [i], name
    assert times(tmp_path) == list(range(len(NAMES)))
    assert times(f"{tmp_path}/?1{ending}") == [1]


def test_folders_stand_for_themselves(tmp_path: Path) -> None:
    for i, name in enumerate(("d[1]", "d1", "d*")):
        (tmp_path / name).mkdir()
        pq.write_table(table(i), tmp_path / name / "a.parquet")
    for i, name in enumerate(("d[1]", "d1", "d*")):
        assert times(tmp_path / name) == [i]
    assert times(f"{tmp_path}/d[1]*") == [1]


def test_a_name_that_duckdb_cannot_be_told_is_refused(tmp_path: Path) -> None:
    pq.write_table(table(1), tmp_path / "a\\b*.parquet")
    pq.write_table(table(2), tmp_path / "ab.parquet")
    with pytest.raises(ev.InputError, match="its name has a backslash and one of"):
        QUERY.run(tmp_path / "a\\b*.parquet")


def test_what_a_pattern_finds_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    pq.write_table(table(1), tmp_path / "in" / "a.parquet")
    pq.write_table(table(2), tmp_path / "in" / "deep" / "b.parquet")
    (tmp_path / "in" / "deep" / "up").symlink_to(tmp_path / "in")
    pq.write_table(table(3), tmp_path / "in" / "_c.parquet")
    for path in (tmp_path / "in", f"{tmp_path}/in/**", f"{tmp_path}/*", f"{tmp_path}/**/*"):
        assert times(path) == [1, 2], path
    assert times(f"{tmp_path}/in/*.parquet") == [1]


def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaving it out would leave out its rows."""
    pq.write_table(table(1), tmp_path / "a.parquet")

    def refuse(folder: str) -> Any:
        raise PermissionError(13, "Permission denied", folder)

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(ev.InputError, match=rf"cannot read '{tmp_path}': Permission denied"):
        QUERY.run(tmp_path)


def test_an_address_is_no_file_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    pq.write_table(table(1), tmp_path / "s3:" / "a.parquet")
    assert times("s3:/a.parquet") == [1]
    with pytest.raises(ev.InputError, match=r"there is no file 's3://b/a\.parquet'"):
        look_up("s3://b/a.parquet")


@pytest.mark.spark
def test_spark_takes_names_as_they_are(spark: Any, tmp_path: Path) -> None:
    names = ("a[1]", "a1", "a{*,?}\\b", "a%20b")
    for i, name in enumerate(names):
        pq.write_table(table(i), tmp_path / f"{name}.parquet")
    dropping = ev.query("PATTERN A a RETURN a.ts", ts_unit="s", type="kind", on_bad_event="drop")
    for i, name in enumerate(names):
        path = f"{tmp_path}/{name}.parquet"
        assert times(f"file://{path}", engine="spark", spark=spark) == [i], name
        # Here Spark reads, not the tasks.
        assert dropping.run(path, engine="spark", spark=spark).toArrow()["a_ts"].to_pylist() == [i], name
    assert times(f"{tmp_path}/a[1].*", engine="spark", spark=spark) == [1]
    found = dropping.run(f"{tmp_path}/a[[{{]*", engine="spark", spark=spark).toArrow()
    assert sorted(found["a_ts"].to_pylist()) == [0, 2]


@pytest.mark.spark
def test_what_only_spark_sees_is_looked_at_by_spark(spark: Any, tmp_path: Path) -> None:
    from eventide.engines.spark.tables import look_remotely

    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    (tmp_path / "t" / "day=1").mkdir()
    (tmp_path / "a[1]").mkdir()
    (tmp_path / "i" / "metadata").mkdir(parents=True)
    (tmp_path / "i" / "metadata" / "v1.metadata.json").touch()
    (tmp_path / "i" / "data").mkdir()
    base = f"file://{tmp_path}"
    assert look_remotely(spark, f"{base}/a[1]") == (f"{base}/a\\[1\\]", None)
    assert look_remotely(spark, f"{base}/a[2]") == (f"{base}/a[2]", None)
    found = [look_remotely(spark, f"{base}/{name}")[1] for name in "ti"]
    assert [table.kind.spark_format for table in found if table is not None] == ["delta", "iceberg"]
    assert look_remotely(spark, f"{base}/[t]")[1] is not None
    assert look_remotely(spark, f"{base}/a*") == (f"{base}/a*", None)
    for inside in ("t/day=1", "i/data", "t/d*", "*/day=1", "[it]"):
        with pytest.raises(ev.InputError, match=r"is inside|finds an Iceberg table"):
            look_remotely(spark, f"{base}/{inside}")
    assert look_remotely(spark, "s3://bucket/t") == ("s3://bucket/t", None)


@pytest.mark.spark
def test_a_stream_reads_the_folder_of_its_name(spark: Any, tmp_path: Path) -> None:
    from eventide.engines.addresses import source_of
    from eventide.engines.spark.folders import open_folder

    for i, name in enumerate(("d[1]", "d1")):
        (tmp_path / name).mkdir()
        pq.write_table(table(i), tmp_path / name / "a.parquet")
    events = open_folder(spark, source_of(str(tmp_path / "d[1]")), None).events
    rows = events.writeStream.format("memory").queryName("named").trigger(availableNow=True).start()
    rows.awaitTermination()
    assert spark.table("named").toArrow()["ts"].to_pylist() == [0]
