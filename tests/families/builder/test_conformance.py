"""The shared event pattern cases, embedded and by the oracle."""

from __future__ import annotations

from typing import Any

import pytest

import eventide as ev
from tests.families.builder.conformance import arguments, cases, expected, found, found_by_oracle, to_pattern, to_table

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_embedded(case: dict[str, Any]) -> None:
    pattern = to_pattern(case)
    result = ev.detect(to_table(case), pattern, **arguments(case))
    assert found(result.matches.to_pylist(), pattern) == expected(case)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_oracle(case: dict[str, Any]) -> None:
    assert found_by_oracle(case) == expected(case)
