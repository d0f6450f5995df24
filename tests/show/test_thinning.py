"""Less to draw, with the same outline."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eventide.show.timeline.thinning import every_nth, join_bars, outline, rows_of
from tests.budget import budgeted

intervals = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), min_size=1, max_size=40).map(
    lambda pairs: sorted((start, start + length) for start, length in pairs)
)


@budgeted()
@given(intervals)
def test_rows_hold_intervals_that_do_not_overlap_and_are_as_few_as_can_be(found: list[tuple[int, int]]) -> None:
    rows = rows_of([start for start, _ in found], [end for _, end in found])
    for row in set(rows):
        own = [interval for interval, its in zip(found, rows, strict=True) if its == row]
        assert all(before[1] <= after[0] for before, after in pairwise(own))
    at_once = max(sum(start <= t < end for start, end in found) for t in range(81))
    # Instants take no time but stand somewhere: only they may need a row more.
    instants = any(start == end for start, end in found)
    assert max(rows) + 1 <= max(1, at_once) + instants


@budgeted()
@given(intervals, st.integers(1, 12))
def test_bars_are_no_more_than_the_limit_and_cover_all_intervals(found: list[tuple[int, int]], limit: int) -> None:
    starts, ends = (np.array(each, dtype=float) for each in zip(*found, strict=True))
    rows = np.array(rows_of(starts.tolist(), ends.tolist()))
    bars = join_bars(starts, ends, rows, limit)
    assert bars.first.size <= max(limit, len(set(rows.tolist())))
    covered = [
        any(
            row == rows[i] and starts[first] <= starts[i] and ends[i] <= ends[last]
            for first, last, row in zip(bars.first, bars.last, bars.row, strict=True)
        )
        for i in range(starts.size)
    ]
    assert all(covered)
    if starts.size <= limit:
        assert (bars.first == bars.last).all() and bars.first.size == starts.size


def test_the_widest_gaps_stay() -> None:
    starts = np.array([0.0, 11.0, 30.0, 32.0])
    bars = join_bars(starts, starts + 1, np.zeros(4, int), 2)
    assert (bars.first.tolist(), bars.last.tolist()) == ([0, 2], [1, 3])


@budgeted()
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=200), st.integers(1, 50))
def test_every_nth_is_in_order_starts_with_the_first_and_keeps_to_the_limit(times: list[int], limit: int) -> None:
    drawn, n = every_nth(np.array(times), limit)
    assert drawn.size <= limit and drawn.tolist() == sorted(times)[::n]


@budgeted()
@given(st.lists(st.one_of(st.floats(-9, 9), st.just(float("nan"))), min_size=1, max_size=120), st.integers(1, 20))
def test_an_outline_keeps_the_lowest_and_the_highest_value(values: list[float], n: int) -> None:
    x, y = np.arange(len(values), dtype=float), np.array(values)
    xs, ys = outline(x, y, n)
    assert xs.size <= max(2 * n, len(values) if len(values) <= 2 * n else 0)
    assert (np.diff(xs) > 0).all()
    if not np.isnan(y).all():
        assert np.nanmin(ys) == np.nanmin(y) and np.nanmax(ys) == np.nanmax(y)


def test_values_at_one_instant_have_an_outline() -> None:
    xs, ys = outline(np.full(10, 5.0), np.arange(10.0), 2)
    assert xs.tolist() == [5.0, 5.0] and ys.tolist() == [0.0, 9.0]
