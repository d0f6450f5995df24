"""Random joins: the product finds the results of the oracle, in one batch, in micro-batches and in slices of time."""

from __future__ import annotations

from hypothesis import given

from tests.budget import QUICK, budgeted
from tests.families.joins.cases import Case, cases


@budgeted(**QUICK)
@given(case=cases())
def test_the_embedded_engine_finds_the_oracles_results(case: Case) -> None:
    assert case.run() == case.expected()
