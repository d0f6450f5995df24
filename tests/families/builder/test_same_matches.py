"""Random builder patterns over random events: the product finds what the oracle finds."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

import eventide as ev
from tests.budget import QUICK, budgeted
from tests.families.builder.cases import Case, Found, cases, found
from tests.few_steps import few_steps


def check(case: Case, run: Callable[[Case], ev.Detection]) -> tuple[Found, Found]:
    """Compares, and returns what was expected."""
    result = run(case)
    matches, timeouts = case.expected()
    assert found(result.matches.to_pylist()) == matches
    assert found(result.timeouts.to_pylist()) == timeouts
    return matches, timeouts


@budgeted(**QUICK)
@given(case=cases())
def test_the_embedded_engine_finds_the_oracles_matches(case: Case) -> None:
    check(case, lambda case: case.detect(case.table()))


@budgeted(**QUICK)
@given(case=cases(), n_steps=st.integers(1, 5))
def test_a_search_that_pauses_after_every_few_steps_finds_the_oracles_matches(case: Case, n_steps: int) -> None:
    with few_steps(n_steps):
        check(case, lambda case: case.detect(case.table()))
