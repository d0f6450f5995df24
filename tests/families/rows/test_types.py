"""Measures and conditions over columns of every type: they work, or are refused with a message."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev

LARGE = 2**63 + 5
TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "du": pa.array([7, 5, None], pa.duration("us")),
        "s": pa.array([7, 5, None], pa.duration("s")),
        "u": pa.array([LARGE, 5, None], pa.uint64()),
        "d": pa.array([7, 5, None], pa.date32()),
    }
)


def measure(text: str, **options: Any) -> pa.ChunkedArray:
    clause = ev.match_recognize(order_by="id", pattern="A+", measures={"m": text}, **options)
    return clause(TABLE).column("m")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LAST(du, 1)", timedelta(microseconds=5)),
        ("FIRST(s)", timedelta(seconds=7)),
        ("max(du)", timedelta(microseconds=7)),
        ("min(s)", timedelta(seconds=5)),
        ("mode(du)", timedelta(microseconds=5)),
        ("max_by(id, du)", 1),
        ("array_agg(du)", [timedelta(microseconds=7), timedelta(microseconds=5)]),
        ("LAST(u, 1)", 5),
        ("max(u)", LARGE),
        ("min(u)", 5),
        ("sum(u)", Decimal(LARGE + 5)),
        ("sum(u) FILTER (WHERE id > 1)", Decimal(5)),
        ("avg(u)", Decimal(LARGE + 5) / 2),
        ("array_agg(u)", [LARGE, 5]),
    ],
)
def test_a_measure_of_lengths_of_time_and_of_large_integers(text: str, expected: object) -> None:
    assert measure(text).to_pylist() == [expected]
    assert measure(text, rows="all").to_pylist()[-1] == expected
    assert measure(text, rows="ALL ROWS PER MATCH WITH UNMATCHED ROWS").to_pylist()[-1] == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("s < INTERVAL '6' SECOND", [2]),
        ("u > 5", [1]),
        ("u < PREV(u)", [2]),
        ("max(u) > 10", [1, 2, 3]),
        ("max(u) > 10 AND u IS NOT NULL", [1, 2]),
        ("du < PREV(du)", [2]),
        ("max(du) = FIRST(du)", [1, 2, 3]),
        ("sum(u) > 10", [1, 2, 3]),
    ],
)
def test_a_condition_on_lengths_of_time_and_on_large_integers(condition: str, expected: list[int]) -> None:
    clause = ev.match_recognize(
        order_by="id", pattern="A+", define={"A": condition}, measures={"m": "FINAL array_agg(id)"}
    )
    assert clause(TABLE).column("m").to_pylist() == [expected]


@pytest.mark.parametrize("text", ["avg(du)", "sum(du)", "avg(d)", "sum(d)", "median(du)"])
def test_an_aggregate_of_a_type_that_it_does_not_take_is_refused(text: str) -> None:
    with pytest.raises(ev.QueryError, match=r"there is no (avg|sum) of|takes numbers"):
        measure(text)
