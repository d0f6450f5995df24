"""Navigation, RUNNING and FINAL, SUBSET, aggregates, and SQL's rules for NULL in expressions."""

from __future__ import annotations

from decimal import Decimal
from math import isnan, nan
from typing import Any

import pytest

from tests.oracle.rows.clause import run
from tests.oracle.rows.expressions import as_expression
from tests.oracle.rows.scope import ClauseError, Scope

VARIABLES = {"A": frozenset("A"), "B": frozenset("B"), "C": frozenset("C"), "U": frozenset("AB")}
PARTITION = [{"x": 10 * i, "y": None, "z": float(i), "name": f"n{i}"} for i in range(1, 7)]


def measured(text: str, labels: str = "ABB", current: int | None = None, start: int = 1) -> Any:
    """A measure of a match that begins at the second row; the current row is its last, or the given one of it."""
    last = start + len(labels) - 1 if labels else None
    place = last if current is None else start + current
    return as_expression(text)(Scope(PARTITION, start, tuple(labels), place, 3, VARIABLES))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", 40),
        ("A.x", 20),
        ("b.x", 40),
        ("C.x", None),
        ("U.x", 40),
        ("FIRST(x)", 20),
        ("FIRST(B.x)", 30),
        ("LAST(A.x)", 20),
        ("FIRST(x, 2)", 40),
        ("FIRST(x, 3)", None),
        ("LAST(x, 1)", 30),
        ("LAST(x, 3)", None),
        ("FIRST(B.x, 1)", 40),
        ("FIRST(C.x)", None),
        ("PREV(x)", 30),
        ("PREV(x, 0)", 40),
        ("PREV(x, 3)", 10),
        ("PREV(x, 4)", None),
        ("NEXT(x)", 50),
        ("NEXT(x, 2)", 60),
        ("NEXT(x, 3)", None),
        ("PREV(A.x)", 10),
        ("PREV(A.x, 2)", None),
        ("NEXT(A.x)", 30),
        ("PREV(C.x)", None),
        ("PREV(FIRST(x))", 10),
        ("NEXT(FIRST(B.x, 1), 2)", 60),
        ("PREV(LAST(B.x, 1), 2)", 10),
        ("NEXT(LAST(C.x))", None),
        ("PREV(x + 1)", 31),
        ("FIRST(B.x * 2 + B.x)", 90),
        ("CLASSIFIER()", "B"),
        ("CLASSIFIER(A)", "A"),
        ("CLASSIFIER(C)", None),
        ("FIRST(CLASSIFIER())", "A"),
        ("FIRST(CLASSIFIER(U))", "A"),
        ("PREV(CLASSIFIER(), 2)", "A"),
        ("PREV(CLASSIFIER(), 3)", None),
        ("NEXT(CLASSIFIER())", None),
        ("FIRST(name || CLASSIFIER())", "n2A"),
        ("MATCH_NUMBER()", 3),
        ("LAST(x + MATCH_NUMBER())", 43),
    ],
)
def test_navigation(text, expected):
    assert measured(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", 30),
        ("LAST(x)", 30),
        ("RUNNING LAST(x)", 30),
        ("FINAL LAST(x)", 50),
        ("FINAL LAST(C.x)", 50),
        ("LAST(C.x)", None),
        ("FINAL FIRST(B.x, 1)", 40),
        ("FIRST(B.x, 1)", None),
        ("PREV(FINAL LAST(x))", 40),
        ("PREV(RUNNING LAST(x))", 20),
        ("CLASSIFIER()", "B"),
        ("FINAL LAST(CLASSIFIER())", "C"),
        ("NEXT(CLASSIFIER(), 2)", "C"),
        ("count(*)", 2),
        ("FINAL count(*)", 4),
        ("RUNNING sum(x)", 50),
        ("FINAL sum(x)", 140),
        ("FINAL count(B.*) - count(B.*)", 1),
        ("final array_agg(CLASSIFIER())", ["A", "B", "B", "C"]),
    ],
)
def test_running_sees_rows_up_to_the_current_one_and_final_all(text, expected):
    assert measured(text, "ABBC", current=1) == expected


def test_a_value_of_a_missing_row_is_null_whatever_the_expression():
    assert measured("PREV(COALESCE(x, 0), 9)") is None
    assert measured("FIRST(C.x IS NULL)") is None


def test_an_empty_match_has_no_rows():
    assert measured("x", labels="") is None
    assert measured("FINAL LAST(x)", labels="") is None
    assert measured("CLASSIFIER()", labels="") is None
    assert measured("PREV(x)", labels="") is None
    assert measured("NEXT(FIRST(x))", labels="") is None
    assert measured("count(*)", labels="") == 0
    assert measured("sum(x)", labels="") is None
    assert measured("array_agg(x)", labels="") == []
    assert measured("MATCH_NUMBER()", labels="") == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count(*)", 3),
        ("count()", 3),
        ("count(B.*)", 2),
        ("count(C.*)", 0),
        ("count(U.*)", 3),
        ("count(y)", 0),
        ("count(A.x)", 1),
        ("sum(x)", 90),
        ("sum(B.x)", 70),
        ("sum(C.x)", None),
        ("sum(y)", None),
        ("sum(z)", 9.0),
        ("avg(B.x)", 35.0),
        ("min(x)", 20),
        ("max(B.x)", 40),
        ("max(name)", "n4"),
        ("array_agg(B.x)", [30, 40]),
        ("array_agg(y)", []),
        ("array_agg(name || CLASSIFIER())", ["n2A", "n3B", "n4B"]),
        ("sum(x * MATCH_NUMBER())", 270),
        ("sum(CASE WHEN x > 20 THEN 1 ELSE 0 END)", 2),
        ("count(CASE WHEN CLASSIFIER() = 'A' THEN 1 END)", 1),
        ("count(DISTINCT CLASSIFIER())", 2),
        ("sum(B.x) - B.x", 30),
        ("array_agg(CLASSIFIER(U))", ["A", "B", "B"]),
        ("sum(CAST(B.x AS DECIMAL(10, 2)))", Decimal("70.00")),
        ("avg(CAST(x AS DECIMAL(10, 1)))", Decimal("30.00000")),
    ],
)
def test_aggregates(text, expected):
    found = measured(text)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = y", None),
        ("y <> 1", None),
        ("NULL AND false", False),
        ("NULL AND true", None),
        ("NULL OR true", True),
        ("NULL OR false", None),
        ("NOT NULL", None),
        ("y IS NULL", True),
        ("x IS NOT NULL", True),
        ("y <=> NULL", True),
        ("x <=> NULL", False),
        ("y + 1", None),
        ("-y", None),
        ("'a' || y", None),
        ("concat('a', y)", None),
        ("lower(y)", None),
        ("y LIKE 'a'", None),
        ("y IN (1)", None),
        ("1 IN (2, y)", None),
        ("1 IN (1, y)", True),
        ("1 NOT IN (2, y)", None),
        ("y BETWEEN 1 AND 2", None),
        ("3 BETWEEN y AND 2", False),
        ("COALESCE(y, 5)", 5),
        ("COALESCE(y, NULL)", None),
        ("CASE WHEN y THEN 1 ELSE 2 END", 2),
        ("CASE y WHEN NULL THEN 1 END", None),
        ("CAST(y AS INT)", None),
    ],
)
def test_null(text, expected):
    assert (measured(text), type(measured(text))) == (expected, type(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 / 2", 3.5),
        ("4 / 2", 2.0),
        ("1 / 0", None),
        ("7 % 3", 1),
        ("-7 % 3", -1),
        ("7 % 0", None),
        ("1 + 2 * 3 - 4", 3),
        ("1.5 + 1", Decimal("2.5")),
        ("1.5 + 1e0", 2.5),
        ("0.1 + 0.2 = 0.3", True),
        ("1.0 = 1e0", True),
        ("1 = 1.0", True),
        ("2 > 10", False),
        ("'2' > '10'", True),
        ("x BETWEEN 40 AND 41", True),
        ("x NOT BETWEEN 40 AND 41", False),
        ("CASE x WHEN 40 THEN 'forty' ELSE 'other' END", "forty"),
        ("CASE WHEN x < 0 THEN 1 WHEN x > 0 THEN 2 END", 2),
        ("'abc' LIKE 'a%'", True),
        ("'abc' LIKE '_b'", False),
        ("'abc' NOT LIKE '%b%'", False),
        ("'it''s'", "it's"),
        ("'FINAL LAST(x)'", "FINAL LAST(x)"),
        ("upper('ab') || lower('CD')", "ABcd"),
        ("concat('a', 1, 'b')", "a1b"),
        ("abs(-3)", 3),
        ("CAST('12' AS BIGINT)", 12),
        ("CAST(2.9 AS INT)", 2),
        ("CAST(2 AS DOUBLE)", 2.0),
        ("CAST(2 AS VARCHAR)", "2"),
        ("CAST(1.005 AS DECIMAL(10, 2))", Decimal("1.01")),
        ("true AND NOT false", True),
        ("(SELECT 5) + 1", 6),
        ("1 IN (SELECT 1)", True),
        ("0 IN (SELECT 1)", False),
        ("EXISTS (SELECT 'y')", True),
        ("EXISTS (SELECT NULL)", True),
        ('B."x"', 40),
        ("`x`", 40),
        ("X + B.X", 80),
    ],
)
def test_values(text, expected):
    assert (measured(text), type(measured(text))) == (expected, type(expected))


def test_nan_equals_itself_and_is_the_greatest():
    rows = [(nan,), (1.0,)]
    clause = "MEASURES max(x) AS top, min(x) AS low PATTERN (A+) DEFINE A AS x = x AND x >= 1"
    [(top, low)] = run(clause, ["x"], rows)[1]
    assert isnan(top) and low == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing + 1", "there is no column nothing"),
        ("Z.x", "Z is neither a label"),
        ("count(Z.*)", "Z is neither a label"),
        ("LAST(A.x + B.x)", "one argument is about the rows of one label"),
        ("sum(A.x * x)", "one argument is about the rows of one label"),
        ("FIRST(PREV(x))", "prev does not stand inside"),
        ("PREV(PREV(x))", "prev does not stand inside"),
        ("sum(LAST(x))", "last does not stand inside"),
        ("LAST(sum(x))", "sum does not stand inside"),
        ("median(x)", "the oracle does not have"),
        ("(SELECT x FROM t)", "only subqueries of the form"),
        ("x +", "is no expression"),
    ],
)
def test_what_is_wrong_is_refused(text, message):
    with pytest.raises(ClauseError, match=message):
        measured(text)


def test_final_does_not_stand_in_define():
    with pytest.raises(ClauseError, match="FINAL"):
        run("PATTERN (A) DEFINE A AS FINAL LAST(x) > 1", ["x"], [(1,)])


def test_a_subset_has_the_rows_of_its_members_in_the_order_of_the_match():
    clause = """
        ORDER BY x
        MEASURES array_agg(U.x) AS xs, FIRST(U.x) AS low, LAST(CLASSIFIER(U)) AS label
        PATTERN (A B C) SUBSET U = (A, C), V = (B) DEFINE C AS C.x > 2 * FIRST(U.x)
    """
    assert run(clause, ["x"], [(1,), (2,), (3,)])[1] == [([1, 3], 1, "C")]


def test_the_current_row_is_in_its_subset_while_its_condition_is_tested():
    clause = "MEASURES count(*) AS n PATTERN (A B) SUBSET U = (A, B) DEFINE B AS count(U.*) = 2 AND LAST(U.x) = 5"
    assert run(clause, ["x"], [(1,), (5,)])[1] == [(2,)]
