"""Random joins: the product finds the results of the oracle, in one batch, in micro-batches and in slices of time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.budget import QUICK, budgeted
from tests.families.joins.cases import Case, cases, found
from tests.families.joins.micro_batches import play, play_parts


@budgeted(**QUICK)
@given(case=cases())
def test_the_embedded_engine_finds_the_oracles_results(case: Case) -> None:
    assert case.run() == case.expected()


@budgeted(**QUICK)
@given(
    case=cases(bounded=True),
    borders=st.lists(st.integers(0, 16), max_size=4),
    disorder=st.randoms(use_true_random=False),
)
def test_micro_batches_find_the_results_of_one_batch(case: Case, borders: list[int], disorder: Any) -> None:
    case = replace(case, closes=True)
    assert found(play(case, borders, disorder)) == case.expected()


@budgeted(**QUICK)
@given(case=cases(bounded=True, most=12), cuts=st.lists(st.integers(0, 16), max_size=4))
def test_slices_of_time_find_every_result_once(case: Case, cuts: list[int]) -> None:
    case = replace(case, closes=True)
    assert found(play_parts(case, cuts)) == case.expected()
