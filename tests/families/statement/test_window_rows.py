"""Table functions of windows return the oracle's windows: aggregated by the operator, and as expanded rows."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

import pytest
from hypothesis import given

import eventide as ev
from tests.budget import ON_SPARK, QUICK, budgeted
from tests.families.statement.window_cases import SPARK_TYPES, Case, cases, counted

GROUPED = "SELECT k, window_start, window_end, count(*) AS n, sum(v) AS s, max(v) AS m FROM {} {}"
BY = "GROUP BY k, window_start, window_end"
EXPANDED = "SELECT id, window_start, window_end, window_time FROM {}"


@budgeted(**QUICK)
@given(cases())
def test_groups_of_windows_are_the_oracles(case: Case) -> None:
    found = ev.sql(GROUPED.format(case.function(), BY), t=case.table(), **case.options)
    assert counted(found) == case.aggregated()


@budgeted(**QUICK)
@given(cases())
def test_expanded_rows_are_the_oracles(case: Case) -> None:
    found = ev.sql(EXPANDED.format(case.function()), t=case.table(), **case.options)
    assert counted(found) == case.expanded()


@budgeted(**QUICK)
@given(cases())
def test_groups_of_expanded_rows_are_the_oracles(case: Case) -> None:
    found = ev.sql(GROUPED.format(f"(SELECT * FROM {case.function()})", BY), t=case.table(), **case.options)
    assert counted(found) == case.aggregated()


@budgeted(**QUICK)
@given(cases())
def test_the_language_returns_the_same_windows(case: Case) -> None:
    query = f"GROUP BY k {case.in_the_language} RETURN k, window_start, window_end, count(*), sum(v), max(v)"
    moved = Case(case.events, case.kind, case.size, case.step, 0, case.time)
    said = ev.query(query, **case.options).run(case.table()).drop_columns(["detected_at"])
    found = ev.sql(GROUPED.format(moved.function(), BY), t=case.table(), **case.options)
    assert counted(said) == counted(found)
    assert [field.type for field in said.schema] == [field.type for field in found.schema]


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(cases(SPARK_TYPES))
def test_on_spark_groups_and_rows_are_the_oracles(spark: Any, case: Case) -> None:
    frame = spark.createDataFrame(case.table())
    for text, expected in (
        (GROUPED.format(case.function(), BY), case.aggregated()),
        (EXPANDED.format(case.function()), case.expanded()),
    ):
        found = Counter(tuple(row) for row in ev.sql(text, t=frame, **case.options).collect())
        if case.time == "zoned":
            # Rows of PySpark have no zone; the session's is UTC.
            found = Counter({tuple(_zoned(value) for value in row): n for row, n in found.items()})
        assert found == expected


def _zoned(value: Any) -> Any:
    return value.replace(tzinfo=dt.UTC) if isinstance(value, dt.datetime) else value
