"""One body: random MATCH_RECOGNIZE over random rows, on every engine, against the oracle."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import eventide as ev
from eventide.api.query import Query
from eventide.lang.rows import parse_clause
from eventide.plan.options import Options
from tests.budget import ON_SPARK, QUICK, budgeted
from tests.engines.streams import both_readings
from tests.families.rows.cases import Case, cases
from tests.families.rows.conformance import comparable
from tests.few_steps import few_steps


def check(case: Case, run: Callable[[Case], pa.Table]) -> None:
    expected = case.expected()
    if expected is None:
        with pytest.raises(Exception, match="AFTER MATCH SKIP"):
            run(case)
        return
    result = run(case)
    assert comparable(list(zip(*(column.to_pylist() for column in result.columns), strict=True))) == expected


def embedded(case: Case) -> pa.Table:
    return ev.sql(case.sql, t=case.table(), ts_unit="s")


@budgeted(**QUICK)
@given(cases())
def test_the_embedded_engine_returns_the_oracles_rows(case: Case) -> None:
    check(case, embedded)


@budgeted(**QUICK)
@given(cases(), st.integers(1, 5), st.integers(4, 20))
def test_a_search_that_pauses_after_every_few_steps_returns_the_oracles_rows(
    case: Case, n_steps: int, room: int
) -> None:
    with few_steps(n_steps), patch("eventide.families.rows.walk.ROOM", room):
        check(case, embedded)


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(cases())
def test_a_spark_dataframe_returns_the_oracles_rows(spark: Any, case: Case) -> None:
    assume(case.expected())
    check(case, lambda case: ev.sql(case.sql, t=spark.createDataFrame(case.table()), ts_unit="s").toArrow())


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(cases())
def test_files_read_by_spark_tasks_return_the_oracles_rows(spark: Any, tmp_path_factory: Any, case: Case) -> None:
    assume(case.expected())
    query = Query("rows", case.clause, parse_clause(case.clause), Options.of(ts_unit="s"))
    run = partial(query, engine="spark", spark=spark)
    for rows in both_readings(tmp_path_factory.mktemp("rows"), case.table(), 3, run):
        check(case, lambda case, rows=rows: rows)
