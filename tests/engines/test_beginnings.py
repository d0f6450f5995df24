"""MATCH_RECOGNIZE and builder patterns in slices by where matches begin return the rows of the whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import eventide as ev
from eventide.api.query import Query
from eventide.engines.local import run as local
from eventide.lang.rows import parse_clause
from eventide.plan.options import Options
from eventide.runtime.borders import Beginnings, Borders
from eventide.runtime.costs import costing
from eventide.runtime.slicing import Part
from tests.budget import QUICK, budgeted
from tests.engines.test_overlaps import parts_at, rows_of, write
from tests.families.builder import cases as builder
from tests.families.builder.test_same_matches import check as check_matches
from tests.families.rows.cases import Case, cases
from tests.families.rows.test_same_rows import check, embedded

SECOND = 1_000_000
cuts = st.lists(st.integers(1, 12), min_size=1, max_size=4)


class Cut:
    """Slices at given seconds, and how many they were."""

    def __init__(self, seconds: Sequence[int]) -> None:
        self.bounds = tuple(sorted({second * SECOND for second in seconds}))
        self.counts: list[int] = []

    def parts(self, spec: Any, block: pa.Table, n_threads: int) -> Sequence[Part]:
        parts = parts_at(spec, self.bounds, block)
        self.counts += [len(parts)] if parts else []
        return parts

    def patch(self) -> Any:
        return patch.object(local, "parts_for_threads", self.parts)


def in_one_partition(case: Case) -> Case:
    """The case without partitions, ordered by time, and with a window."""
    clause = case.clause.replace("PARTITION BY p", "")
    clause = re.sub(r"ORDER BY .*", "ORDER BY id", clause)
    clause = re.sub(r"( WITHIN 3 seconds)?\nSUBSET", " WITHIN 2 seconds\nSUBSET", clause)
    clause = re.sub(r"MATCH_NUMBER\(\)", "1", clause, flags=re.IGNORECASE)
    rows = tuple((row[0], row[1] or 0, *row[2:]) for row in case.rows)
    return replace(case, clause=clause, rows=rows)


@budgeted(**QUICK)
@given(cases(max_rows=14).map(in_one_partition), cuts)
def test_rows_in_slices_are_the_oracles(case: Case, seconds: list[int]) -> None:
    cut = Cut(seconds)
    with cut.patch():
        with suppress(ev.InputError):
            embedded(case)
        if max(cut.counts, default=0) > 1:
            check(case, embedded)


@budgeted(**QUICK)
@given(builder.cases(most=10), st.integers(1, 3), st.sampled_from(["no_skip", "no_skip", "next", "past_last"]), cuts)
def test_builder_patterns_in_slices_find_the_oracles_matches(
    case: builder.Case, window: int, skip: str, seconds: list[int]
) -> None:
    assume(case.steps.window is None and case.steps.gap is None)
    events = tuple(event | {"key": 1} for event in case.events)
    built, steps = case.built.within(f"{window} seconds"), replace(case.steps, window=window)
    with Cut(seconds).patch():
        check_matches(replace(case, built=built, steps=steps, events=events, skip=skip), unpartitioned)


def unpartitioned(case: builder.Case) -> ev.Detection:
    options = {"sequence": "seq", "ts": "ts", "ts_unit": "s", "skip": case.skip, "close_at_end": case.closes}
    return ev.detect(case.table(), case.built, **options)


CLAUSES = {
    "past last": """ORDER BY ts MEASURES first(A.ts) AS a, last(C.ts) AS c, count(*) AS n
        ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A X* C) WITHIN 200 ms
        DEFINE A AS kind = 'A' AND value > 60, X AS kind <> 'C', C AS kind = 'C' AND value > A.value""",
    "to last, with its neighbours": """ORDER BY ts MEASURES first(A.ts) AS a, last(B.value) AS b, next(B.ts) AS after
        ONE ROW PER MATCH AFTER MATCH SKIP TO LAST B
        PATTERN (A B+) WITHIN 100 ms
        DEFINE A AS kind = 'A', B AS value > prev(value) AND value < next(value)""",
    "unmatched": """ORDER BY ts MEASURES classifier() AS label
        ALL ROWS PER MATCH WITH UNMATCHED ROWS
        PATTERN (A B+ C?) WITHIN 100 ms
        DEFINE A AS kind = 'A' AND value > 80, B AS kind = 'B', C AS kind = 'C'""",
    "all rows": """ORDER BY ts MEASURES classifier() AS label
        ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A B+) WITHIN 100 ms
        DEFINE A AS kind = 'A' AND value > 80, B AS kind = 'B'""",
}
PATTERN = (
    ev.Pattern.begin("a", "kind = 'A' AND value > 60").followed_by("b", "kind = 'B' AND value > a.value")
).within("100 ms")


def events(n: int) -> pa.Table:
    return ev.sample("typed", n, seed=5, keys=3, kinds=("A", "B", "C", "D"))


def recognize(clause: str, table: Any, **options: Any) -> Any:
    return ev.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", t=table, **options)


@pytest.mark.parametrize("name", CLAUSES)
def test_rows_without_a_partition_are_cut_where_there_are_enough(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = events(8_000)
    whole = recognize(CLAUSES[name], table)
    monkeypatch.setattr(local.os, "cpu_count", lambda: 3)
    with costing(few_events=100), patch.object(local, "run_parts", wraps=local.run_parts) as used:
        assert rows_of(recognize(CLAUSES[name], table)) == rows_of(whole)
    ((_, _, parts), _) = used.call_args
    assert len(parts) == 3
    assert whole.num_rows > 50


def test_builder_patterns_are_cut_where_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    table = events(8_000)
    whole = ev.detect(table, PATTERN, ts="ts")
    monkeypatch.setattr(local.os, "cpu_count", lambda: 3)
    with costing(few_events=100), patch.object(local, "run_parts", wraps=local.run_parts) as used:
        found = ev.detect(table, PATTERN, ts="ts")
        assert rows_of(found.matches) == rows_of(whole.matches)
        assert rows_of(found.timeouts) == rows_of(whole.timeouts)
    ((_, _, parts), _) = used.call_args
    assert len(parts) == 3
    assert whole.matches.num_rows > 50


def test_matches_of_two_rows_each_have_no_border() -> None:
    """Every second row begins a match, and where that began is seen nowhere."""
    cut = Cut([4, 8])
    table = pa.table({"ts": pa.array(range(40), pa.int64())})
    clause = "ORDER BY ts MEASURES first(A.ts) AS a PATTERN (A A) WITHIN 3 seconds DEFINE A AS ts >= 0"
    with cut.patch():
        found = recognize(clause, table, ts_unit="s")
    assert found.column("a").to_pylist() == list(range(0, 40, 2))
    assert cut.counts == [1]


def test_a_slice_may_begin_in_the_middle_of_an_instant() -> None:
    """Rows 1 and 2 are a match, 5 and 6 and so on; rows 2 and 3 would be one, if matching went on at row 2."""
    cut = Cut([5, 15])
    table = pa.table({"ts": [i // 2 for i in range(60)], "v": list(range(60))})
    clause = "ORDER BY ts, v MEASURES first(A.v) AS a PATTERN (A B) WITHIN 3 seconds DEFINE A AS v % 4 IN (1, 2)"
    with cut.patch():
        found = recognize(clause, table, ts_unit="s")
    assert found.column("a").to_pylist() == list(range(1, 60, 4))
    assert cut.counts == [3]


@pytest.mark.parametrize(
    ("to", "expected"), [("LAST", range(0, 35, 5)), ("FIRST", sorted([*range(0, 35, 5), *range(2, 30, 5)]))]
)
def test_a_slice_begins_where_skip_leads(to: str, expected: Sequence[int]) -> None:
    """At row 12 a match could begin that the one from row 10 on skips, or does not."""
    cut = Cut([12])
    table = pa.table({"ts": list(range(35)), "v": list(range(35))})
    clause = f"""ORDER BY ts MEASURES first(A.v) AS a AFTER MATCH SKIP TO {to} B PATTERN (A B{{3}}) WITHIN 5 seconds
        DEFINE A AS v % 5 IN (0, 2)"""
    with cut.patch():
        found = recognize(clause, table, ts_unit="s")
    assert found.column("a").to_pylist() == list(expected)
    assert cut.counts == [2]


def test_matches_that_are_numbered_are_not_cut() -> None:
    cut = Cut([20])
    table = pa.table({"ts": pa.array(range(40), pa.int64())})
    clause = "ORDER BY ts MEASURES match_number() AS n PATTERN (A B) WITHIN 3 seconds DEFINE A AS ts % 3 = 0"
    with cut.patch():
        found = recognize(clause, table, ts_unit="s")
    assert found.column("n").to_pylist() == list(range(1, 14))
    assert cut.counts == []


@pytest.mark.spark
@pytest.mark.parametrize("name", ["past last", "to last, with its neighbours", "unmatched"])
@costing(few_rows=0, few_bytes=0)
def test_spark_cuts_rows_by_time_and_returns_the_same(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    table = events(8_000)
    expected = recognize(CLAUSES[name], table)
    made: list[int] = []

    def counted(slicing: Borders, bounds: Any, read: Any) -> list[Beginnings]:
        made.append(len(parts := cut(slicing, bounds, read)))
        return parts

    cut = Borders.parts
    monkeypatch.setattr(Borders, "parts", counted)
    in_order = write(tmp_path / "a.parquet", table)
    shuffled = write(tmp_path / "b.parquet", table.take(np.random.default_rng(1).permutation(table.num_rows)))
    recognizer = Query("rows", CLAUSES[name], parse_clause(CLAUSES[name]), Options.of())
    for source in (in_order, shuffled, spark.read.parquet(shuffled)):
        given_as = {"engine": "spark", "spark": spark} if isinstance(source, str) else {}
        found = recognizer(source, **given_as).toArrow()
        assert rows_of(found.cast(expected.schema)) == rows_of(expected)
    assert min(made) > 1
    assert len(made) == 3
