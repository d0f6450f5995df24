"""One body: random MATCH_RECOGNIZE over random rows, on every engine, against the oracle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, assume, given
from hypothesis import strategies as st

import eventide as ev
from eventide.api.query import Query
from eventide.lang.rows import parse_clause
from eventide.plan.options import Options
from eventide.runtime.costs import costing
from tests.budget import budgeted
from tests.few_steps import few_steps
from tests.rows.cases import Case, cases
from tests.rows.conformance import comparable

QUICK = {"deadline": None, "suppress_health_check": list(HealthCheck)}
ON_SPARK = {**QUICK, "phases": (Phase.explicit, Phase.reuse, Phase.generate)}


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
    path: Path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(case.table(), path, row_group_size=3)
    for few_rows in (0, 10**9):
        with costing(few_rows=few_rows):
            check(case, lambda case: run_path(case, path, spark))


def run_path(case: Case, path: Path, spark: Any) -> pa.Table:
    recognizer = Query("rows", case.clause, parse_clause(case.clause), Options.of(ts_unit="s"))
    return recognizer(path, engine="spark", spark=spark).toArrow()
