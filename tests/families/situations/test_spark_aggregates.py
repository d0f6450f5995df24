"""Every aggregate of RETURN has the values and the types that Spark SQL has for it, NULLs and ties included."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev

NUMBERS = ("x", "n", "y", "d")
VALUES = (*NUMBERS, "flag", "name", "at", "day")
OF_ONE = ("sum", "avg", "stddev", "stddev_pop", "variance", "var_pop", "skewness", "kurtosis")
REGRESSION = ("count", "avgx", "avgy", "sxx", "syy", "sxy", "slope", "intercept", "r2")
OF_TWO = ("corr", "covar_pop", "covar_samp", *(f"regr_{name}" for name in REGRESSION))
PAIRS = (("n", "y"), ("w", "d"), ("n", "one"))
EXPRESSIONS = [
    *(f"{function}(A.{name})" for function in ("first", "last", "min", "max") for name in VALUES),
    *(f"{function}(A.n)" for function in ("count", "any_value", "mean", "std", "stddev_samp", "var_samp")),
    *(f"{function}(A.{name}, true)" for function in ("first", "last") for name in ("n", "name")),
    *(f"{function}(A.d) IGNORE NULLS" for function in ("first_value", "last_value", "any_value")),
    "first(A.n) RESPECT NULLS",
    *(f"{function}(A.{name})" for function in OF_ONE for name in NUMBERS),
    *(f"{function}(A.{y}, A.{x})" for function in OF_TWO for y, x in PAIRS),
    *(f"{function}(A.{value}, A.v)" for function in ("max_by", "min_by") for value in ("n", "name", "at", "flag")),
    *(f"max_by(A.n, A.{key})" for key in ("flag", "name", "at", "d")),
    *(f"{function}(A.{name})" for function in ("bit_and", "bit_or", "bit_xor") for name in ("x", "n")),
    *(f"{function}(A.flag)" for function in ("bool_and", "bool_or", "every", "some", "any", "count_if")),
    "skewness(A.one)",
    "kurtosis(A.w)",
    "max(A.v)",
    "min(A.v)",
    "count(A.n, A.y)",
    "sum(A.n * 2 + A.x)",
    "count(A.n) FILTER (WHERE A.x > 0)",
    "sum(A.d) FILTER (WHERE A.flag)",
    "avg(A.x) FILTER (WHERE A.name = 'b')",
    "max_by(A.name, A.n) FILTER (WHERE A.x < 2)",
    "last(A.n, true) FILTER (WHERE A.flag)",
    "first(A.y) FILTER (WHERE A.flag) IGNORE NULLS",
    "last(A.y) FILTER (WHERE A.n > 1) IGNORE NULLS",
    "corr(A.n, A.y) FILTER (WHERE A.x >= 0)",
    "bool_or(A.flag) FILTER (WHERE A.x = 1)",
    "every(A.flag) FILTER (WHERE A.x = 1)",
]


def random_events(seed: int, n_groups: int = 40) -> pa.Table:
    """Groups of one to nine events, each a situation A that another event ends; values have NULLs, NaN and ties."""
    draw = random.Random(seed)
    made: list[dict[str, Any]] = []

    def maybe(value: Any) -> Any:
        return None if draw.random() < 0.25 else value

    for group in range(n_groups):
        n_events = draw.choice([1, 2, 3, 9])
        for ts in range(n_events + 1):
            event = {
                "ts": ts,
                "g": group,
                "a": ts < n_events,
                "x": draw.randint(-3, 3),
                "n": maybe(draw.randint(-5, 9)),
                "y": maybe(draw.choice([draw.uniform(-9, 9), 2.5, 0.1])),
                "w": maybe(draw.choice([1.5, float("nan"), -2.0])),
                "v": maybe(draw.choice([1.5, float("nan"), -2.0, float("inf"), float("-inf")])),
                "d": maybe(Decimal(draw.randint(-999, 999)) / 100),
                "one": 1.0,
                "flag": maybe(draw.random() < 0.6),
                "name": maybe(draw.choice(["a", "b", "ab", "é"])),
                "at": maybe(dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=draw.randint(0, 99))),
                "day": maybe(dt.date(2024, 1, draw.randint(1, 9))),
            }
            made.append(event)
    kinds = {"x": pa.int16(), "n": pa.int32(), "d": pa.decimal128(9, 2), "at": pa.timestamp("us", "UTC")}
    table = pa.Table.from_pylist(made)
    for name, kind in kinds.items():
        table = table.set_column(table.column_names.index(name), name, table.column(name).cast(kind))
    return table


def same(expected: Any, found: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        both_nan = math.isnan(expected) and math.isnan(found)
        return both_nan or math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-9)
    return bool(expected == found)


@pytest.mark.spark
def test_aggregates_are_those_of_spark_sql(spark: Any) -> None:
    """In one task, and in order of time: first, last and ties are as the events come."""
    table = random_events(seed=5)
    spark.createDataFrame(table).coalesce(1).createOrReplaceTempView("situation_values")
    asked = ", ".join(f"{text} AS r{i}" for i, text in enumerate(EXPRESSIONS))
    inner = "(SELECT * FROM situation_values ORDER BY g, ts)"
    frame = spark.sql(f"SELECT g, {asked} FROM {inner} AS A WHERE A.a GROUP BY g")
    expected = {row["g"]: row for row in frame.toArrow().to_pylist()}
    text = f"PARTITION BY g DEFINE A AS a, B AS NOT a PATTERN A meets B RETURN g, {asked}"
    query = ev.query(text, ts_unit="s")
    on_spark = query.run(spark.createDataFrame(table))
    types = {
        name: (kind, on_spark.schema[name].dataType) for name, kind in ((f.name, f.dataType) for f in frame.schema)
    }
    names = {f"r{i}": text for i, text in enumerate(EXPRESSIONS)}
    assert [(names[name], *both) for name, both in types.items() if both[0] != both[1]] == []
    for result in (query.run(table), on_spark.toArrow()):
        found = {row["g"]: row for row in result.to_pylist()}
        assert found.keys() == expected.keys()
        wrong = [
            (names[name], group, value, found[group][name])
            for group, row in expected.items()
            for name, value in row.items()
            if not same(value, found[group][name])
        ]
        assert not wrong
