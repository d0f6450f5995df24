"""The shared MATCH_RECOGNIZE cases, embedded and on Spark."""

from __future__ import annotations

from typing import Any

import pytest

import eventide as ev
from tests.families.rows.conformance import cases, comparable

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_embedded(case: dict[str, Any]) -> None:
    if "error" in case["expected"]:
        with pytest.raises(ev.EventideError):
            ev.sql(case["sql"]).run()
        return
    result = ev.sql(case["sql"]).run()
    rows = list(zip(*(column.to_pylist() for column in result.columns), strict=True))
    assert comparable(rows) == comparable([tuple(row) for row in case["expected"]["rows"]])


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_on_spark(spark: Any, case: dict[str, Any]) -> None:
    if "error" in case["expected"]:
        with pytest.raises(Exception, match="AFTER MATCH SKIP"):
            ev.sql(case["sql"], spark=spark).collect()
        return
    rows = [tuple(row) for row in ev.sql(case["sql"], spark=spark).collect()]
    assert comparable(rows) == comparable([tuple(row) for row in case["expected"]["rows"]])
