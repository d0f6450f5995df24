"""Random intervals: the product finds the pairs of the oracle, in one batch and in micro-batches."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as ev
from eventide.families.allen.lower import Relating
from eventide.families.registry import family_named, family_of
from eventide.lang.relations import RELATIONS, inverse, mask_of, names_of
from eventide.plan.options import Options
from eventide.runtime.kernels.relations import relation as bit_of
from tests.budget import QUICK, budgeted
from tests.families.allen.cases import Case, cases, found
from tests.families.allen.micro_batches import play, play_parts
from tests.oracle.allen import relation


@budgeted(**QUICK)
@given(case=cases())
def test_the_embedded_engine_finds_the_oracles_pairs(case: Case) -> None:
    result = case.run(*case.tables(), ts_unit="s")
    assert found(result.to_pylist()) == case.expected()


@budgeted(**QUICK)
@given(
    case=cases(bounded=True),
    borders=st.lists(st.integers(0, 16), max_size=4),
    disorder=st.randoms(use_true_random=False),
)
def test_micro_batches_find_the_pairs_of_one_batch(case: Case, borders: list[int], disorder: Any) -> None:
    assert found(play(case, borders, disorder)) == case.expected()


@pytest.mark.parametrize("relations", [RELATIONS, ("during", "overlapped-by"), ("after", "finishes"), ("overlaps",)])
def test_long_tables_are_found_alike(relations: tuple[str, ...]) -> None:
    """Long enough that runs of runs of intervals are passed over."""
    random = Random(7)

    def some(size: int, names: tuple[str, str], **more: Any) -> tuple[dict[str, Any], ...]:
        rows = []
        for i in range(size):
            start = random.randrange(2_000)
            length = random.choice([0, 1, 5, 5, 20, 20, 400])
            rows.append({"key": "a", names[0]: start, names[1]: start + length} | {k: v(i) for k, v in more.items()})
        return tuple(rows)

    left, right = some(60, ("from", "to"), n=int), some(700, ("since", "until"), word=str)
    for within in (None, 60):
        case = Case(left, right, relations, within, True)
        # Neighbouring times, so that every edge of a range is met.
        asked = case.arguments | {"ts_unit": "us", "within": within and f"{within} microseconds"}
        is_same = found(ev.allen(*case.tables(), **asked).to_pylist()) == case.expected()
        assert is_same, f"{case.arguments}: the lists are too long to show"


def test_long_runs_are_passed_over_up_to_the_first_that_is_wanted() -> None:
    right = [{"since": i + 1, "until": i + (5_000 if i < 256 else 2)} for i in range(600)]
    times: Any = {"left_times": ("from", "to"), "right_times": ("since", "until")}
    result = ev.allen([{"from": 1, "to": 3_000}], right, "contains", ts_unit="us", **times)
    assert result.column("right_since").to_pylist() == list(range(257, 601))


@budgeted()
@given(s=st.integers(0, 5), e=st.integers(0, 5), t=st.integers(0, 5), u=st.integers(0, 5))
def test_exactly_one_relation_holds_and_its_inverse_the_other_way_round(s: int, e: int, t: int, u: int) -> None:
    s, e, t, u = *sorted((s, e)), *sorted((t, u))
    held = relation(s, e, t, u)
    assert names_of(inverse(mask_of([held]))) == (relation(t, u, s, e),)
    if s < e and t < u:
        assert RELATIONS[bit_of(s, e, t, u).bit_length() - 1] == held


@budgeted(**QUICK)
@given(case=cases(bounded=True, most=12), within=st.integers(1, 3), cuts=st.lists(st.integers(0, 16), max_size=4))
def test_slices_of_time_find_every_pair_once(case: Case, within: int, cuts: list[int]) -> None:
    case = Case(case.left, case.right, case.relations, within, False, case.points)
    assert found(play_parts(case, cuts)) == case.expected()


@pytest.mark.parametrize("name", ["before", "after"])
def test_a_pair_across_the_border_of_slices_is_found(name: str) -> None:
    """A slice that begins at second sixteen looks back on the two before it."""
    early, late = (14, 14), (15, 16)
    left, right = (early, late) if name == "before" else (late, early)
    case = Case(
        ({"key": "a", "from": left[0], "to": left[1], "n": 1},),
        ({"key": "a", "since": right[0], "until": right[1], "word": "x"},),
        (name,),
        2,
        False,
    )
    assert len(play_parts(case, [16])) == 1


def test_only_bounded_pairs_are_sliced() -> None:
    left, right = (table.schema for table in Case((), (), (), 3, False).tables())
    times = {"left_times": ("from", "to"), "right_times": ("since", "until")}
    for window in (None, 5):
        spec = family_named("allen").prepare(Relating(1, window, (), **times), Options(ts_unit="s"), (left, right)).spec
        assert isinstance(family_of(spec).slicing(spec), str) == (window is None)
