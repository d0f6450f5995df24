"""The aggregates of RETURN by hand: NULLs, ties, FILTER, and what there is no value of."""

from __future__ import annotations

from typing import Any

import pytest

import eventide as ev
from tests.families.situations.lanes import lanes, rows


def aggregate(returned: str, **values: list[Any]) -> Any:
    """What is returned of a situation with these values."""
    n = len(next(iter(values.values())))
    events = [
        {**event, **{name: (column[i] if i < n else None) for name, column in values.items()}}
        for i, event in enumerate(lanes(a="#" * n + ".", b="." * n + "#"))
    ]
    ((value, _),) = rows(f"DEFINE A AS a, B AS b PATTERN A meets B RETURN {returned} AS r", events)
    return value


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("first(A.v) IGNORE NULLS", 4),
        ("last(A.v, true)", 2),
        ("first(A.v)", None),
        ("last(A.v)", None),
        ("first(A.v) RESPECT NULLS", None),
        ("max_by(A.v, A.k)", 7),
        ("min_by(A.v, A.k)", None),
        ("max_by(A.k, A.v)", 3),
        ("count(A.v, A.k)", 3),
        ("bit_or(A.v)", 7),
        ("bit_and(A.v)", 0),
        ("bit_xor(A.v)", 1),
        ("sum(A.v) FILTER (WHERE A.k > 1)", 11),
        ("count(A.*) FILTER (WHERE A.k > 1)", 2),
        ("regr_count(A.v, A.k)", 3),
        ("regr_avgx(A.v, A.k)", 7 / 3),
        ("max_by(A.v, A.k) - first(A.k)", 6),
    ],
)
def test_nulls_and_ties_are_treated_as_in_spark(returned: str, expected: Any) -> None:
    """Of equal keys the last event's value counts."""
    found = aggregate(returned, v=[None, 4, 7, 2, None], k=[1, 3, 3, 1, 1])
    assert found == pytest.approx(expected) if isinstance(expected, float) else found == expected


@pytest.mark.parametrize("function", ["corr", "covar_samp", "regr_slope", "regr_intercept", "regr_r2"])
def test_one_pair_has_no_statistics_of_two(function: str) -> None:
    assert aggregate(f"{function}(A.v, A.k)", v=[3, None], k=[5, 6]) is None


def test_values_that_are_all_the_same_have_no_shape_and_no_correlation() -> None:
    values = {"v": [3, 3, 3], "k": [1, 2, 4]}
    for returned in ("skewness(A.v)", "kurtosis(A.v)", "corr(A.v, A.k)", "regr_slope(A.k, A.v)", "regr_r2(A.k, A.v)"):
        assert aggregate(returned, **values) is None
    assert aggregate("regr_r2(A.v, A.k)", **values) == 1.0


def test_bits_that_all_values_have_are_kept() -> None:
    assert aggregate("bit_and(A.v)", v=[6, None, 3, 10]) == 2
    assert aggregate("bit_and(A.v)", v=[-1]) == -1
    assert aggregate("bit_and(A.v) FILTER (WHERE A.v > 9)", v=[1, 2]) is None


def test_a_pair_with_a_null_is_none() -> None:
    assert aggregate("covar_pop(A.v, A.k)", v=[1, 3, None], k=[2, 6, 50]) == pytest.approx(2.0)
    assert aggregate("corr(A.v, A.k)", v=[1, None, 3], k=[2, 50, 6]) == pytest.approx(1.0)


def test_regression_is_of_the_first_argument_on_the_second() -> None:
    values = {"v": [5, 9, 13], "k": [1, 3, 5]}
    assert aggregate("regr_slope(A.v, A.k)", **values) == pytest.approx(2.0)
    assert aggregate("regr_intercept(A.v, A.k)", **values) == pytest.approx(3.0)
    assert aggregate("regr_sxx(A.v, A.k)", **values) == pytest.approx(8.0)
    assert aggregate("regr_syy(A.v, A.k)", **values) == pytest.approx(32.0)


def test_columns_are_named_after_what_was_written() -> None:
    events = [{**event, "v": 1} for event in lanes(a="##.", b="..#")]
    text = "DEFINE A AS a, B AS b PATTERN A meets B RETURN corr(A.v, A.v), last(A.v) IGNORE NULLS, bit_or(A.v)"
    names = ev.query(text, ts_unit="s").run(events).column_names
    assert names == ["corr(A.v, A.v)", "last(A.v) IGNORE NULLS", "bit_or_A_v", "detected_at"]
