"""Slices of time, derived apart: what they leave and what they have found are the intervals of the oracle."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eventide.families.intervals.combine import IntervalCombiner
from eventide.families.intervals.settling import stretches, why_not_settled
from eventide.families.registry import family_of, make_operator
from eventide.runtime.block import MIN_US
from tests.budget import QUICK, budgeted
from tests.families.intervals.cases import SECOND_US, Case, cases, found
from tests.families.intervals.test_same_intervals import everything
from tests.micro_batches import Stream


@budgeted(**QUICK)
@given(
    case=cases(),
    borders=st.lists(st.integers(0, 25), max_size=4),
    shared=st.lists(st.tuples(st.integers(0, 25), st.integers(0, 4)), max_size=2),
)
@example(case=everything(), borders=[4, 9], shared=[(6, 1)])
def test_slices_put_together_have_the_intervals_of_the_oracle(
    case: Case, borders: list[int], shared: list[tuple[int, int]]
) -> None:
    """Two tasks may have events of shared times: there nothing is derived."""
    physical = case.physical(detects=True)
    stream = Stream(physical)
    block = stream._block(case.table())
    spec: Any = physical.spec
    combiner, operator = IntervalCombiner(spec), make_operator(spec)
    if why_not_settled(spec) is not None or not block.num_rows:
        return
    common = [(first * SECOND_US, (first + length) * SECOND_US) for first, length in shared]
    rows: list[dict[str, Any]] = []
    for part in cut(block, [border * SECOND_US for border in borders], common):
        for made in combiner.combine(part, common):
            rows += stream._read(operator.process(made, MIN_US))
    rows += stream._read(operator.finish())
    assert found(rows) == case.expected(detects=True)


def cut(block: pa.Table, instants: list[int], common: list[tuple[int, int]]) -> list[pa.Table]:
    """Slices between instants; every other event of common times goes to a slice of its own."""
    numbers = []
    for row, us in enumerate(block.column("ts").to_pylist()):
        is_common = any(first <= us <= last for first, last in common)
        numbers.append(-1 if is_common and row % 2 else sum(us >= instant for instant in instants))
    slices = np.array(numbers)
    return [block.filter(pa.array(slices == each)) for each in sorted(set(numbers))]


def threshold(n: int) -> Case:
    events = tuple({"seq": i, "ts": i, "key": 0, "kind": "a", "x": i % 10, "y": 0.0} for i in range(n))
    return Case(events, ("x >= 2",), ("sum(x)",), True, partition=False)


def test_what_a_slice_leaves_is_little() -> None:
    physical = threshold(1000).physical()
    combiner = IntervalCombiner(physical.spec)  # type: ignore[arg-type]
    block = Stream(physical)._block(threshold(1000).table())
    left, *derived = combiner.combine(block)
    # Up to the first event that ends any run, and behind the last one.
    assert [us // SECOND_US for us in left.column("ts").to_pylist()] == [0, *range(992, 1000)]
    assert sum(each.num_rows for each in derived) == 99
    assert combiner.frequent_share(block) == 0.991


@pytest.mark.parametrize(("n_stretches", "expected"), [(1, 1), (3, 3), (50, 10)])
def test_stretches_end_with_an_event_that_ends_any_run(n_stretches: int, expected: int) -> None:
    case = threshold(100)
    spec: Any = case.physical().spec
    mask = np.array([int(event["x"] >= 2) for event in case.events])
    shares = stretches(spec, mask, np.empty(0, np.int64), mask.size, n_stretches)
    assert len(shares) <= expected and shares[0][0] == 0 and shares[-1][1] == 100
    assert all(mask[high - 1] == 0 for _, high in shares[:-1])
    assert all(one[1] == other[0] for one, other in pairwise(shares))
    assert n_stretches == 1 or len(shares) > 1


def test_partitions_are_worked_off_apart_in_place_of_slices() -> None:
    spec: Any = everything().physical().spec
    assert family_of(spec).slicing(spec) == "partitions are worked off apart"


def test_runs_that_no_event_alone_ends_stay_in_one_piece() -> None:
    case = Case(threshold(10).events, ("x >= prev(x)",), (), True, partition=False)
    spec: Any = case.physical().spec
    assert family_of(spec).slicing(spec) == "no event alone ends a run: the condition is about the run only"
    assert stretches(spec, np.empty(0, np.int64), np.empty(0, np.int64), 10, 4) == [(0, 10)]


def test_of_shared_times_every_event_is_left() -> None:
    """Another task may have events between them, also where one of these alone ends whatever is open."""
    physical = threshold(100).physical()
    combiner = IntervalCombiner(physical.spec)  # type: ignore[arg-type]
    block = Stream(physical)._block(threshold(100).table())
    left, *_ = combiner.combine(block, [(30 * SECOND_US, 54 * SECOND_US)])
    seconds = {us // SECOND_US for us in left.column("ts").to_pylist()}
    assert seconds >= set(range(30, 55))
    assert len(seconds) < 60
