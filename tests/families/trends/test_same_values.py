"""Aggregates over trends: the worked examples, then random queries equal to the oracle, on every engine.

A failure prints the query, its options and the events; `missing` is what the oracle has and the product has not.
"""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import eventide as ev
from eventide.plan.physical import Physical
from tests.budget import ON_SPARK, QUICK, budgeted
from tests.engines.streams import both_readings
from tests.families.events.test_same_rows import run_case_as_stream
from tests.families.trends.cases import trend_cases
from tests.families.trends.compare import TrendCase
from tests.families.worked_examples import NEGATED, WORKED_EXAMPLES
from tests.micro_batches import Arrival, arrivals

SEVERAL = (1, 2, 3, None)


def can_be_asked(case: TrendCase, error: ev.EventideError) -> bool:
    """Whether a refusal of the product is one that the definitions do not call for.

    A length that no trend has is refused. Ambiguity may be judged by the pattern where the oracle looks at the trends.
    """
    if "leaves none" in error.message:
        return False
    return not (case.may_be_ambiguous and "ambiguous" in str(error))


def run(case: TrendCase, events: Any = None, **inputs: Any) -> Any:
    """The product's result; what cannot be asked is not a case, and an ambiguous aggregate must be refused."""
    query = ev.query(case.text, **case.options)
    source = case.table() if events is None else events
    if case.is_ambiguous:
        with pytest.raises(ev.EventideError) as refused:
            query.run(source, **inputs)
        assert "cannot run yet" not in str(refused.value), f"{case}{refused.value}"
        return None
    try:
        return query.run(source, **inputs)
    except ev.EventideError as error:
        assume(can_be_asked(case, error))
        raise AssertionError(f"{case}{type(error).__name__}: {error}") from error


def check(case: TrendCase, result: pa.Table | None) -> None:
    if result is not None:
        case.check(result)


# --- random queries, embedded ---------------------------------------------------------------------------------


@budgeted(**QUICK)
@given(trend_cases())
def test_aggregates_over_trends_are_those_of_the_oracle(case: TrendCase) -> None:
    check(case, run(case))


@budgeted(**QUICK)
@given(trend_cases(focus="negation", max_events=10))
def test_negation_leaves_the_trends_of_the_oracle(case: TrendCase) -> None:
    check(case, run(case))


@budgeted(**QUICK)
@given(trend_cases(focus="adjacent", max_events=10))
def test_conditions_on_adjacent_events_leave_the_trends_of_the_oracle(case: TrendCase) -> None:
    check(case, run(case))


@budgeted(**QUICK)
@given(trend_cases(focus="adjacent", windowed=True, count_windows=False), st.sampled_from([(2, 2), (3, 3), (16, 64)]))
def test_windows_walked_at_once_give_the_values_of_the_oracle(case: TrendCase, lanes: tuple[int, int]) -> None:
    with patch.multiple("eventide.families.trends.batches", LEAST_LANES=lanes[0], MOST_LANES=lanes[1]):
        check(case, run(case))


@budgeted(**QUICK)
@given(trend_cases(focus="absent neighbours", max_events=11))
def test_conditions_inside_a_negation_leave_the_trends_of_the_oracle(case: TrendCase) -> None:
    check(case, run(case))


@budgeted(**QUICK)
@given(trend_cases(focus="conjunction", max_events=8))
def test_pairs_of_trends_are_those_of_the_oracle(case: TrendCase) -> None:
    check(case, run(case))


@budgeted(**QUICK)
@given(trend_cases(counts="double"), trend_cases(counts="log2"))
def test_approximate_counts_are_near_those_of_the_oracle(double: TrendCase, log2: TrendCase) -> None:
    check(double, run(double))
    check(log2, run(log2))


@budgeted(**QUICK)
@given(trend_cases(groups=SEVERAL, max_events=14))
def test_events_cut_by_partition_give_the_same_values(case: TrendCase) -> None:
    """A memory limit of a few bytes: every block is spilled and worked off bucket by bucket."""
    check(case, run(case, memory_limit=64))


@budgeted(**QUICK)
@given(trend_cases())
def test_dictionaries_give_the_values_of_a_table(case: TrendCase) -> None:
    assume(case.integer_time and not case.is_ambiguous)
    events = case.table().to_pylist()
    assume(events and all(any(event[name] is not None for event in events) for name in events[0]))
    result = run(case, events)
    # Python has only long integers, and decimals as wide as their digits.
    case.check(result, types=False)


# --- random queries, in micro-batches --------------------------------------------------------------------------


def planned(case: TrendCase) -> Physical:
    """The plan that a stream has of a case that can be asked."""
    assume(not case.is_ambiguous)
    try:
        query = ev.query(case.text, **case.options)
        return query._plan(query.options, case.table().schema, on_stream=True)
    except ev.EventideError as error:
        assume(can_be_asked(case, error))
        raise AssertionError(f"{case}{error}") from error


@budgeted(**QUICK)
@given(trend_cases(first_origin=False, groups=SEVERAL, max_events=12), arrivals(11, 4))
def test_micro_batches_give_the_values_of_the_oracle(case: TrendCase, arrival: Arrival) -> None:
    case.check_arrival(planned(case), arrival)


@budgeted(**QUICK)
@given(
    trend_cases(focus="absent neighbours", first_origin=False, windowed=True, max_events=12),
    arrivals(11, 4),
)
def test_micro_batches_find_what_must_be_absent_by_its_neighbours(case: TrendCase, arrival: Arrival) -> None:
    case.check_arrival(planned(case), arrival)


@budgeted(**QUICK)
@given(trend_cases(focus="negation", first_origin=False, windowed=True, max_events=12), arrivals(11, 4))
def test_micro_batches_wait_for_what_must_be_absent(case: TrendCase, arrival: Arrival) -> None:
    case.check_arrival(planned(case), arrival)


@budgeted(**QUICK)
@given(
    trend_cases(first_origin=False, groups=SEVERAL, max_events=14).filter(
        lambda case: case.oracle.within_events is not None
    ),
    arrivals(13, 6, delays=[1]),
)
def test_micro_batches_fill_windows_over_positions(case: TrendCase, arrival: Arrival) -> None:
    case.check_arrival(planned(case), arrival)


# --- random queries, on Spark -----------------------------------------------------------------------------------


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(trend_cases(groups=SEVERAL, max_events=12))
def test_a_spark_dataframe_gives_the_values_of_the_oracle(spark: Any, case: TrendCase) -> None:
    assume(case.events and not case.is_ambiguous and case.expected)
    check(case, run(case, spark.createDataFrame(case.table())).toArrow())


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(trend_cases(groups=SEVERAL, max_events=12))
def test_files_read_by_spark_tasks_give_the_values_of_the_oracle(
    spark: Any, tmp_path_factory: Any, case: TrendCase
) -> None:
    assume(case.events and not case.is_ambiguous and case.expected)
    read = partial(run, case, engine="spark", spark=spark)
    for rows in both_readings(tmp_path_factory.mktemp("events"), case.table(), 4, read):
        check(case, rows)


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(
    # Spark's watermark begins at the epoch: what is not after it is late. A far event would fill a count window.
    trend_cases(
        groups=SEVERAL,
        max_events=12,
        windowed=True,
        count_windows=False,
        first_origin=False,
        starts=(100, 1_600_000_000),
    )
)
def test_a_stream_gives_the_values_of_the_oracle(spark: Any, tmp_path_factory: Any, case: TrendCase) -> None:
    """Micro-batches in disorder within the allowed lateness; a last event far away decides all windows but its own."""
    planned(case)
    assume(case.expected)
    folder: Path = tmp_path_factory.mktemp("stream")
    case.check(run_case_as_stream(case, folder, spark))  # type: ignore[arg-type]


# --- the worked examples of the semantics -----------------------------------------------------------------------


def stream(text: str, **columns: list[Any]) -> list[dict[str, Any]]:
    """Events from the notation of the worked examples: a letter is the type, the number the time."""
    words = text.split()
    return [
        {"ts": int(word[1:]), "kind": word[0].upper(), **{name: column[i] for name, column in columns.items()}}
        for i, word in enumerate(words)
    ]


def values(text: str, events: list[dict[str, Any]], **options: Any) -> list[tuple[Any, ...]]:
    """The rows without detected_at, in order of their values."""
    result = ev.query(text, ts="ts", ts_unit="s", type="kind", **options).run(events)
    rows = result.drop_columns(["detected_at"]).to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=str)


@pytest.mark.parametrize(("pattern", "strategy", "events", "n_trends"), WORKED_EXAMPLES)
def test_worked_examples(pattern: str, strategy: str, events: str, n_trends: int) -> None:
    assert values(f"PATTERN {pattern} SEMANTICS {strategy} RETURN COUNT(*)", stream(events)) == [(n_trends,)]


def test_the_worked_example_of_all_aggregates() -> None:
    events = stream("a1 b2 a3 a4 b7", attr=[5, None, 6, 4, None])
    text = "PATTERN (SEQ(A+, B))+ RETURN COUNT(*), COUNT(A), MIN(A.attr), MAX(A.attr), SUM(A.attr), AVG(A.attr)"
    query = ev.query(text, ts_unit="s", type="kind")
    (row,) = query.run(events).drop_columns(["detected_at"]).to_pylist()
    assert row == {
        "count": Decimal(11),
        "count_A": Decimal(20),
        "min_A_attr": 4,
        "max_A_attr": 6,
        "sum_A_attr": Decimal(100),
        "avg_A_attr": 5.0,
    }


def test_a_nested_negation_leaves_the_trends_of_each_end() -> None:
    """b2 ends 1 trend, b7 none, b9 12."""
    pattern = "(SEQ(A+, NOT SEQ(C, NOT E, D), B))+"
    words = NEGATED.split()
    for end, total in (("b2", 1), ("b7", 1), ("b9", 13)):
        before = " ".join(words[: words.index(end) + 1])
        assert values(f"PATTERN {pattern} RETURN COUNT(*)", stream(before)) == [(total,)]
