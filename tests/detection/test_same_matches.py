"""Random builder patterns over random events: the product finds what the oracle finds."""

from __future__ import annotations

import os
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eventide as ev
from tests.detection.cases import Case, Found, cases, found
from tests.few_steps import few_steps

WITHOUT_JIT = os.environ.get("NUMBA_DISABLE_JIT") == "1"


def check(case: Case, run: Callable[[Case], ev.Detection]) -> tuple[Found, Found]:
    """Compares, and returns what was expected."""
    result = run(case)
    matches, timeouts = case.expected()
    assert found(result.matches.to_pylist()) == matches
    assert found(result.timeouts.to_pylist()) == timeouts
    return matches, timeouts


@settings(max_examples=300 if WITHOUT_JIT else 20, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_the_embedded_engine_finds_the_oracles_matches(case: Case) -> None:
    check(case, lambda case: case.detect(case.table()))


@settings(max_examples=60 if WITHOUT_JIT else 4, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(), n_steps=st.integers(1, 5))
def test_a_search_that_pauses_after_every_few_steps_finds_the_oracles_matches(case: Case, n_steps: int) -> None:
    with few_steps(n_steps):
        check(case, lambda case: case.detect(case.table()))
