"""Patterns in slices of time that look back on a window return the rows of the whole, wherever time is cut."""

from __future__ import annotations

from collections.abc import Sequence
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
from eventide.engines.file_input import choose_for_files
from eventide.engines.local import run as local
from eventide.families.registry import family_of
from eventide.plan.choose import KEYS, SLICES
from eventide.runtime.block import within
from eventide.runtime.costs import costing
from eventide.runtime.slicing import Part
from tests.budget import QUICK, budgeted
from tests.families.events.cases import EPOCH_US, SECOND, Case, cases
from tests.families.events.pattern_cases import PatternCase, pattern_cases
from tests.families.events.test_pattern_rows import PLAIN, check, run

TEXT = """
PATTERN SEQ(A a, B b, C c) WHERE b.value > a.value SEMANTICS skip-till-next-match WITHIN 2 seconds
RETURN a.ts AS a_ts, b.ts AS b_ts, c.ts AS c_ts
"""
NOT = "PATTERN SEQ(NOT C x, A a+, B b, NOT D y) WHERE a.value < 20 AND b.value > 80 WITHIN 50 ms RETURN b.ts AS b_ts"


def sliced_at(seconds: Sequence[int]) -> Any:
    bounds = tuple(sorted({EPOCH_US + second * SECOND for second in seconds}))

    return patch.object(local, "parts_for_threads", lambda spec, block, n_threads: parts_at(spec, bounds, block))


def parts_at(spec: Any, bounds: Sequence[int], block: pa.Table) -> Sequence[Part]:
    """The parts of a query that is cut at these instants; none where it cannot be cut."""
    slicing = family_of(spec).slicing(spec)
    if isinstance(slicing, str) or slicing.combines:
        return []
    return slicing.parts(bounds, lambda regions: [within(block, *region) for region in regions])


cuts = st.lists(st.integers(-1, 25), min_size=1, max_size=4)


@budgeted(**QUICK)
@given(pattern_cases(kinds=PLAIN), cuts)
def test_a_pattern_in_slices_returns_the_oracles_rows(case: PatternCase, seconds: list[int]) -> None:
    assume(case.oracle.within is not None)
    with sliced_at(seconds):
        check(case, run(case))


@budgeted(**QUICK)
@given(cases(), cuts)
def test_a_sequence_in_slices_returns_the_oracles_rows(case: Case, seconds: list[int]) -> None:
    assume(case.oracle.within is not None)
    with sliced_at(seconds):
        result = ev.query(case.text, **case.options).run(case.table())
    assert case.found(result) == case.expected()


def events(n: int, **options: Any) -> pa.Table:
    return ev.sample("typed", n, seed=5, keys=3, kinds=("A", "B", "C", "D"), **options)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


@pytest.mark.parametrize("text", [TEXT, NOT])
def test_events_without_a_partition_are_cut_where_there_are_enough(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query = ev.query(text, type="kind")
    whole = query.run(events(12_000))
    monkeypatch.setattr(local.os, "cpu_count", lambda: 3)
    with costing(few_events=100), patch.object(local, "run_parts", wraps=local.run_parts) as used:
        assert rows_of(query.run(events(12_000))) == rows_of(whole)
    assert whole.num_rows > 50
    ((_, _, parts), _) = used.call_args
    assert len(parts) == 3


def test_a_limit_on_matches_or_no_window_leaves_one_slice() -> None:
    def back(text: str, **options: Any) -> int | None:
        spec = ev.query(text, type="kind", **options).plan(events(1).schema).spec
        return getattr(family_of(spec).slicing(spec), "back_us", None)

    assert back(TEXT) == 2 * SECOND
    assert back(TEXT, max_matches_per_partition=5) is None
    assert back(TEXT.replace("WITHIN 2 seconds", "")) is None
    # What is absent from what is absent may lie a window further, on each side.
    assert back("PATTERN SEQ(A a, NOT SEQ(B b, NOT C c, B d), C e) WITHIN 2 seconds RETURN a.ts") == 6 * SECOND


def test_rows_that_nobody_reads_on_do_not_hold_up_the_threads() -> None:
    table = events(3_000)
    physical = ev.query("PATTERN SEQ(A a, B b) WITHIN 2 seconds", type="kind").plan(table.schema)
    from eventide.engines.intake import take_in
    from eventide.engines.raw_columns import raw_columns

    block, _ = take_in(raw_columns(table, physical, ("UTC", 1)), physical.intake)
    middle = int(np.median(block.column("ts").cast(pa.int64()).to_numpy()))
    found = local.run_parts(physical.spec, block, parts_at(physical.spec, (middle,), block))
    assert next(found).num_rows > 0
    found.close()  # type: ignore[attr-defined]


def test_an_error_in_a_slice_is_the_users() -> None:
    table = events(2_000).append_column("big", pa.array([2**62] * 2_000))
    query = ev.query("PATTERN SEQ(A a, B b) WHERE a.big + b.big > 0 WITHIN 1 second RETURN a.ts", type="kind")
    last = table.column("ts")[1_000].as_py()
    with sliced_at([int((last.timestamp() * 1_000_000 - EPOCH_US) // SECOND)]), pytest.raises(ev.InputError):
        query.run(table)


def write(path: Path, table: pa.Table) -> str:
    pq.write_table(table, path, row_group_size=500)
    return str(path)


@costing(few_rows=0)
def test_files_are_cut_by_time_where_keys_do_not_share_them_out(tmp_path: Path) -> None:
    table = events(20_000)
    in_order = write(tmp_path / "a.parquet", table)
    shuffled = write(tmp_path / "b.parquet", table.take(np.random.default_rng(1).permutation(table.num_rows)))

    def choice(path: str, text: str = TEXT, **options: Any) -> Any:
        return choose_for_files([path], ev.query(text, type="kind", **options).plan(table.schema, "spark"), 4)

    found = choice(in_order)
    assert (found.form, len(found.shares), len(found.parts)) == (SLICES, 4, 4)
    assert "no event is exchanged" in found.reason
    # A row group has half a second of events, so two seconds before a slice are four of them, or parts of five.
    assert 40 + 3 * 4 <= sum(map(len, found.shares)) <= 43 + 3 * 5
    assert (choice(shuffled).form, choice(shuffled).shares) == (SLICES, ())
    assert choice(in_order, TEXT.replace("2 seconds", "1 hour")).form == KEYS
    assert choice(in_order, partition_by="key").form == KEYS
    hot = table.set_column(1, "key", pa.array([0] * 15_000 + [1] * 5_000, pa.int32()))
    assert choice(write(tmp_path / "c.parquet", hot), partition_by="key").form == SLICES


@pytest.mark.spark
@pytest.mark.parametrize("text", [TEXT, NOT])
@costing(few_rows=0, few_bytes=0)
def test_spark_cuts_files_and_frames_by_time_and_returns_the_same_rows(spark: Any, tmp_path: Path, text: str) -> None:
    table = events(20_000)
    query = ev.query(text, type="kind")
    expected = rows_of(query.run(table))
    in_order = write(tmp_path / "a.parquet", table)
    shuffled = write(tmp_path / "b.parquet", table.take(np.random.default_rng(1).permutation(table.num_rows)))
    for events_in, word in (
        (in_order, "no event is exchanged"),
        (shuffled, "exchanged by time"),
        (spark.read.parquet(shuffled), "DataFrame, by time"),
    ):
        given_as = {"engine": "spark", "spark": spark} if isinstance(events_in, str) else {}
        found = query.run(events_in, **given_as).toArrow()
        assert word in query.last_run.reason
        assert rows_of(found.cast(query.run(table).schema)) == expected
    assert len(expected) > 50
