"""Slices of time, derived apart: the events that they leave tell the same situations, wherever the borders are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as ev
from eventide.engines.file_input import choose_for_files
from eventide.families.registry import family_of, make_operator
from eventide.families.situations.spec import SituationSpec
from eventide.families.situations.stretches import Stretches
from eventide.runtime.block import MIN_US
from eventide.runtime.costs import costing
from eventide.runtime.slicing import Slicing
from tests.budget import QUICK, budgeted
from tests.families.situations.cases import situation_cases
from tests.families.situations.compare import SECOND_US, SituationCase
from tests.families.situations.lanes import lanes, table
from tests.families.situations.test_same_matches import SEVERAL
from tests.micro_batches import Stream


@budgeted(**QUICK)
@given(
    case=situation_cases(groups=SEVERAL) | situation_cases(groups=SEVERAL, focus="gaps", symbols=(2, 4)),
    borders=st.lists(st.integers(0, 30), max_size=4),
    shared=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), max_size=2),
)
def test_slices_put_together_have_the_matches_of_the_oracle(
    case: SituationCase, borders: list[int], shared: list[tuple[int, int]]
) -> None:
    """Two tasks may have events of shared times: there nothing is left out."""
    physical = ev.query(case.text, **case.options).plan(case.table().schema)
    stream = Stream(physical)
    block = stream._block(case.table())
    if not block.num_rows:
        return
    first_us = pc.min(block.column("ts")).as_py()
    instants = sorted(first_us + border * SECOND_US for border in borders)
    common = [(first_us + start * SECOND_US, first_us + (start + length) * SECOND_US) for start, length in shared]
    combiner, operator = _slicing(physical.spec).combiner(), make_operator(physical.spec)
    for part in _cut(block, instants, common):
        for made in combiner.combine(part, common):
            assert not list(operator.process(made, MIN_US))
    rows = stream._read(operator.finish())
    if not rows:
        assert not case.expected, f"{case}nothing, and the oracle has {case.expected}"
        return
    case.check(pa.Table.from_pylist(rows), types=False)


@budgeted(**QUICK)
@given(
    case=situation_cases(groups=SEVERAL) | situation_cases(groups=SEVERAL, focus="gaps", symbols=(2, 4)),
    borders=st.lists(st.integers(0, 30), max_size=3),
    cuts=st.lists(st.integers(-1, 31), min_size=1, max_size=4, unique=True),
)
def test_stretches_matched_apart_have_the_matches_of_the_oracle_in_order_of_time(
    case: SituationCase, borders: list[int], cuts: list[int]
) -> None:
    """Every slice sends each stretch what it needs; no stretch sees another's matches."""
    physical = ev.query(case.text, **case.options).plan(case.table().schema)
    stream, spec = Stream(physical), physical.spec
    assert isinstance(spec, SituationSpec)
    if spec.complete and spec.has_gaps:
        assert Stretches(spec).count(10**8, 500, 10**9) == 1
        return
    block = stream._block(case.table())
    if not block.num_rows:
        return
    first_us = pc.min(block.column("ts")).as_py()
    combiner = Stretches(spec).combiner()
    instants = sorted(first_us + border * SECOND_US for border in borders)
    made = [each for part in _cut(block, instants, []) for each in combiner.combine(part)]
    rows: list[dict[str, Any]] = []
    for stretch in Stretches(spec).parts(sorted(first_us + cut * SECOND_US for cut in cuts)):
        sent = pa.concat_tables([stretch.cut(each) for each in made])
        rows += stream._read(stretch.run(make_operator(spec), sent))
    if not rows:
        assert not case.expected, f"{case}nothing, and the oracle has {case.expected}"
        return
    case.check(pa.Table.from_pylist(rows), types=False)
    detected = [row["detected_at"] for row in rows]
    assert detected == sorted(detected), f"{case}{detected}"


def _slicing(spec: Any) -> Slicing:
    made = family_of(spec).slicing(spec)
    assert isinstance(made, Slicing)
    return made


def _cut(block: pa.Table, instants: list[int], common: list[tuple[int, int]]) -> list[pa.Table]:
    """Slices between instants; every other event of common times goes to a slice of its own."""
    ts = block.column("ts").to_pylist()
    numbers: list[Any] = []
    for row, us in enumerate(ts):
        is_common = any(first <= us <= last for first, last in common)
        numbers.append(-1 if is_common and row % 2 else sum(us >= instant for instant in instants))
    return [
        block.take(pa.array([row for row, number in enumerate(numbers) if number == each], pa.int64()))
        for each in sorted(set(numbers))
    ]


def test_what_a_slice_leaves_out_is_no_gap() -> None:
    text = "DEFINE A AS a MAX GAP 2 seconds, B AS b PATTERN A meets B"
    events = table(lanes(a=".########.", b=".........#"))
    physical = ev.query(text, ts_unit="s").plan(events.schema)
    stream, operator = Stream(physical), make_operator(physical.spec)
    combiner = _slicing(physical.spec).combiner()
    for made in combiner.combine(stream._block(events)):
        assert not list(operator.process(made, MIN_US))
    assert [tuple(row.values()) for row in stream._read(operator.finish())] == [(1, 9, 9, None, 9)]


def test_what_is_left_is_little() -> None:
    events = pa.table(
        {"ts": range(1000), "a": [100 <= i < 300 for i in range(1000)], "b": [i >= 250 for i in range(1000)]}
    )
    text = "DEFINE A AS a FOR AT LEAST 9 seconds, B AS b PATTERN A overlaps B WITHIN 1 hour RETURN start(A) AS a"
    physical = ev.query(text, ts_unit="s").plan(events.schema)
    combiner = _slicing(physical.spec).combiner()
    (left,) = combiner.combine(Stream(physical)._block(events))
    # The first, begin of A and when it has lasted, begin of B, end of A, the last.
    assert [us // SECOND_US for us in left.column("ts").to_pylist()] == [0, 100, 109, 250, 300, 999]


def _matched_apart(text: str, events: pa.Table, cuts: list[int], **options: Any) -> list[dict[str, Any]]:
    """The rows of stretches of seconds, each with the events that it needs."""
    physical = ev.query(text, ts_unit="s", **options).plan(events.schema)
    stream, spec = Stream(physical), physical.spec
    assert isinstance(spec, SituationSpec)
    block = stream._block(events)
    for stretch in Stretches(spec).parts([cut * SECOND_US for cut in cuts]):
        stream._read(stretch.run(make_operator(spec), stretch.cut(block)))
    return stream.rows


def test_what_began_before_the_window_of_a_stretch_does_not_begin_in_it() -> None:
    on, off = True, False
    events = pa.table({"ts": [0, 16, 18, 24], "a": [on, on, on, off], "b": [off, off, on, on]})
    text = "DEFINE A AS a, B AS b PATTERN A overlaps B WITHIN {} seconds RETURN start(A) AS s"
    assert _matched_apart(text.format(10), events, [20]) == []
    assert _matched_apart(text.format(24), events, [20]) == [{"s": 0, "detected_at": 24}]


def test_the_end_of_the_input_closes_in_the_stretch_in_which_it_lies() -> None:
    events = pa.table(
        {"ts": range(10), "a": [1 <= i < 3 for i in range(10)], "b": [i >= 2 for i in range(10)], "k": ["k"] * 10}
    )
    early = events.slice(0, 5).set_column(3, "k", pa.array(["early"] * 5))
    events = pa.concat_tables([events, early])
    text = "PARTITION BY k DEFINE A AS a, B AS b PATTERN A overlaps B WITHIN 1 hour EMIT ON COMPLETE RETURN k"
    expected = [{"k": "early", "detected_at": 4}, {"k": "k", "detected_at": 9}]
    for options, found in (({"close_at_end": True}, expected), ({}, [])):
        assert ev.query(text, ts_unit="s", **options).run(events).to_pylist() == found
        for cuts in ([5], [3, 9], [4, 20]):
            assert _matched_apart(text, events, cuts, **options) == found, cuts


# --- how many, and on Spark -------------------------------------------------------------------------------------

PAIRS = "DEFINE A AS a, B AS b PATTERN A before B WITHIN 1000 seconds"


def _choice(path: Path, text: str, **options: Any) -> Any:
    query = ev.query(text, **options)
    return choose_for_files([str(path)], query.plan(pq.read_schema(path), "spark"), 4)


@costing(few_rows=0)
def test_time_is_cut_for_matching_where_slices_leave_much_and_keys_do_not_share_it_out(tmp_path: Path) -> None:
    events = ev.sample("situations", 200_000, seed=1, columns=2)
    events = events.append_column("key", pa.array(np.arange(200_000) % 50))
    events = events.append_column("hot", pa.array(np.minimum(np.arange(200_000) % 50, 1) == 1))
    path = tmp_path / "events.parquet"
    pq.write_table(events, path, row_group_size=5_000)
    found = _choice(path, PAIRS.replace("A before B", "A overlaps B"))
    assert (found.form, bool(found.shares), found.parts) == ("slices", True, ())
    assert "one task" in found.describe("")
    often = "DEFINE A AS a AND second(ts) % 2 = 0, B AS b PATTERN A before B WITHIN 1000 seconds"
    found = _choice(path, often)
    assert len(found.parts) == 4
    assert "matched in 4 stretches of time" in found.describe("")
    assert len(_choice(path, often, partition_by="hot").parts) == 4
    assert _choice(path, often, partition_by="key").parts == ()


@pytest.mark.spark
@costing(few_rows=0, few_bytes=0, events_per_stretch=50)
def test_spark_matches_stretches_of_time_and_returns_the_rows_of_this_process_in_their_order(
    spark: Any, tmp_path: Path
) -> None:
    table = ev.sample("situations", 3_000, seed=1, columns=3)
    table = table.append_column("hot", pa.array((np.arange(3_000) % 10) > 0))
    table = table.append_column("x", pa.array(np.arange(3_000) % 17))
    from eventide.engines.spark.parallelism import count_buckets

    in_order, shuffled = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(table, in_order, row_group_size=100)
    pq.write_table(table.take(np.random.default_rng(1).permutation(3_000)), shuffled, row_group_size=100)
    define = "DEFINE A AS a FOR AT LEAST 20 seconds, B AS b, C AS c PATTERN A overlaps|during B AND B before C "
    returned = " RETURN start(A) AS s, end(B) AS e, start(C) AS c, sum(B.x) AS total"
    for text, options in (
        (define + "WITHIN 500 seconds" + returned, {"possible": True}),
        (define + "WITHIN 500 seconds EMIT ON COMPLETE" + returned, {"close_at_end": True}),
        (define + "WITHIN 500 seconds" + returned, {"partition_by": "hot"}),
        (define.replace("before", "meets|before") + returned, {}),
    ):
        query = ev.query(text, **options)
        expected = query.run(table)
        assert expected.num_rows > 50
        for events in (in_order, shuffled, spark.read.parquet(str(shuffled))):
            given_as = {"engine": "spark", "spark": spark} if isinstance(events, Path) else {}
            frame = query.run(events, **given_as)
            found = frame.toArrow().cast(expected.schema)
            assert frame.rdd.getNumPartitions() == count_buckets(spark) > 1, query.last_run.reason
            assert found.column("detected_at").to_pylist() == expected.column("detected_at").to_pylist()
            keys = [(name, "ascending") for name in ("detected_at", "s", "c", "e")]
            assert found.sort_by(keys).equals(expected.sort_by(keys)), text
