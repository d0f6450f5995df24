"""Files that are read together: one type for each column, every value as it is, or an error that names both files."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev

QUERY = ev.query("PATTERN A a RETURN a.ts, a.x", ts="ts", ts_unit="s", type="kind")


def events(first: int, x: pa.Array) -> pa.Table:
    return pa.table({"ts": range(first, first + len(x)), "kind": ["A"] * len(x), "x": x})


def write(folder: Path, *tables: pa.Table, ending: str = "parquet") -> Path:
    for i, table in enumerate(tables):
        path = folder / f"{i}.{ending}"
        if ending == "parquet":
            pq.write_table(table, path)
            continue
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return folder


def values(rows: pa.Table) -> list[Any]:
    return [row["a_x"] for row in sorted(rows.to_pylist(), key=lambda row: row["a_ts"])]


# Two columns, and what comes out of files that have one each.
TOGETHER: dict[str, tuple[pa.Array, pa.Array, pa.DataType, list[Any]]] = {
    "int and double": (pa.array([1], pa.int32()), pa.array([1.7]), pa.float64(), [1.0, 1.7]),
    "double and int": (pa.array([1.7]), pa.array([1], pa.int32()), pa.float64(), [1.7, 1.0]),
    "int and bigint": (pa.array([1], pa.int32()), pa.array([1 << 40]), pa.int64(), [1, 1 << 40]),
    "unsigned and signed": (pa.array([255], pa.uint8()), pa.array([-5], pa.int16()), pa.int16(), [255, -5]),
    "float and double": (pa.array([0.5], pa.float32()), pa.array([0.1]), pa.float64(), [0.5, 0.1]),
    "decimal and int": (
        pa.array([Decimal("1.50")], pa.decimal128(5, 2)),
        pa.array([12345], pa.int32()),
        pa.decimal128(12, 2),
        [Decimal("1.50"), Decimal("12345.00")],
    ),
    "no value and text": (pa.nulls(1), pa.array(["7"]), pa.string(), [None, "7"]),
    "text of several forms": (pa.array(["a"], pa.large_string()), pa.array(["b"]), pa.string(), ["a", "b"]),
    "microseconds and nanoseconds": (
        pa.array([1_000_001], pa.timestamp("us")),
        pa.array([2_000_000_000], pa.timestamp("ns")),
        pa.timestamp("ns"),
        [dt.datetime(1970, 1, 1, 0, 0, 1, 1), dt.datetime(1970, 1, 1, 0, 0, 2)],
    ),
}


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_types_widen_where_every_value_stays_what_it_is(tmp_path: Path, name: str, ending: str) -> None:
    one, two, kind, expected = TOGETHER[name]
    found = QUERY.run(write(tmp_path, events(0, one), events(10, two), ending=ending))
    assert found.schema.field("a_x").type == kind
    assert values(found) == expected


def test_whole_numbers_of_64_bits_become_doubles_where_none_is_too_long(tmp_path: Path) -> None:
    whole = events(0, pa.array([1, -(1 << 53)]))
    folder = write(tmp_path, whole, events(10, pa.array([1.7, 0.5])))
    assert values(QUERY.run(folder)) == [1.0, -float(1 << 53), 1.7, 0.5]
    assert QUERY.metrics()["events"] == 4
    pq.write_table(events(0, pa.array([1, (1 << 53) + 1])), tmp_path / "2.parquet")
    with pytest.raises(ev.InputError, match=r"column 'x' is bigint in '.*' and double in '.*1\.parquet'") as caught:
        QUERY.run(folder)
    assert "beyond 2^53" in str(caught.value.hint)


APART: dict[str, tuple[pa.Array, pa.Array, str]] = {
    "int and text": (pa.array([1], pa.int32()), pa.array(["7"]), "is int in '{0}' and string in '{1}'"),
    "double and decimal": (
        pa.array([0.1]),
        pa.array([Decimal("0.1")], pa.decimal128(3, 1)),
        "is double in '{0}' and decimal(3,1) in '{1}'",
    ),
    "date and timestamp": (
        pa.array([0], pa.date32()),
        pa.array([0], pa.timestamp("us")),
        "is date in '{0}' and timestamp_ntz in '{1}'",
    ),
    "with and without a zone": (
        pa.array([0], pa.timestamp("us", "UTC")),
        pa.array([0], pa.timestamp("us")),
        "is timestamp in '{0}' and timestamp_ntz in '{1}'",
    ),
    "boolean and int": (pa.array([True]), pa.array([1], pa.int32()), "is boolean in '{0}' and int in '{1}'"),
}


@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_types_that_do_not_fit_are_told_with_both_files(tmp_path: Path, name: str, ending: str) -> None:
    one, two, message = APART[name]
    folder = write(tmp_path, events(0, one), events(10, two), ending=ending)
    with pytest.raises(ev.InputError) as caught:
        QUERY.run(folder)
    expected = message.format(tmp_path / f"0.{ending}", tmp_path / f"1.{ending}")
    assert caught.value.message == f"column 'x' {expected}"
    assert caught.value.hint == "cast one of them, or read the files apart"


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("first", [0, 1])
def test_a_column_that_a_file_lacks_is_null(tmp_path: Path, ending: str, first: int) -> None:
    tables = [events(0, pa.array([1, 2])), events(10, pa.array([3])).drop_columns(["x"])]
    found = QUERY.run(write(tmp_path, tables[first], tables[1 - first], ending=ending))
    assert values(found) == [1, 2, None]


def test_columns_of_several_files_are_found_in_any_case_and_order(tmp_path: Path) -> None:
    other = events(10, pa.array([3.5])).select(["x", "kind", "ts"]).rename_columns(["X", "KIND", "Ts"])
    assert values(QUERY.run(write(tmp_path, events(0, pa.array([1, 2])), other))) == [1.0, 2.0, 3.5]
    twice = other.append_column("x", pa.array([1]))
    pq.write_table(twice, tmp_path / "2.parquet")
    with pytest.raises(ev.InputError, match=r"occurs twice in '.*2\.parquet'"):
        QUERY.run(tmp_path)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("ending", [None, "parquet", "arrow"])
def test_a_decimal_that_no_engine_reads_is_refused_by_name(tmp_path: Path, inside: bool, ending: str | None) -> None:
    wide = pa.array([Decimal("9" * 50)], pa.decimal256(50, 0))
    table = events(0, pa.array([1])).append_column("w", pa.StructArray.from_arrays([wide], ["d"]) if inside else wide)
    message = r"column 'w'.* is decimal\(50,0\): no engine reads more than 38 digits"
    with pytest.raises(ev.InputError, match=message):
        QUERY.run(table if ending is None else write(tmp_path, table, ending=ending))


def test_half_floats_and_short_decimals_of_256_bits_come_back_as_they_are() -> None:
    half, short = pa.array([1.5, 1.5, None], pa.float16()), pa.array([1, 2, 3]).cast(pa.decimal256(20, 0))
    table = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "A"], "h": half, "d": short})
    query = ev.query("PATTERN SEQ(A a, B b) WHERE [h] RETURN h, b.d", ts="ts", ts_unit="s", type="kind")
    found = query.run(table)
    assert found.select(["h", "b_d"]).schema == pa.schema({"h": half.type, "b_d": short.type})
    assert found.select(["h", "b_d"]).to_pylist() == [{"h": 1.5, "b_d": Decimal(2)}]
    statement = """SELECT h, n FROM t MATCH_RECOGNIZE (PARTITION BY h ORDER BY ts MEASURES count(*) AS n
        PATTERN (A+) DEFINE A AS h > 1 OR h IS NULL) ORDER BY n"""
    assert ev.sql(statement, t=table).to_pylist() == [{"h": None, "n": 1}, {"h": 1.5, "n": 2}]


@pytest.mark.spark
def test_spark_gives_files_the_same_types_and_errors(spark: Any, tmp_path: Path) -> None:
    def run(name: str, *tables: pa.Table) -> pa.Table:
        (tmp_path / name).mkdir()
        return QUERY.run(write(tmp_path / name, *tables), engine="spark", spark=spark).toArrow()

    whole = events(0, pa.array([1, 2]))
    lacking = events(20, pa.array([3])).drop_columns(["x"])
    assert values(run("widened", whole, events(10, pa.array([1.7, 0.5])), lacking)) == [1.0, 2.0, 1.7, 0.5, None]
    with pytest.raises(ev.InputError, match=r"column 'x' is bigint in '.*0\.parquet' and string in '.*1\.parquet'"):
        run("apart", whole, events(10, pa.array(["7"])))
    wide = events(0, pa.array([Decimal("9" * 50)], pa.decimal256(50, 0)))
    with pytest.raises(ev.InputError, match=r"is decimal\(50,0\): no engine reads more than 38 digits"):
        run("wide", wide)
