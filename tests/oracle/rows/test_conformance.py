"""The conformance cases of MATCH_RECOGNIZE, as far as they use only functions that Spark SQL has."""

from __future__ import annotations

import pytest

from tests.conformance import shared_cases
from tests.oracle.rows.clause import run

CASES = shared_cases("match_recognize")

NOT_IN_SPARK = {
    "TestAggregationsInRowPatternMatching/testTentativeLabelMatch/05": "arbitrary(x)",
    "TestCopyAggregationStateInRowPatternMatching/testMinN/01": "min(x, n)",
    "TestCopyAggregationStateInRowPatternMatching/testMultimapAgg/01": "multimap_agg(key, value)",
    "TestCopyAggregationStateInRowPatternMatching/testMapAgg/01": "map_agg(key, value)",
    "TestCopyAggregationStateInRowPatternMatching/testMapUnion/01": "map_union(map)",
}


def selected(select: str, names: list[str], rows: list[tuple]) -> list[list]:
    """The columns of the SELECT list; all items are plain columns, some with an alias."""
    if select == "*":
        return [list(row) for row in rows]
    places = {name.lower(): i for i, name in enumerate(names)}
    wanted = [places[item.split()[0].removeprefix("m.").lower()] for item in select.split(",")]
    return [[row[i] for i in wanted] for row in rows]


def multiset(rows: list[list]) -> list[str]:
    """Rows in an order of their own; 1, 1.0 and true differ."""
    return sorted(map(repr, rows))


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_the_case_has_the_expected_rows(case):
    if case["id"] in NOT_IN_SPARK:
        pytest.skip(f"Spark SQL has no {NOT_IN_SPARK[case['id']]}")
    table = case["input"]
    if "error" in case["expected"]:
        with pytest.raises(ValueError):
            run(case["match_recognize"], table["columns"], table["rows"])
        return
    names, rows = run(case["match_recognize"], table["columns"], table["rows"])
    assert multiset(selected(case["select"], names, rows)) == multiset(case["expected"]["rows"])


@pytest.mark.skipif(not CASES, reason="the conformance cases are not here")
def test_every_case_left_out_is_a_case():
    assert set(NOT_IN_SPARK) <= {case["id"] for case in CASES}
