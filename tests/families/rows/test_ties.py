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


@pytest.mark.parametrize("rows", permutations([{"x": 0.0, "s": "A"}, {"x": -0.0, "s": "B"}, {"x": 0.0, "s": "C"}]))
def test_the_two_zeros_are_equal_keys(rows: list[dict[str, object]]) -> None:
    clause = ev.match_recognize(order_by="x", pattern="A+", measures={"s": "array_agg(s)"})
    assert clause(list(rows)).to_pylist() == [{"s": ["A", "B", "C"]}]


def test_a_label_with_the_name_of_a_column_does_not_read_the_column() -> None:
    clause = ev.match_recognize(order_by="k", pattern="A+", define={"A": "A.s <> 'z'"}, measures={"s": "array_agg(s)"})
    rows = [{"k": 1, "a": 1, "s": "q"}, {"k": 1, "a": 2, "s": "p"}]
    assert clause(rows).to_pylist() == [{"s": ["p", "q"]}]


@pytest.mark.parametrize("column", [[[2], [1], None, [1, 3]], [{"y": 2}, {"y": 1}, {"y": None}, None]])
def test_tied_rows_that_differ_only_in_a_nested_column_have_one_order(column: list[object]) -> None:
    clause = ev.match_recognize(order_by="k", pattern="A+", measures={"n": "array_agg(v)"})
    found = {str(clause([{"k": 1, "v": value} for value in values])) for values in permutations(column)}
    assert len(found) == 1


@pytest.mark.parametrize("rows", permutations([("p", 1, "B"), ("p", 1, "A"), ("q", 1, "B"), ("q", 2, "A")]))
def test_ties_are_looked_for_within_each_partition(rows: list[tuple[str, int, str]]) -> None:
    clause = ev.match_recognize(partition_by="p", order_by="k", pattern="A+", measures={"s": "array_agg(s)"})
    found = clause([{"p": p, "k": k, "s": s} for p, k, s in sorted(rows, key=lambda row: row[1])]).to_pylist()
    assert sorted(found, key=str) == [{"p": "p", "s": ["A", "B"]}, {"p": "q", "s": ["B", "A"]}]


@pytest.mark.parametrize("least", [-(2**63), 0])
def test_the_least_key_ties_as_any_other(least: int) -> None:
    rows = [{"p": p, "k": k, "s": s} for k, p, s in [(least, 1, "B"), (least, 1, "A"), (least, 2, "C")]]
    clause = ev.match_recognize(partition_by="p", order_by="k", pattern="A+", measures={"s": "array_agg(s)"})
    assert sorted(clause(rows).column("s").to_pylist()) == [["A", "B"], ["C"]]
