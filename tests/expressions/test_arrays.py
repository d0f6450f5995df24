"""Functions of arrays: the same on DuckDB as on Catalyst, and an index that is not there."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot

from eventide.errors import QueryError
from eventide.expressions.typecheck import bind, columns_of
from eventide.expressions.write_sql import write_duckdb, write_spark
from eventide.lang.tree import Span

TABLE = pa.table(
    {
        "s": pa.array([["b", "a"], [], ["b", None], None, [None], ["c"]], pa.list_(pa.string())),
        "n": pa.array([[3, 1], [], [2, None], None, [None], [7]], pa.list_(pa.int64())),
        "i": pa.array([1, 1, 2, 1, 1, -1], pa.int32()),
        "x": pa.array(["a", "b", "b", "c", "d", None], pa.string()),
    }
)
# With what DuckDB gives, row by row.
CASES: dict[str, list[Any]] = {
    "array_join(s, '-')": ["b-a", "", "b", None, "", "c"],
    "array_join(s, '-', '?')": ["b-a", "", "b-?", None, "?", "c"],
    "size(n)": [2, 0, 2, None, 1, 1],
    "cardinality(s)": [2, 0, 2, None, 1, 1],
    "element_at(n, i)": [3, None, None, None, None, 7],
    "element_at(s, 2)": ["a", None, None, None, None, None],
    "array_contains(s, x)": [True, False, True, None, None, None],
    "array_contains(n, 2)": [False, False, True, None, None, False],
    "array_contains(n, 2.5)": [False, False, None, None, None, False],
    "array_max(n)": [3, None, 2, None, None, 7],
    "array_min(s)": ["a", None, "b", None, None, "c"],
    "array_sort(n)": [[1, 3], [], [2, None], None, [None], [7]],
    "sort_array(s)": [["a", "b"], [], [None, "b"], None, [None], ["c"]],
    "array(i, 2)": [[1, 2], [1, 2], [2, 2], [1, 2], [1, 2], [-1, 2]],
    "n = array(3, 1)": [True, False, False, None, False, False],
    "s <> ARRAY['b', 'a']": [False, True, True, None, True, True],
    "s <=> array('b', NULL)": [False, False, True, False, False, False],
    "array(1, 2)[1]": [2] * 6,
}


def test_a_function_of_arrays_on_duckdb() -> None:
    for text, expected in CASES.items():
        assert on_duckdb(text) == expected, text


def on_duckdb(text: str) -> list[Any]:
    tree = sqlglot.parse_one(text, read="spark")
    written = write_duckdb(tree, columns_of(TABLE.schema, text), text, Span(0, len(text)))
    connection = duckdb.connect()
    connection.register("t", TABLE)
    return [row[0] for row in connection.sql(f"SELECT {written} FROM t").fetchall()]


@pytest.mark.spark
def test_spark_gives_the_same(spark: Any) -> None:
    frame = spark.createDataFrame(TABLE)
    for text, expected in CASES.items():
        written = write_spark(sqlglot.parse_one(text, read="spark"))
        assert [row[0] for row in frame.selectExpr(f"{written} AS v").collect()] == expected, text


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("array(1, 2.5)", pa.list_(pa.decimal128(11, 1))),
        ("size(s)", pa.int32()),
        ("element_at(n, 1)", pa.int64()),
        ("array_join(n, ',')", None),
        ("array()", None),
    ],
)
def test_the_type_of_a_function_of_arrays(text: str, dtype: pa.DataType | None) -> None:
    tree = sqlglot.parse_one(text, read="spark")
    assert bind(tree, columns_of(TABLE.schema, text), text, Span(0, len(text))).dtype == dtype


@pytest.mark.parametrize("text", ["array(1, 'a')", "array_contains(n, 'a')"])
def test_items_of_different_types_are_refused(text: str) -> None:
    tree = sqlglot.parse_one(text, read="spark")
    with pytest.raises(QueryError, match="array"):
        bind(tree, columns_of(TABLE.schema, text), text, Span(0, len(text)))


def test_an_index_outside_its_array_is_an_error() -> None:
    with pytest.raises(duckdb.Error, match="an index is outside its array"):
        on_duckdb("array(1, 2)[2]")
