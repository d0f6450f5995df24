"""Patterns as joins return the oracle's rows: random queries on random events, in DuckDB's and in Spark's SQL."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import eventide as ev
from eventide.engines.local import relational
from eventide.engines.local.sources import open_source
from tests.budget import ON_SPARK, QUICK, budgeted
from tests.families.events.cases import SCHEMA, AskedOfEvents, Case, cases
from tests.families.events.pattern_cases import ALL, PatternCase, pattern_cases
from tests.families.events.test_pattern_rows import said
from tests.plan.relational.planning import planning

PLAIN = [kind for kind in ALL if kind != "and"]
# What cannot be asked at all, and what has no form as joins, is not a case.
NOT_ASKED = (
    "is never directly followed by",
    "leaves none",
    "where an aggregate of it has no meaning",
    "is not possible with plan='joins'",
)


def run(case: AskedOfEvents, events: Any = None, text: str | None = None) -> Any:
    """The rows of the query as joins."""
    query = ev.query(case.text if text is None else text, **case.options)
    try:
        return query.run(case.table() if events is None else events, plan="joins")
    except ev.QueryError as error:
        assume(not any(words in error.message for words in NOT_ASKED))
        raise


def check(case: Case | PatternCase, result: pa.Table) -> None:
    assert case.found(result) == case.expected()


@budgeted(**QUICK)
@given(cases())
def test_joins_of_a_sequence_return_the_oracles_rows(case: Case) -> None:
    check(case, run(case))


@budgeted(**QUICK)
@given(pattern_cases(kinds=PLAIN))
def test_joins_of_a_pattern_return_the_oracles_rows(case: PatternCase) -> None:
    check(case, run(case))


@budgeted(**QUICK)
@given(pattern_cases(kinds=[*ALL, "and"], max_per_group=6))
def test_joins_of_a_pattern_with_and_return_the_oracles_rows(case: PatternCase) -> None:
    check(case, run(case))


@budgeted(**QUICK)
@given(pattern_cases(kinds=["seq", "not", "or"]))
def test_joins_with_absences_return_the_oracles_rows(case: PatternCase) -> None:
    check(case, run(case))


@budgeted(**QUICK)
@given(pattern_cases(kinds=["seq", "seq", "and", "not"], max_per_group=6), st.randoms(use_true_random=False))
def test_joins_in_any_order_return_the_oracles_rows(case: PatternCase, chance: random.Random) -> None:
    plans, source = planning(ev.query(case.text, **case.options)), open_source(case.table())
    try:
        asked = plans.asked(source.schema, "local")
        estimates = {name: chance.random() for name in asked.plan.symbols}
        mapped = plans.mapped(asked, "duckdb", relational.TABLE, estimates)
    except ev.QueryError as error:
        assume(not any(words in error.message for words in NOT_ASKED))
        raise
    check(case, relational.run(mapped, asked, source)[0])


@budgeted(**QUICK)
@given(cases(groups=[1, None]), st.integers(1, 6), st.sampled_from([None, 1, 2, 3]))
def test_joins_over_windows_that_count_events_return_the_oracles_rows(case: Case, n: int, slide: int | None) -> None:
    slide = None if slide is None else min(slide, n)
    lines = [line for line in case.text.splitlines() if not line.startswith("WITHIN")]
    within = f"WITHIN {n} EVENTS" + (f" SLIDE {slide} EVENTS" if slide is not None else "")
    oracle = replace(case.oracle, within=None, slide=None, within_events=n, slide_events=slide)
    counted = replace(case, text="\n".join([*lines[:-1], within, lines[-1]]), oracle=oracle)
    rows = run(counted)
    found: Counter[tuple[Any, ...]] = Counter()
    columns = [f"s{k}_id" for k in range(case.n_steps)]
    for row in rows.to_pylist():
        found[(*(row[name] for name in columns), row.get("window_start"), row.get("window_end"))] += 1
    wanted: Counter[tuple[Any, ...]] = Counter()
    for (*ids, _, start, end, _), n_rows in counted.expected().items():
        wanted[(*ids, start, end)] += n_rows
    assert found == wanted


@budgeted(**QUICK)
@given(pattern_cases(kinds=["seq", "repeat", "or"]))
def test_joins_say_about_one_match_what_the_oracle_says(case: PatternCase) -> None:
    assume(case.returned)
    rows = run(case, text=case.asking(case.about_one_match))
    assert said(rows) == case.expected_about_one_match()
    whole = run(case, text=case.asking("*"))
    assert case.found_whole(whole) == case.expected_whole()


@st.composite
def counting_cases(draw: st.DrawFn) -> tuple[str, list[dict[str, Any]]]:
    """A query that counts the trends of a repeated event, and events with many ties."""
    pattern = draw(st.sampled_from(["A+", "A", "A{2}", "ITER(A, 3)", "A{1,3}", "A{2,}", "A{4}", "A*"]))
    group = draw(st.sampled_from(["", "GROUP BY g", "GROUP BY g PARTITION BY g, x"]))
    where = draw(st.sampled_from(["", "WHERE A.x > 0"]))
    window = draw(st.sampled_from(["", "WITHIN 4 seconds", "WITHIN 5 seconds SLIDE 2 seconds"]))
    returned = "g, COUNT(*)" if group else "COUNT(*)"
    rows = st.fixed_dictionaries(
        {
            "ts": st.integers(-3, 6),
            "kind": st.sampled_from("AAB"),
            "g": st.sampled_from([1, 2, None]),
            "x": st.sampled_from([0, 1, 2]),
        }
    )
    events = draw(st.lists(rows, min_size=3, max_size=14))
    return f"PATTERN {pattern} {where} {group} {window} RETURN {returned}", events


@budgeted(**QUICK)
@given(counting_cases())
def test_trends_of_one_event_counted_by_aggregation_are_those_of_the_operator(
    case: tuple[str, list[dict[str, Any]]],
) -> None:
    text, events = case
    table = pa.Table.from_pylist(events, pa.schema([("ts", pa.int64()), *((n, SCHEMA[n]) for n in ("kind", "g", "x"))]))
    query = ev.query(text, ts_unit="s", type="kind")
    counted, operated = query.run(table, plan="joins"), query.run(table)
    assert counted.schema == operated.schema
    assert Counter(map(str, counted.to_pylist())) == Counter(map(str, operated.to_pylist()))


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(cases())
def test_joins_of_spark_return_the_oracles_rows(spark: Any, case: Case) -> None:
    assume(case.expected())
    check(case, run(case, spark.createDataFrame(case.table())).toArrow())


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(pattern_cases(kinds=["seq", "repeat", "or", "not", "and"], max_per_group=6))
def test_joins_of_spark_for_a_pattern_return_the_oracles_rows(spark: Any, case: PatternCase) -> None:
    assume(case.expected())
    from eventide.engines.spark.relational import python_nodes

    rows = run(case, spark.createDataFrame(case.table()))
    check(case, rows.toArrow())
    assert python_nodes(rows._jdf.queryExecution().toString()) == []
