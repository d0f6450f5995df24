"""Any name and any type of a column."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev

START = dt.datetime(2024, 1, 1)
DAYS = [dt.date(2024, 1, day) for day in (1, 2, 3)]
NAMES = ["p0", "ts", "mask", "events", "seq", "c0", "v0", "s0_c0", "r0", "match_id", "window_start", "data", "bucket"]
NAMES += ["with space", 'quo"te', "apo'strophe", "back`tick", "UPPER", "größe", "表", "select", "a.b", "$", "%(x)s"]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def named_events(names: list[str]) -> pa.Table:
    columns = {name: pa.array([10 * i + k for k in range(4)], pa.int64()) for i, name in enumerate(names)}
    return pa.table({"at": pa.array([1, 2, 3, 4], pa.int64()), "type": ["A", "B", "A", "B"], **columns})


def named_query(names: list[str]) -> ev.Query:
    """Every name in a test on one event, in one that relates events, as a value and in an expression."""
    where = " AND ".join(f"A.{quoted(n)} >= 0 AND A.{quoted(n)} + 1 = NEXT(B).{quoted(n)}" for n in names)
    returned = ", ".join(f"A.{quoted(n)}, B.{quoted(n)} + 1 AS {quoted('x ' + n)}" for n in names)
    return ev.query(f"PATTERN SEQ(A, B) WHERE {where} RETURN {returned}", ts="at", ts_unit="s")


def expected_names(names: list[str], k: int) -> dict[str, int]:
    pairs = (
        [(f"A_{n}", 10 * i + k) for i, n in enumerate(names)],
        [(f"x {n}", 10 * i + k + 2) for i, n in enumerate(names)],
    )
    return dict(pair for both in zip(*pairs, strict=True) for pair in both) | {"detected_at": k + 2}


def test_any_name_of_a_column() -> None:
    found = named_query(NAMES).run(named_events(NAMES)).to_pylist()
    assert sorted(found, key=lambda row: row["detected_at"]) == [expected_names(NAMES, k) for k in (0, 2)]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_time_partition_sequence_or_type_column(name: str) -> None:
    events = pa.table({name: [1, 2], "x": ["A", "B"]})
    defined = "PATTERN SEQ(A, B) DEFINE A AS x = 'A', B AS x = 'B'"
    assert ev.query(defined, ts=name, ts_unit="s").run(events).num_rows == 1
    events = pa.table({"at": [1, 2], name: ["k", "k"], "x": ["A", "B"]})
    assert ev.query(f"{defined} RETURN {quoted(name)} AS k", ts="at", ts_unit="s", partition_by=[name]).run(
        events
    ).to_pylist() == [{"k": "k", "detected_at": 2}]
    events = pa.table({"at": [1, 1], name: [2, 1], "x": ["A", "B"]})
    options = {"ts": "at", "ts_unit": "s", "ties": "sequence"}
    assert ev.query(defined, sequence=name, **options).run(events).num_rows == 0
    events = pa.table({"at": [1, 2], name: ["A", "B"]})
    assert ev.query("PATTERN SEQ(A, B) RETURN B.at", ts="at", ts_unit="s", type=name).run(events).num_rows == 1


@pytest.mark.spark
def test_any_name_of_a_column_on_spark(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(named_events(NAMES))
    found = named_query(NAMES).run(frame).toArrow().to_pylist()
    assert sorted(found, key=lambda row: row["detected_at"]) == [expected_names(NAMES, k) for k in (0, 2)]
    pq.write_table(named_events(NAMES), tmp_path / "events.parquet")
    found = named_query(NAMES).run(tmp_path / "events.parquet", engine="spark", spark=spark).toArrow().to_pylist()
    assert sorted(found, key=lambda row: row["detected_at"]) == [expected_names(NAMES, k) for k in (0, 2)]


VALUES: dict[str, pa.Array] = {
    "bool": pa.array([True, None, False, True]),
    "int8": pa.array([-128, 127, None, 0], pa.int8()),
    "int16": pa.array([-(2**15), 2**15 - 1, None, 0], pa.int16()),
    "int32": pa.array([-(2**31), 2**31 - 1, None, 0], pa.int32()),
    "int64": pa.array([-(2**63), 2**63 - 1, None, 0], pa.int64()),
    "float32": pa.array([1.5, None, -0.0, float("inf")], pa.float32()),
    "float64": pa.array([1.1, None, -0.0, float("-inf")], pa.float64()),
    "decimal": pa.array([Decimal("1.50"), None, Decimal("-99999999.99"), Decimal(0)], pa.decimal128(10, 2)),
    "decimal38": pa.array([Decimal(10**37), None, Decimal(-1), Decimal(0)], pa.decimal128(38, 0)),
    "string": pa.array(["a", None, "", "größe"]),
    "binary": pa.array([b"a", None, b"", b"\xff\x00"]),
    "date": pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31), dt.date(1970, 1, 1)]),
    "timestamp": pa.array([START, None, START, dt.datetime(1900, 1, 1)], pa.timestamp("us")),
    "timestamp_utc": pa.array([START, None, START, dt.datetime(1900, 1, 1)], pa.timestamp("us", "UTC")),
    "list": pa.array([["a", None], None, [], ["b"]], pa.list_(pa.string())),
    "struct": pa.array([{"a": 1, "b": [1.5]}, None, {"a": None, "b": None}, {"a": 2, "b": []}]),
    "list_of_struct": pa.array([[{"a": 1}], None, [], [{"a": None}]]),
}
OTHER_VALUES: dict[str, pa.Array] = {
    "uint8": pa.array([0, 255, None, 1], pa.uint8()),
    "uint64": pa.array([0, 2**64 - 1, None, 1], pa.uint64()),
    "large_string": pa.array(["a", None, "", "b"], pa.large_string()),
    "string_view": pa.array(["a", None, "", "b"], pa.string_view()),
    "dictionary": pa.array(["a", None, "b", "a"]).dictionary_encode(),
    "large_binary": pa.array([b"a", None, b"", b"b"], pa.large_binary()),
    "fixed_binary": pa.array([b"ab", None, b"cd", b"ef"], pa.binary(2)),
    "seconds": pa.array([START, None, START, START], pa.timestamp("s")),
    "nanoseconds": pa.array([1, None, 2, 3], pa.timestamp("ns")),
    "zoned": pa.array([START, None, START, START], pa.timestamp("ms", "Asia/Tokyo")),
    "date64": pa.array([DAYS[0], None, DAYS[1], DAYS[2]], pa.date64()),
    "time": pa.array([dt.time(1, 2, 3), None, dt.time(0), dt.time(23)], pa.time64("us")),
    "null": pa.nulls(4),
    "map": pa.array([[("a", 1)], None, [], [("b", None)]], pa.map_(pa.string(), pa.int32())),
}


def valued(values: dict[str, pa.Array]) -> pa.Table:
    return pa.table({"at": pa.array([1, 2, 3, 4], pa.int64()), "type": ["A", "B", "A", "B"], **values})


def value_query(names: list[str], **options: Any) -> ev.Query:
    returned = ", ".join(f"{symbol}.{name} AS {symbol}_{name}" for name in names for symbol in "AB")
    return ev.query(f"PATTERN SEQ(A, B) RETURN {returned}", ts="at", ts_unit="s", **options)


def check_values(found: pa.Table, values: dict[str, pa.Array]) -> None:
    bound = list(zip(found.column("A_at").to_pylist(), found.column("B_at").to_pylist(), strict=True))
    assert sorted(bound) == [(1, 2), (1, 4), (3, 4)]
    for name, column in values.items():
        given = column.to_pylist()
        assert found.column(f"A_{name}").to_pylist() == [given[a - 1] for a, _ in bound], name
        assert found.column(f"B_{name}").to_pylist() == [given[b - 1] for _, b in bound], name


def test_values_of_every_type_come_back_as_they_are() -> None:
    values = {**VALUES, **OTHER_VALUES}
    found = value_query(["at", *values]).run(valued(values))
    check_values(found, values)
    assert {name: found.schema.field(f"A_{name}").type for name in values} == {n: v.type for n, v in values.items()}


@pytest.mark.spark
def test_values_of_every_type_come_back_from_spark(spark: Any, tmp_path: Path) -> None:
    pq.write_table(valued(VALUES), tmp_path / "events.parquet")
    query = value_query(["at", *VALUES])
    frame = spark.read.parquet(str(tmp_path / "events.parquet"))
    for found in (query.run(frame), query.run(tmp_path / "events.parquet", engine="spark", spark=spark)):
        types = {field.name: field.dataType for field in found.schema.fields}
        assert all(types[f"B_{name}"] == frame.schema[name].dataType for name in VALUES)
        check_values(found.toArrow(), VALUES)
