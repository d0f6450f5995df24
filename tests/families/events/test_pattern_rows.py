"""Random event patterns on random events return the oracle's rows, on every engine."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import eventide as ev
from tests.budget import ON_SPARK, QUICK, WITHOUT_JIT, budgeted
from tests.families.events.cases import EPOCH_US, SECOND
from tests.families.events.pattern_cases import ALL, PatternCase, pattern_cases
from tests.families.events.test_same_rows import run_case_as_stream
from tests.families.worked_examples import WORKED_EXAMPLES
from tests.few_steps import few_steps
from tests.micro_batches import Stream

# Not what every query needs: an AND makes the oracle slow.
PLAIN = [kind for kind in ALL if kind != "and"]


def run(case: PatternCase, **inputs: Any) -> pa.Table:
    """The product's rows; what cannot be asked is not a case."""
    try:
        return ev.query(case.text, **case.options).run(case.table(), **inputs)
    except ev.QueryError as error:
        assume("is never directly followed by" not in error.message)
        assume("leaves none" not in error.message)
        assume("where an aggregate of it has no meaning" not in error.message)
        raise


def check(case: PatternCase, result: pa.Table) -> None:
    assert case.found(result) == case.expected()


@budgeted(**QUICK)
@given(pattern_cases(kinds=PLAIN))
def test_a_pattern_returns_the_oracles_rows(case: PatternCase) -> None:
    check(case, run(case))


@budgeted(**QUICK)
@given(pattern_cases(kinds=[*ALL, "and"], max_per_group=6))
def test_a_pattern_with_and_returns_the_oracles_rows(case: PatternCase) -> None:
    check(case, run(case))


@budgeted(**QUICK)
@given(pattern_cases(kinds=[*ALL, "and"], max_per_group=6), st.integers(1, 5))
def test_a_search_that_pauses_after_every_few_steps_returns_the_oracles_rows(case: PatternCase, n_steps: int) -> None:
    # Without Numba, some walks of negations are beyond those whose answers are remembered, some edges beyond those
    # that close, and the next row of a symbol often is in another group.
    with few_steps(n_steps), pytest.MonkeyPatch.context() as patch:
        patch.setattr("eventide.families.events.kernel_stacks.MAX_ANSWERS", n_steps - 1)
        patch.setattr("eventide.families.events.kernel.MAX_CLOSED", n_steps)
        patch.setattr("eventide.families.events.kernel_stacks.MAX_CLOSED", n_steps)
        if WITHOUT_JIT:
            patch.setattr("eventide.families.events.kernel_ahead.GROUP_BITS", 1)
            patch.setattr("eventide.families.events.kernel_ahead.GROUP", 2)
            patch.setattr("eventide.families.events.indexes.GROUP", 2)
        check(case, run(case))


@budgeted(**QUICK)
@given(pattern_cases(kinds=PLAIN, bounded=True))
def test_a_batch_returns_what_a_stream_has_returned_when_its_watermark_reaches_the_latest_event(
    case: PatternCase,
) -> None:
    table = case.table()
    assume(table.num_rows)
    rows = run(case)
    stream = Stream(ev.query(case.text, **case.options).plan(table.schema))
    stream.step(table, EPOCH_US + max(event["ts"] for event in case.events) * SECOND)
    assert case.found(pa.Table.from_pylist(stream.rows, schema=rows.schema)) == case.found(rows)


def ask(case: PatternCase, returned: str) -> pa.Table:
    return run(replace(case, text=case.asking(returned)))


def said(result: pa.Table) -> Counter[tuple[Any, ...]]:
    added = {"window_start", "window_end", "detected_at"}
    return Counter(
        tuple(sorted((name, value) for name, value in row.items() if name not in added)) for row in result.to_pylist()
    )


@budgeted(**QUICK)
@given(pattern_cases(kinds=ALL, max_per_group=6))
def test_what_is_said_about_one_match_is_what_the_oracle_says(case: PatternCase) -> None:
    assert said(ask(case, case.about_one_match)) == case.expected_about_one_match()
    assert case.found_whole(ask(case, "*")) == case.expected_whole()


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(pattern_cases(max_per_group=6, groups=[*range(6), None]))
def test_spark_says_the_same_about_one_match(spark: Any, case: PatternCase) -> None:
    assume(case.expected())
    frame = spark.createDataFrame(case.table())
    try:
        rows, whole = (
            ev.query(case.asking(returned), **case.options).run(frame) for returned in (case.about_one_match, "*")
        )
    except ev.QueryError:
        assume(False)
    assert said(rows.toArrow()) == case.expected_about_one_match()
    assert case.found_whole(whole.toArrow()) == case.expected_whole()


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(pattern_cases(max_per_group=6, groups=[*range(6), None]))
def test_a_spark_dataframe_returns_the_rows_of_the_oracle(spark: Any, case: PatternCase) -> None:
    frame = spark.createDataFrame(case.table())
    try:
        rows = ev.query(case.text, **case.options).run(frame)
    except ev.QueryError:
        assume(False)
    assume(case.expected())
    check(case, rows.toArrow())


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(pattern_cases(max_per_group=6, groups=[*range(6), None], bounded=True))
def test_a_stream_returns_the_rows_of_the_oracle(spark: Any, tmp_path_factory: Any, case: PatternCase) -> None:
    """Micro-batches in disorder; a last event far away decides all others, absence too."""
    try:
        ev.query(case.text, **case.options).plan(case.table().schema)
    except ev.QueryError:
        assume(False)
    assume(case.expected())
    check(case, run_case_as_stream(case, tmp_path_factory.mktemp("stream"), spark))


# --- the worked examples of the semantics ---------------------------------------------------------------------


def stream(text: str) -> list[dict[str, Any]]:
    return [{"ts": int(word[1:]), "kind": word[0].upper(), "id": word} for word in text.split()]


def rows_of(text: str, events: str) -> list[dict[str, Any]]:
    return ev.query(text, ts="ts", ts_unit="s", type="kind").run(stream(events)).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(("pattern", "strategy", "events", "n_matches"), WORKED_EXAMPLES)
def test_worked_examples(pattern: str, strategy: str, events: str, n_matches: int) -> None:
    assert len(rows_of(f"PATTERN {pattern} SEMANTICS {strategy} RETURN A.id", events)) == n_matches


@pytest.mark.parametrize(
    ("strategy", "found"),
    [
        ("contiguous", ["a3c4"]),
        ("next", ["a1b2c4", "a3c4"]),
        ("any", ["a1b2b5c6", "a1b2c4", "a1b2c6", "a1b5c6", "a1c4", "a1c6", "a3b5c6", "a3c4", "a3c6"]),
    ],
)
def test_the_worked_example_of_an_optional_repetition(strategy: str, found: list[str]) -> None:
    text = f"PATTERN SEQ(A, B*, C) SEMANTICS {strategy} RETURN A.id, B.id, C.id"
    rows = rows_of(text, "a1 b2 a3 c4 b5 c6")
    assert sorted(row["A_id"] + "".join(row["B_id"]) + row["C_id"] for row in rows) == found


def test_an_aggregate_of_the_side_of_an_and_is_tested_where_the_side_has_its_symbol() -> None:
    events = [{"ts": 1, "kind": "A", "x": -1}]
    text = "PATTERN AND(A a, OR(A b, A c)) WHERE avg(b.x) > 0.5 RETURN b.x, c.x"
    found = ev.query(text, type="kind", ts_unit="s").run(events).to_pylist()
    assert [(row["b_x"], row["c_x"]) for row in found] == [(None, -1)]
