"""Trends of one event each are answered by windows of events, with the rows, names and types of trends."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

import eventide as ev
from eventide.families.trends.spec import TrendSpec
from eventide.families.windows.spec import WindowSpec
from tests.budget import QUICK, budgeted
from tests.families.trends.cases import trend_cases
from tests.families.trends.compare import TrendCase
from tests.families.trends.test_same_values import check, run
from tests.micro_batches import Arrival, arrivals

SCHEMA = pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("x", pa.int64()), ("w", pa.decimal128(30, 2))])


@budgeted(**QUICK)
@given(trend_cases(focus="single", groups=(1, 2, None)))
def test_single_events_have_the_oracles_values(case: TrendCase) -> None:
    check(case, run(case))


@budgeted(**QUICK)
@given(trend_cases(focus="single", count_windows=False, first_origin=False, counts="exact"), arrivals(11, 3))
def test_micro_batches_of_single_events_have_the_oracles_values(case: TrendCase, arrival: Arrival) -> None:
    try:
        physical = ev.query(case.text, **case.options).plan(case.table().schema)
    except ev.EventideError as error:
        assert "leaves none" in error.message
        return
    assert isinstance(physical.spec, WindowSpec)
    case.check_arrival(physical, arrival)


def spec_of(text: str, **options: Any) -> Any:
    return ev.query(text, ts_unit="s", type="kind", **options).plan(SCHEMA).spec


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN A RETURN COUNT(*)",
        "PATTERN A a WITHIN 5 seconds RETURN SUM(a.x)",
        "PATTERN A a SEMANTICS contiguous WITHIN 5 seconds SLIDE 2 seconds MIN LENGTH 1 RETURN AVG(a.x)",
        "PATTERN A a WITHIN 5 seconds RETURN MAX(a.w)",
    ],
)
def test_windows_answer(text: str) -> None:
    assert isinstance(spec_of(text), WindowSpec)
    shown = ev.query(text, ts_unit="s", type="kind").explain(SCHEMA.empty_table())
    assert "instead     of the operator of trends: a trend is one event here" in shown


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("PATTERN A+ WITHIN 5 seconds RETURN COUNT(*)", {}),
        ("PATTERN SEQ(A, B) WITHIN 5 seconds RETURN COUNT(*)", {}),
        ("PATTERN A WITHIN 5 EVENTS RETURN COUNT(*)", {}),
        ("PATTERN A WITHIN 5 seconds RETURN COUNT(*)", {"counts": "double"}),
        ("PATTERN A WITHIN 5 seconds RETURN COUNT(*)", {"counts": "log2"}),
        ("PATTERN A WITHIN 5 seconds RETURN COUNT(*)", {"on_overflow": "null"}),
        ("PATTERN A a WITHIN 5 seconds RETURN SUM(a.w)", {}),
    ],
)
def test_the_operator_of_trends_answers_the_rest(text: str, options: dict[str, Any]) -> None:
    assert isinstance(spec_of(text, **options), TrendSpec)


def test_a_stream_keeps_the_operator_that_its_checkpoints_know() -> None:
    query = ev.query("PATTERN A WITHIN 5 seconds RETURN COUNT(*)", ts_unit="s", type="kind")
    assert isinstance(query._plan(query.options, SCHEMA, "spark", on_stream=True).spec, TrendSpec)


def test_sums_are_exact_and_averages_the_nearest_double() -> None:
    values = [4611686018427635197, 4611686018428426906, None, 4611686018428330555]
    events = [{"ts": i, "kind": "A", "x": x} for i, x in enumerate(values)]
    text = "PATTERN A a WITHIN 9 seconds RETURN COUNT(*), COUNT(a.x), SUM(a.x), AVG(a.x)"
    (row,) = ev.query(text, ts_unit="s", type="kind").run(events).to_pylist()
    total = sum(x for x in values if x is not None)
    assert (row["count"], row["count_a_x"], row["sum_a_x"]) == (Decimal(4), Decimal(3), Decimal(total))
    assert row["avg_a_x"] == total / 3


def test_metrics_are_those_of_trends() -> None:
    events = [{"ts": 1, "kind": "A", "x": 1}, {"ts": 2, "kind": "B", "x": 2}]
    counted = []
    for options in ({}, {"on_overflow": "error"}):
        query = ev.query("PATTERN A a WITHIN 5 seconds RETURN SUM(a.x)", ts_unit="s", type="kind", **options)
        query.run(events)
        counted.append(query.last_run.metrics())
    assert counted[0] == counted[1]
    assert counted[0]["overflows"] == 0
