"""Conditions on aggregates of a repeated symbol: every type that has the aggregate, values as Spark has them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev


def table(values: list[Any], dtype: pa.DataType) -> pa.Table:
    """The values of A, then one B."""
    kinds = ["A"] * (len(values) - 1) + ["B"]
    return pa.table({"ts": range(len(values)), "kind": kinds, "x": pa.array(values, dtype)})


def found(condition: str, events: pa.Table) -> set[str]:
    text = f"PATTERN SEQ(A a+, B b) WHERE {condition} RETURN a.ts"
    rows = ev.query(text, ts_unit="s", type="kind").run(events).column("a_ts").to_pylist()
    return {"".join(map(str, row)) for row in rows}


PRICES = table([Decimal("1.05"), Decimal("2.10"), None, Decimal("-0.01"), Decimal("1.50")], pa.decimal128(10, 2))
ONLY_NULL = {"2"}


@pytest.mark.parametrize(
    ("condition", "matches"),
    [
        ("avg(a.x) > 1.5", {"1", "01", "12", "012"}),
        ("avg(a.x) = 1.575", {"01", "012"}),
        ("avg(a.x) = 1.046667", {"013", "0123"}),
        ("avg(a.x) < 0", {"3", "23"}),
        ("sum(a.x) = 3.14", {"013", "0123"}),
        ("sum(a.x) > b.x + 0.5", {"1", "12", "01", "012", "013", "0123", "13", "123"}),
        ("avg(a.x) > b.x AND min(a.x) > 0", {"1", "12", "01", "012"}),
        ("max(a.x) - min(a.x) = 1.05", {"01", "012"}),
        ("avg(a.x) IS NULL", ONLY_NULL),
        ("cast(avg(a.x) AS DOUBLE) > 1.6", {"1", "12"}),
    ],
)
def test_aggregates_of_decimals_are_exact(condition: str, matches: set[str]) -> None:
    assert found(condition, PRICES) == matches


def test_an_average_of_decimals_is_rounded_half_away_from_zero() -> None:
    third = table([Decimal("-1"), Decimal("-1"), Decimal("0"), Decimal("5")], pa.decimal128(18, 0))
    assert found("avg(a.x) = -0.6667", third) == {"012"}
    assert found("avg(a.x) = -0.5", third) == {"02", "12"}


def test_a_sum_of_decimals_that_leaves_its_range_is_an_error() -> None:
    wide = table([Decimal(9 * 10**17)] * 12 + [Decimal(0)], pa.decimal128(18, 0))
    with pytest.raises(ev.InputError, match="leaves the range of its type"):
        found("count(a) = 12 AND sum(a.x) > 1", wide)


NAMES = table(["bo", "ann", None, "zoe", "cat"], pa.string())


@pytest.mark.parametrize(
    ("condition", "matches"),
    [
        ("max(a.x) = 'zoe'", {"3", "03", "13", "23", "013", "023", "123", "0123"}),
        ("min(a.x) = 'ann' AND max(a.x) < 'c'", {"1", "01", "12", "012"}),
        ("max(a.x) < b.x", {"0", "1", "01", "02", "12", "012"}),
        ("min(a.x) > b.x", {"3", "23"}),
        ("max(a.x) IN ('bo', 'x')", {"0", "01", "02", "012"}),
        ("min(a.x) = max(a.x)", {"0", "1", "3", "02", "12", "23"}),
        ("max(a.x) IS NULL", ONLY_NULL),
        ("coalesce(max(a.x), 'zz') > 'zy'", ONLY_NULL),
        ("count(a.x) = 0", ONLY_NULL),
    ],
)
def test_the_least_and_the_greatest_string(condition: str, matches: set[str]) -> None:
    assert found(condition, NAMES) == matches


def test_the_least_and_the_greatest_truth() -> None:
    events = table([True, False, None, True], pa.bool_())
    assert found("min(a.x)", events) == {"0", "02"}
    assert found("NOT max(a.x)", events) == {"1", "12"}


@pytest.mark.parametrize(
    ("condition", "values", "dtype", "message"),
    [
        ("sum(a.x) > 1", ["u", "v"], pa.string(), "SUM of a repeated symbol needs a number, but this is string"),
        ("avg(a.x) > 1", [1, 2], pa.timestamp("us"), "AVG of a repeated symbol needs a number, but this is timestamp"),
        ("max(a.x) IS NULL", [[1], [2]], pa.list_(pa.int64()), "MAX of a repeated symbol cannot go over"),
    ],
)
def test_what_has_no_such_aggregate_is_refused(
    condition: str, values: list[Any], dtype: pa.DataType, message: str
) -> None:
    with pytest.raises(ev.QueryError, match=message):
        found(condition, table(values, dtype))


@pytest.mark.parametrize("spelling", ["COUNT(a)", "count(a.*)"])
def test_events_are_counted_in_both_spellings(spelling: str) -> None:
    events = table([1, None, 3, 4], pa.int64())
    assert found(f"{spelling} = 2", events) == {"01", "02", "12"}


def test_columns_of_an_unknown_symbol_cannot_be_counted() -> None:
    with pytest.raises(ev.QueryError, match="unknown symbol 'zz'"):
        found("count(zz.*) = 2", PRICES)
