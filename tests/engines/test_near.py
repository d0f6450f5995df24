"""Events far from those of a step that every match needs can be left out: the rows stay the same."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import eventide as ev
from eventide.engines.file_input import describe_files
from eventide.engines.local import run as local
from eventide.plan.physical import Needed, Physical
from eventide.plan.reduce import Sample, reduce_by, reducing
from eventide.runtime.block import MASK, TS, numpy_int64
from eventide.runtime.costs import costing
from eventide.runtime.hashes import hash_rows
from eventide.runtime.near import Near
from tests.budget import QUICK, budgeted
from tests.families.events.cases import Case, cases
from tests.families.events.pattern_cases import ALL, PatternCase, pattern_cases
from tests.families.events.test_pattern_rows import check, run

NEXT = "PATTERN SEQ(R r, X x) WHERE [key] SEMANTICS next WITHIN 3 seconds RETURN key, r.ts AS r_ts, x.ts AS x_ts"
BETWEEN = "PATTERN SEQ(A a, NOT B b, R r) WHERE [key] WITHIN 3 seconds RETURN key, a.ts AS a_ts, r.ts AS r_ts"
BEHIND = "PATTERN SEQ(X x, R r, NOT B b) WHERE [key] WITHIN 3 seconds RETURN key, x.ts AS x_ts, r.ts AS r_ts"
CONTIGUOUS = "PATTERN SEQ(A a, R r) WHERE [key] SEMANTICS contiguous WITHIN 3 seconds RETURN key, a.ts AS a_ts"
TOGETHER = "PATTERN AND(R r, X x) WITHIN 50 ms RETURN r.ts AS r_ts, x.ts AS x_ts"
DEFINED = {"A": "kind = 'A'", "B": "kind = 'B'", "R": "kind = 'R' AND value < 60", "X": "true"}


def asked(text: str, **options: Any) -> ev.Query:
    """A query with the definitions of the types that it names."""
    defined = [f"{name} AS {meaning}" for name, meaning in DEFINED.items() if f"{name} {name.lower()}" in text]
    return ev.query(f"DEFINE {', '.join(defined)} {text}", **options)


def only_needed(number: int) -> Any:
    """Inside, the embedded engine matches no event that is `reach_us` or more from all of a needed step's events."""
    whole = local.read_blocks

    def near(physical: Physical, *given: Any) -> Iterator[pa.Table]:
        for block in whole(physical, *given):
            yield block if physical.needed is None else block.filter(is_near(physical, physical.needed, block))

    def is_near(physical: Physical, needed: Needed, block: pa.Table) -> pa.Array:
        step = needed.steps[number % len(needed.steps)]
        partition = hash_rows(block, physical.intake.layout.partition).tolist()
        times, masks = numpy_int64(block.column(TS)).tolist(), numpy_int64(block.column(MASK)).tolist()
        at = [(p, t) for p, t, mask in zip(partition, times, masks, strict=True) if mask & step.bit]
        reached = [
            any(p == other and abs(t - when) < needed.reach_us for other, when in at)
            for p, t in zip(partition, times, strict=True)
        ]
        return pa.array(reached, pa.bool_())

    return patch.object(local, "read_blocks", near)


@budgeted(**QUICK)
@given(pattern_cases(kinds=[*ALL, "and"], max_per_group=6), st.integers(0, 5))
def test_what_lies_near_a_needed_event_is_enough_for_the_oracles_rows_of_a_pattern(
    case: PatternCase, number: int
) -> None:
    assume(case.oracle.within is not None)
    with only_needed(number):
        check(case, run(case))


@budgeted(**QUICK)
@given(cases(), st.integers(0, 5))
def test_what_lies_near_a_needed_event_is_enough_for_the_oracles_rows_of_a_sequence(case: Case, number: int) -> None:
    assume(case.oracle.within is not None)
    with only_needed(number):
        assert case.found(ev.query(case.text, **case.options).run(case.table())) == case.expected()


pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(-60, 60)), max_size=12)


@budgeted(**QUICK)
@given(pairs, pairs, st.integers(1, 20))
def test_what_is_near_is_found_whatever_the_hashes(
    needed: list[tuple[int, int]], others: list[tuple[int, int]], reach: int
) -> None:
    def arrays(given: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
        return np.array([p for p, _ in given], np.uint64), np.array([t for _, t in given], np.int64)

    near = Near.to(*arrays(needed), reach)
    kept = near.holds(*arrays(others))
    ranges = near.ranges_us(3)
    for (partition, at), is_kept in zip(others, kept, strict=True):
        if any(p == partition and abs(t - at) < reach for p, t in needed):
            assert is_kept
        assert near.reaches(at, at) == any(abs(t - at) < reach for _, t in needed)
        if near.reaches(at, at):
            assert any(first <= at <= last for first, last in ranges)
    assert len(ranges) <= 3


def test_most_events_are_left_out_where_few_are_needed() -> None:
    hashes, times = np.arange(1_000, dtype=np.uint64), np.arange(1_000, dtype=np.int64) * 1_000
    near = Near.to(hashes[:10], times[:10], 5)
    assert 10 <= np.count_nonzero(near.holds(hashes, times)) <= 150


def needed_names(text: str, **options: Any) -> list[str] | None:
    schema = pa.schema([("ts", pa.timestamp("us")), ("kind", pa.string()), ("value", pa.float64())])
    found = ev.query(text, type="kind", **options).plan(schema).needed
    return None if found is None else [step.name for step in found.steps]


def test_only_steps_that_every_match_has_are_needed() -> None:
    assert needed_names("PATTERN SEQ(A a, NOT B b, C c+, D d?, OR(E e, F f)) WITHIN 5 seconds RETURN a.ts") == [
        "a",
        "c",
    ]
    assert needed_names("PATTERN SEQ(OR(A a, B b), C c*) WITHIN 5 seconds RETURN a.ts") is None
    assert needed_names("PATTERN AND(A a, B b) WITHIN 5 seconds RETURN a.ts") == ["a", "b"]
    # Without a window, an event however far away may be part of a match, or forbid it.
    assert needed_names("PATTERN SEQ(A a, B b) RETURN a.ts") is None


def test_an_absence_inside_an_absence_reaches_further() -> None:
    schema = pa.schema([("ts", pa.timestamp("us")), ("kind", pa.string())])
    text = "PATTERN SEQ(A a, NOT SEQ(B b, NOT C c), D d) WITHIN 2 seconds RETURN a.ts"
    needed = ev.query(text, type="kind").plan(schema).needed
    assert needed is not None and needed.reach_us >= 4_000_000


def test_a_rare_step_is_chosen_where_most_events_are_wanted() -> None:
    schema = pa.schema(
        [("ts", pa.timestamp("us")), ("kind", pa.string()), ("value", pa.float64()), ("key", pa.int64())]
    )
    physical = asked(NEXT).plan(schema)

    def step(n_rare: int, n_wanted: int, n_rows: int) -> str | None:
        found = reduce_by(physical, Sample(n_rows, np.array([3] * n_rare + [2] * (n_wanted - n_rare), np.int64)))
        return None if found is None else found.step.name

    assert step(1, 1_000, 1_000) == "r"
    assert step(0, 1_000, 1_000) == "r"
    assert step(20, 1_000, 1_000) is None
    assert step(0, 100, 1_000) is None
    with reducing(True):
        assert step(20, 1_000, 1_000) == "r"
    with reducing(False):
        assert step(0, 1_000, 1_000) is None


def events(n: int = 4_000) -> pa.Table:
    """Events from before 1970 on, of a few keys, one of which is NULL."""
    draw = np.random.default_rng(3)
    times = np.sort(draw.integers(-30_000_000, 30_000_000, n))
    kinds = draw.choice(list("ABCR"), n, p=[0.4, 0.2, 0.39, 0.01])
    keys = draw.integers(0, 6, n)
    return pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us")),
            "key": pa.array([None if key == 5 else f"k{key}" for key in keys], pa.string()),
            "kind": pa.array(kinds.tolist(), pa.string()),
            "value": pa.array(draw.integers(0, 100, n)),
        }
    )


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


@pytest.mark.spark
@reducing(True)
def test_spark_returns_the_same_rows_of_what_is_near(spark: Any, tmp_path: Path) -> None:
    table, path = events(), str(tmp_path / "a.parquet")
    pq.write_table(table, path, row_group_size=250)
    frame = spark.read.parquet(path)
    for text in (NEXT, BETWEEN, BEHIND, CONTIGUOUS, TOGETHER):
        query = asked(text)
        expected = rows_of(query.run(table))
        assert expected
        for events_in, more in ((frame, {}), (path, {"engine": "spark", "spark": spark})):
            found = query.run(events_in, **more).toArrow()
            assert "events near" in query.last_run.reason and " of r" in query.last_run.reason
            assert rows_of(found.cast(query.run(table).schema)) == expected


@pytest.mark.spark
@reducing(True)
def test_spark_finds_what_is_near_whatever_the_type_of_the_time(spark: Any) -> None:
    table = events(1_500)
    us = table.column("ts").cast(pa.int64())
    seconds = pa.array([value // 1_000_000 for value in us.to_pylist()])
    days = pa.array([dt.date(1970, 1, 1) + dt.timedelta(value) for value in seconds.to_pylist()])
    for times, options, within in (
        (us.cast(pa.timestamp("us", "UTC")), {}, "2 seconds"),
        (seconds, {"ts_unit": "s"}, "2 seconds"),
        (days, {}, "2 days"),
    ):
        timed = table.set_column(0, "ts", times)
        query = asked(NEXT.replace("3 seconds", within), **options)
        found = query.run(spark.createDataFrame(timed)).toArrow()
        assert "events near" in query.last_run.reason
        assert sorted(map(repr, found.to_pylist())) == sorted(
            map(repr, query.run(timed).cast(found.schema).to_pylist())
        )
        assert found.num_rows


@pytest.mark.spark
@reducing(True)
def test_an_event_without_a_time_is_told_although_nothing_is_near_it(spark: Any) -> None:
    table = events(400)
    times = table.column("ts").to_pylist()
    times[7] = None
    frame = spark.createDataFrame(table.set_column(0, "ts", pa.array(times, pa.timestamp("us"))))
    query = asked(NEXT)
    with pytest.raises(Exception, match="an event has no time"):
        query.run(frame).toArrow()
    dropping = asked(NEXT, on_bad_event="drop")
    assert dropping.run(frame).count()
    assert "events near" in dropping.last_run.reason
    assert dropping.metrics()["dropped_events"] == 1


@pytest.mark.spark
@reducing(True)
def test_what_may_change_between_two_reads_is_read_once(spark: Any) -> None:
    frame = spark.createDataFrame(events(400))
    query = asked(NEXT)
    query.run(frame.sample(0.5))
    assert query.last_run.reason == "DataFrame"
    query.run(frame.repartition(3))
    assert query.last_run.reason == "DataFrame"
    query.run(frame.where("value >= 0"))
    assert "events near" in query.last_run.reason
    with costing(most_near=0):
        query.run(frame)
        assert query.last_run.reason == "DataFrame"


def test_explain_tells_that_only_events_near_a_rare_step_are_kept(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    pq.write_table(events(), path)
    physical = asked(NEXT).plan(pq.read_schema(path), "spark")
    assert "near" not in str(describe_files([path], physical))
    with costing(few_rows=0):
        assert str(describe_files([path], physical)).endswith(
            "only events less than about 3 seconds from one of r are kept: "
            "0.8% of a sample's wanted events are some of r"
        )
