"""Columns in the names of folders: the same values and types as Spark finds, on every engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.engines.folder_columns import typed
from eventide.engines.names import look_up

NONE = "__HIVE_DEFAULT_PARTITION__"
VALUES: dict[str, tuple[Sequence[str], str]] = {
    "whole numbers": (["1", "-2", "+3", "007"], "int32"),
    "large whole numbers": (["1", "12345678901"], "int64"),
    "very large whole numbers": (["1", "123456789012345678901234567890"], "decimal128(30, 0)"),
    "exponents": (["1e3", "2"], "decimal128(10, 0)"),
    "point at the end": (["10."], "decimal128(2, 0)"),
    "exponent that makes it whole": (["1.5e1"], "decimal128(2, 0)"),
    "fractions": (["1.5", "2"], "double"),
    "1.0": (["1.0"], "double"),
    "no numbers": (["NaN", "Infinity"], "double"),
    "too many digits": (["1" * 43], "double"),
    "fractions and large numbers": (["1.5", "12345678901"], "string"),
    "fractions and very large numbers": (["1.5", "123456789012345678901234567890"], "string"),
    "a space": ([" 5"], "double"),
    "letters of types": (["5d", "5f", "5L"], "string"),
    "underscores": (["1_000"], "string"),
    "numbers and text": (["5", "x"], "string"),
    "truth": (["true", "false"], "string"),
    "dates": (["2026-01-02", NONE], "date32[day]"),
    "no date": (["2026-02-30"], "string"),
    "short dates": (["2026-1-2"], "string"),
    "dates and times": (["2026-01-02", "2026-01-02 03:04:05"], "timestamp[us, tz=UTC]"),
    "a tenth of a second": (["2026-01-02 03%3A04%3A05.2"], "timestamp[us, tz=UTC]"),
    "more digits of a second": (["2026-01-02 03:04:05.25", "2026-01-02 03:04:05.250000"], "string"),
    "wrong hour": (["2026-01-02 24:04:05"], "string"),
    "hours and minutes": (["10:11"], "string"),
    "seven digits of time": (["10:11:12.1234567"], "string"),
    "a wrong time": (["25:11:12"], "string"),
    "one digit of hour": (["1:11:12"], "string"),
    "only a point": (["."], "string"),
    "point first": ([".5"], "double"),
    "zeros": (["0e5"], "decimal128(6, 0)"),
    "not whole by exponent": (["1e-3"], "double"),
    "39 digits": (["1e38"], "double"),
    "38 digits": (["1e37"], "decimal128(38, 0)"),
    "lower case nan": (["nan"], "string"),
    "long range": (["-9223372036854775808", "9223372036854775807"], "int64"),
    "beyond long": (["9223372036854775808"], "decimal128(19, 0)"),
    "times with T": (["2026-01-02T03:04:05"], "string"),
    "dates and numbers": (["2026-01-02", "3"], "string"),
    "times of day": (["10:11:12"], "time64[us]"),
    "times of day with fractions": (["10:11:12.25"], "time64[us]"),
    "escaped": (["a%2Fb", "c=d", "%zz"], "string"),
    "accents": (["%C3%A9", "é"], "string"),
    "nothing": ([NONE], "null"),
    "nothing and numbers": ([NONE, "3"], "int32"),
}


def write(folder: Path, name: str, *times: int, **columns: Any) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"ts": list(times), **{column: [value] * len(times) for column, value in columns.items()}})
    (pa_csv.write_csv if name.endswith(".csv") else pq.write_table)(table, folder / name)


def write_values(folder: Path, values: Sequence[str]) -> None:
    for i, value in enumerate(values):
        write(folder, f"k={value}/a.parquet", i)


@pytest.mark.parametrize("name", VALUES)
def test_types_of_values(tmp_path: Path, name: str) -> None:
    values, kind = VALUES[name]
    write_values(tmp_path, values)
    columns = look_up(str(tmp_path)).columns
    assert columns is not None and str(columns.schema.field("k").type) == kind


@pytest.mark.spark
def test_spark_finds_the_same_columns(spark: Any, tmp_path: Path) -> None:
    """All cases as columns of one folder, so that Spark reads once."""
    cases = [values for values, _ in VALUES.values()]
    for i in range(max(map(len, cases))):
        folders = "/".join(f"k{j}={values[i % len(values)]}" for j, values in enumerate(cases))
        write(tmp_path, f"{folders}/a.parquet", i)
    frame = spark.read.parquet(str(tmp_path))
    columns = look_up(str(tmp_path)).columns
    assert columns is not None
    ours = spark.createDataFrame(columns)
    for j, name in enumerate(VALUES):
        assert (name, frame.schema[f"k{j}"].dataType) == (name, ours.schema[f"k{j}"].dataType)
    texts = [f"CAST(k{j} AS STRING) AS k{j}" for j in range(len(cases))]
    found, wanted = ([sorted(map(str, c.to_pylist())) for c in f.selectExpr(*texts).toArrow()] for f in (ours, frame))
    assert dict(zip(VALUES, found, strict=True)) == dict(zip(VALUES, wanted, strict=True))


def test_numbers_of_any_size_are_told_quickly() -> None:
    assert typed(["1e999999999", "-1e999999999"]).type == pa.float64()


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_rows_have_the_columns_of_their_folders(tmp_path: Path, ending: str) -> None:
    write(tmp_path, f"kind=A/day=1/a.{ending}", 1, 2, x=5)
    write(tmp_path, f"kind=B/day=2/b.{ending}", 3, x=6)
    query = ev.query("PATTERN SEQ(A a, B b) WHERE b.day > a.day RETURN a.ts, b.x, b.day", ts_unit="s", type="kind")
    found = query.run(tmp_path).drop_columns("detected_at").to_pylist()
    assert sorted(found, key=lambda row: row["a_ts"]) == [{"a_ts": t, "b_x": 6, "b_day": 2} for t in (1, 2)]
    assert ev.sql("SELECT sum(day) AS n FROM t WHERE kind = 'A'", t=tmp_path)["n"].to_pylist() == [2]


def test_folders_above_the_path_are_no_columns(tmp_path: Path) -> None:
    """W4: they replaced the file's own column."""
    write(tmp_path, "kind=Z/a.parquet", 1, 2, kind="A")
    query = ev.query("PATTERN A a RETURN a.ts", ts_unit="s", type="kind")
    for path in ("kind=Z", "kind=Z/a.parquet", "*", "*/*.parquet"):
        assert query.run(f"{tmp_path}/{path}").num_rows == 2, path
    with pytest.raises(ev.EventideError, match="day"):
        ev.query("PATTERN A a WHERE a.day = 1", ts_unit="s", type="kind").run(tmp_path / "kind=Z")


def test_a_column_of_files_and_folders_is_that_of_the_folders(tmp_path: Path) -> None:
    """As Spark has it: its name, its type and its values, in the place of the file's column."""
    write(tmp_path, "KIND=7/a.parquet", 1, kind="A", x=1)
    assert ev.sql("SELECT * FROM t", t=tmp_path).to_pydict() == {"ts": [1], "KIND": [7], "x": [1]}


WRONG = {
    "files beside": (["k=1/a.parquet", "b.parquet"], "files beside them"),
    "a plain folder beside": (["k=1/a.parquet", "sub/b.parquet"], "files beside them"),
    "other names": (["k=1/a.parquet", "j=1/b.parquet"], "do not have the same columns"),
    "other depths": (["k=1/a.parquet", "k=2/h=1/b.parquet"], "do not have the same columns"),
    "two tables": (["x/k=1/a.parquet", "y/k=1/b.parquet"], "do not have the same columns"),
    "a name twice": (["k=1/K=2/a.parquet"], "name a column twice"),
    "no value": (["k=/a.parquet"], "has no value"),
    "no name": (["=1/a.parquet"], "has no name"),
}


@pytest.mark.parametrize("name", WRONG)
def test_layouts_that_leave_out_files_are_refused(tmp_path: Path, name: str) -> None:
    files, message = WRONG[name]
    for i, file in enumerate(files):
        write(tmp_path, file, i)
    with pytest.raises(ev.InputError, match=message):
        look_up(str(tmp_path))


def test_a_pattern_that_finds_folders_with_columns_is_refused(tmp_path: Path) -> None:
    for day in (1, 2):
        write(tmp_path, f"day={day}/hour=1/a.parquet", day)
    with pytest.raises(ev.InputError, match="finds several folders"):
        look_up(f"{tmp_path}/*")
    assert look_up(f"{tmp_path}/*/*/*.parquet").columns is None


def test_folders_inside_and_around_the_columns(tmp_path: Path) -> None:
    write(tmp_path, "t/k=1/part/a.parquet", 1)
    columns = look_up(str(tmp_path)).columns
    assert columns is not None and columns["k"].to_pylist() == [1]
    write(tmp_path / "u", "_k=1/a.parquet", 1)
    write(tmp_path / "u", "_k=2/a=b.parquet", 1)
    columns = look_up(str(tmp_path / "u")).columns
    assert columns is not None and columns["_k"].to_pylist() == [1, 2]


@pytest.mark.spark
def test_spark_gives_the_same_rows(spark: Any, tmp_path: Path) -> None:
    for i, kind in enumerate("AB"):
        write(tmp_path / "in", f"kind={kind}/day=0{i}/a.parquet", i, kind="Z", x=i)
    query = ev.query("PATTERN SEQ(A a, B b) RETURN a.ts, b.day, b.kind", ts_unit="s", type="kind")
    own = query.run(tmp_path / "in").to_pylist()
    assert own == [{"a_ts": 0, "b_day": 1, "b_kind": "B", "detected_at": 1}]
    assert query.run(tmp_path / "in", engine="spark", spark=spark).toArrow().to_pylist() == own
    write(tmp_path / "in", "left.parquet", 9, kind="A", x=0)
    with pytest.raises(ev.InputError, match="files beside them"):
        query.run(tmp_path / "in", engine="spark", spark=spark)
