"""Row pattern cases of another engine's public test suite, read from where they are shared; never copied here."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

from tests.conformance import shared_cases

# What cannot apply, with the reason.
NOT_IN_SPARK = {
    "TestCopyAggregationStateInRowPatternMatching/testMinN/01": "Spark SQL has no min(x, n)",
    "TestCopyAggregationStateInRowPatternMatching/testMultimapAgg/01": "Spark SQL has no multimap_agg",
    "TestCopyAggregationStateInRowPatternMatching/testMapAgg/01": "Spark SQL has no map_agg",
    "TestCopyAggregationStateInRowPatternMatching/testMapUnion/01": "Spark SQL has no map_union",
    "TestAggregationsInRowPatternMatching/testTentativeLabelMatch/05": "Spark SQL says any_value, not arbitrary",
}


def cases() -> list[dict[str, Any]]:
    """All cases that can apply; none where the file is not there."""
    return [case for case in shared_cases("match_recognize") if case["id"] not in NOT_IN_SPARK]


def comparable(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(_value(value) for value in row) for row in rows)


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_value(item) for item in value)
    if isinstance(value, (Decimal, float)) and not isinstance(value, bool):
        return round(float(value), 9)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
