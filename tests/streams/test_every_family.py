"""Every query family in batch and on a stream, with any borders and any order of arrival: the same rows."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as ev
from tests.budget import QUICK, budgeted
from tests.engines.plans import micros, shuffle_within, sort_rows
from tests.families.allen import micro_batches as allen
from tests.families.allen.cases import Case, found
from tests.micro_batches import Stream
from tests.streams.families import FAMILIES, LATENESS_US, Family, all_events


def comparable(rows: list[dict[str, Any]], columns: tuple[str, ...] | None) -> list[tuple[object, ...]]:
    """Named values, so that the order of columns does not matter, and a row that lacks one is another row."""
    names = [name for row in rows[:1] for name in sorted(columns or row)]
    return sort_rows(tuple((name, str(row[name])) for name in names) for row in rows)


def stream_rows(family: Family, events: pa.Table, borders: list[int], seed: int) -> list[dict[str, Any]]:
    """What the watermark decides, micro-batch by micro-batch; each restores the state of the one before."""
    arriving = shuffle_within(events, LATENESS_US, seed)
    times_us, n = micros(arriving), arriving.num_rows
    stream = Stream(family.plan(events.schema))
    for start, stop in pairwise([0, *sorted(min(border, n) for border in borders), n]):
        if stop:
            stream.step(arriving.slice(start, stop - start), max(times_us[:stop]) - LATENESS_US)
    assert stream.operator().late_events() == 0
    return [row for row in stream.rows if family.keep(row)]


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@budgeted(**QUICK)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 100),
    borders=st.lists(st.integers(0, 100), max_size=5),
)
def test_micro_batches_give_the_rows_of_a_batch(family: Family, seed: int, n: int, borders: list[int]) -> None:
    events = all_events(n, seed)
    batch = family.run(events).to_pylist()
    assert comparable(stream_rows(family, events, borders, seed), family.columns) == comparable(batch, family.columns)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_there_is_something_to_find(family: Family) -> None:
    assert family.run(all_events(150, 1)).num_rows > 1


def two_tables(seed: int, n: int) -> Case:
    """Intervals that begin with an A or a B and last as many seconds as the amount says."""
    rows = [row for row in all_events(n, seed).to_pylist() if row["kind"] in "AB"]
    spans = [(int(row["ts"].timestamp()), (row["amount"] or 0) % 9, row) for row in rows]
    left = [{"key": row["user"], "from": s, "to": s + d, "n": i} for i, (s, d, row) in enumerate(spans)]
    right = [{"key": row["user"], "since": s, "until": s + d, "word": str(i)} for i, (s, d, row) in enumerate(spans)]
    kinds = [row["kind"] for row in rows]
    one = tuple(row for row, kind in zip(left, kinds, strict=True) if kind == "A")
    other = tuple(row for row, kind in zip(right, kinds, strict=True) if kind == "B")
    return Case(one, other, ("before", "meets", "overlaps", "during", "contains", "after"), 20, True)


@budgeted(**QUICK)
@given(seed=st.integers(0, 10_000), n=st.integers(20, 120), borders=st.lists(st.integers(0, 80), max_size=5))
def test_related_intervals_of_micro_batches_are_those_of_a_batch(seed: int, n: int, borders: list[int]) -> None:
    case = two_tables(seed, n)
    batch = case.run(*case.tables(), ts_unit="s").to_pylist()
    assert found(allen.play(case, borders, random.Random(seed))) == found(batch)


def test_situations_of_a_stream_are_detected_as_early_as_in_a_batch() -> None:
    """Not only with the same `detected_at` in the row: the row is there as soon as the watermark is at that time."""
    family = next(family for family in FAMILIES if family.name == "situations")
    made = all_events(200, 4).slice(0, 200)
    # An event at the watermark is late, so each has a time of its own.
    events = made.take([i for i, (one, other) in enumerate(pairwise([-1, *micros(made)])) if one < other])
    stream = Stream(family.plan(events.schema))
    seen = []
    for i in range(events.num_rows):
        one = events.slice(i, 1)
        seen += [(micros(one)[0], row) for row in stream.step(one, micros(one)[0])]
    assert len(seen) > 5
    for time_us, row in seen:
        assert int(row["detected_at"].timestamp() * 1_000_000 + 0.5) == time_us
    batch = family.run(events).to_pylist()
    decided = [row for row in batch if row["detected_at"] <= events.column("ts")[-1].as_py()]
    assert comparable([row for _, row in seen], None) == comparable(decided, None)


def test_a_statement_and_its_clause_find_the_same() -> None:
    from tests.streams.families import STATEMENT

    events = all_events(150, 3)
    clause = next(family for family in FAMILIES if family.name == "MATCH_RECOGNIZE, one row")
    inner = [row for row in clause.run(events).to_pylist() if row["m"] > 1]
    outer = ev.sql(STATEMENT, events=events).to_pylist()
    names = ("user", "first_ts", "n", "top")
    assert comparable(outer, names) == comparable(inner, names)
    assert all(row["twice"] == 2 * row["n"] for row in outer)
