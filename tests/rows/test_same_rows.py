"""One body: random MATCH_RECOGNIZE over random rows, on every engine, against the oracle."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import eventide as ev
from tests.rows.cases import Case, cases
from tests.rows.conformance import comparable


def check(case: Case, run: Any) -> None:
    expected = case.expected()
    if expected is None:
        with pytest.raises(Exception, match="AFTER MATCH SKIP"):
            run(case)
        return
    result: pa.Table = run(case)
    assert comparable(list(zip(*(column.to_pylist() for column in result.columns), strict=True))) == expected


def embedded(case: Case) -> pa.Table:
    return ev.sql(case.sql, t=case.table(), ts_unit="s")


@settings(deadline=None)
@given(case=cases())
def test_the_embedded_engine_returns_the_oracles_rows(case: Case) -> None:
    check(case, embedded)
