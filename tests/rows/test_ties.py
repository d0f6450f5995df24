"""Rows with equal keys: their order is that of the columns that are read, never that of their arrival."""

from __future__ import annotations

from itertools import permutations

import pytest

import eventide as ev

ROWS = [{"ts": 1, "s": "A", "x": 1.0}, {"ts": 1, "s": "B", "x": 2.0}, {"ts": 1, "s": "C", "x": None}]


@pytest.mark.parametrize("rows", permutations(ROWS))
@pytest.mark.parametrize("shown", ["", "ALL ROWS PER MATCH "])
def test_tied_rows_are_ordered_by_what_a_condition_reads(rows: list[dict[str, object]], shown: str) -> None:
    clause = f"ORDER BY ts MEASURES count(*) AS n {shown}PATTERN (A B) DEFINE A AS s = 'A', B AS s = 'B'"
    found = ev.sql(f"SELECT n FROM t MATCH_RECOGNIZE ({clause})", t=rows).to_pylist()
    assert found == ([{"n": 1}, {"n": 2}] if shown else [{"n": 2}])


@pytest.mark.parametrize("rows", permutations(ROWS))
def test_tied_rows_are_ordered_by_what_an_expression_reads(rows: list[dict[str, object]]) -> None:
    clause = "ORDER BY ts MEASURES max(coalesce(x, 0) + 1) AS m PATTERN (A B) DEFINE B AS coalesce(x, 0) < 2"
    found = ev.sql(f"SELECT m FROM t MATCH_RECOGNIZE ({clause})", t=rows).to_pylist()
    assert found == [{"m": 2.0}]  # NULL first, then 1, then 2


@pytest.mark.parametrize("rows", permutations(ROWS))
def test_tied_events_of_the_builder_are_ordered_by_what_a_condition_reads(rows: list[dict[str, object]]) -> None:
    pattern = ev.Pattern.begin("a", "s = 'A'").next("b", "s = 'B'")
    found = ev.detect(list(rows), pattern, ts="ts", ts_unit="s", select={"n": "count(a.*)"}).matches
    assert found.num_rows == 1


def test_nan_is_the_greatest_value() -> None:
    rows = [{"x": value} for value in (1.0, float("nan"), 2.0, None)]
    clause = ev.match_recognize(order_by="x DESC", pattern="A+", measures={"n": "count(*)", "d": "collect_list(x)"})
    (found,) = clause(rows).to_pylist()
    assert [str(value) for value in found["d"]] == ["nan", "2.0", "1.0"]
    clause = ev.match_recognize(order_by="x", pattern="A+", measures={"d": "collect_list(x)"})
    (found,) = clause(rows).to_pylist()
    assert [str(value) for value in found["d"]] == ["1.0", "2.0", "nan"]
