"""Names, literals and stored types reach both engines unharmed."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from eventide.errors import QueryError
from eventide.expressions.typecheck import columns_of
from eventide.expressions.write_sql import write_duckdb, write_spark
from eventide.lang.scalars import parse_scalar
from eventide.lang.tree import Span


def local(text: str, table: pa.Table) -> list[Any]:
    sql = write_duckdb(parse_scalar(text).tree, columns_of(table.schema, text), text, Span(0, len(text)))
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("events", table)
    return [row[0] for row in connection.sql(f"SELECT {sql} FROM events").fetchall()]


@pytest.mark.parametrize("name", ["a b", "a.b", 'a"b', "a`b", "größe", "SELECT", "A", "it's", "a\\b"])
def test_any_column_name_can_be_read(name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    assert local(f"{quoted} + 1", pa.table({name: pa.array([1], pa.int32())})) == [2]
    assert write_spark(parse_scalar(f"{quoted} > 1").tree) == f"{quoted} > 1"


@pytest.mark.parametrize(
    ("array", "text", "expected"),
    [
        (pa.array([300], pa.timestamp("ns")), "c = TIMESTAMP_NTZ '1970-01-01 00:00:00'", True),
        (pa.array([0], pa.timestamp("s", "Europe/Berlin")), "hour(c)", 0),
        (pa.array([200], pa.uint8()), "c + c", 400),
        (pa.array([2**64 - 1], pa.uint64()), "c > 0", True),
        (pa.array([dt.timedelta(hours=25)], pa.duration("us")), "c > INTERVAL 1 DAY", True),
        (pa.array([dt.timedelta(hours=25)], pa.duration("ms")), "c > INTERVAL 1 DAY", True),
        (pa.array([(0, 1, 3_600 * 10**9)], pa.month_day_nano_interval()), "c > INTERVAL 1 DAY", True),
        (pa.array(["x"]).dictionary_encode(), "c || 'y'", "xy"),
        (pa.array(["x"], pa.string_view()), "upper(c)", "X"),
        (pa.array(["x"], pa.large_string()), "upper(c)", "X"),
        (pa.array([dt.date(2020, 2, 29)], pa.date64()), "day(c)", 29),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
)
def test_stored_types_are_read_as_spark_reads_them(array: pa.Array, text: str, expected: Any) -> None:
    assert local(text, pa.table({"c": array})) == [expected]


@pytest.mark.parametrize("text", ["straße", "ΟΔΟΣ"])
def test_text_whose_case_differs_stops_the_local_engine(text: str) -> None:
    name = "upper" if text.islower() else "lower"
    with pytest.raises(duckdb.Error, match="differs between the engines"):
        local(f"{name}(c)", pa.table({"c": [text]}))


@pytest.mark.parametrize(
    ("text", "word"), [("cast(c as int)", "1.5"), ("cast(c as date)", "2020-1-1"), ("cast(c as boolean)", "maybe")]
)
def test_a_cast_that_spark_refuses_is_refused(text: str, word: str) -> None:
    with pytest.raises(duckdb.Error, match="cannot cast"):
        local(text, pa.table({"c": [word]}))


def test_an_escape_that_spark_refuses_is_off_the_list() -> None:
    with pytest.raises(QueryError, match="the local engine cannot compute"):
        local(r"c like 'a\\b'", pa.table({"c": ["ab"]}))


@pytest.mark.parametrize(
    ("text", "spark"),
    [
        ("a / b", "`a` / NULLIF(`b`, 0)"),
        ("a % 2 + b / (a - 1)", "`a` % 2 + `b` / NULLIF((`a` - 1), 0)"),
        ("log10(a) > -3L", "LOG10(`a`) > -3L"),
        ("my_udf(a, 'x')", "MY_UDF(`a`, 'x')"),
        (r"a = 'it\'s'", r"`a` = 'it\'s'"),
    ],
)
def test_spark_text(text: str, spark: str) -> None:
    assert write_spark(parse_scalar(text).tree) == spark
