"""Every constructor returns the same object: the table of constructors and methods, walked once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.plan.explain import TITLES

EVENTS = [{"ts": i, "kind": kind, "x": x} for i, (kind, x) in enumerate([("A", 1), ("B", 2), ("A", 3), ("B", 1)])]
INTERVALS = [{"interval_start": 1, "interval_end": 5}, {"interval_start": 3, "interval_end": 9}]

CONSTRUCTORS: dict[str, tuple[Callable[..., ev.Query], dict[str, Any]]] = {
    "ev.query, event pattern": (
        lambda **given: ev.query("PATTERN SEQ(A a, B b) WITHIN 9 seconds RETURN a.x", type="kind", **given),
        {"events": EVENTS},
    ),
    "ev.query, trends": (
        lambda **given: ev.query("PATTERN A a+ WITHIN 9 seconds RETURN COUNT(*)", type="kind", **given),
        {"events": EVENTS},
    ),
    "ev.query, situations": (
        lambda **given: ev.query("DEFINE H AS x > 1, L AS x < 2 PATTERN H meets L WITHIN 9 seconds", **given),
        {"events": EVENTS},
    ),
    "ev.aggregate": (
        lambda **given: ev.aggregate("count(*) AS n", by="kind", window="2 seconds", **given),
        {"events": EVENTS},
    ),
    "ev.match_recognize": (
        lambda **given: ev.match_recognize(
            order_by="ts", pattern="A B", define={"B": "x > A.x"}, measures={"n": "B.x"}, within="9 seconds", **given
        ),
        {"events": EVENTS},
    ),
    "ev.sql": (
        lambda **given: ev.sql(
            "SELECT n FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES B.x AS n PATTERN (A B) WITHIN 9 seconds "
            "DEFINE B AS x > A.x)",
            **given,
        ),
        {"t": EVENTS},
    ),
    "ev.detect": (
        lambda **given: ev.detect(
            ev.Pattern.begin("a", "kind = 'A'").followed_by("b", "kind = 'B'").within("9 seconds"), **given
        ),
        {"events": EVENTS},
    ),
    "ev.intervals.homogeneous": (
        lambda **given: ev.intervals.homogeneous("x > 1", within="9 seconds", **given),
        {"events": EVENTS},
    ),
    "ev.intervals.delta": (lambda **given: ev.intervals.delta("x", 1, **given), {"events": EVENTS}),
    "ev.intervals.heterogeneous": (
        lambda **given: ev.intervals.heterogeneous(start="kind = 'A'", end="kind = 'B'", **given),
        {"events": EVENTS},
    ),
    "ev.query, join": (
        lambda **given: ev.query("FROM a JOIN b ON a.x = b.x WITHIN 9 seconds RETURN a.kind, b.kind", **given),
        {"a": EVENTS, "b": EVENTS},
    ),
    "ev.join": (
        lambda **given: ev.join(on="x", within="9 seconds", asof="backward", **given),
        {"left": EVENTS, "right": EVENTS},
    ),
    "ev.allen": (
        lambda **given: ev.allen("overlaps", within="9 seconds", **given),
        {"left": INTERVALS, "right": INTERVALS},
    ),
}
_EACH = pytest.mark.parametrize("name", CONSTRUCTORS)

# What has no meaning, with words of the reason.
REFUSED = {
    ("ev.query, situations", "diagnose"): "diagnose is for event patterns",
    ("ev.sql", "live"): "a statement needs whole tables",
    ("ev.sql", "late"): "a statement has no late events",
    ("ev.sql", "plan"): "a statement has a plan for each MATCH_RECOGNIZE",
    ("ev.query, join", "live"): "live input is one input",
    ("ev.query, join", "plan"): "this query has two inputs",
    ("ev.query, join", "diagnose"): "a join has no steps",
    ("ev.join", "live"): "live input is one input",
    ("ev.join", "plan"): "this query has two inputs",
    ("ev.join", "diagnose"): "a join has no steps",
    ("ev.allen", "live"): "live input is one input",
    ("ev.allen", "plan"): "this query has two inputs",
    ("ev.allen", "diagnose"): "a pair of intervals has no steps",
    ("ev.aggregate", "diagnose"): "this query has no steps",
    ("ev.intervals.homogeneous", "diagnose"): "this query has no steps",
    ("ev.intervals.delta", "diagnose"): "this query has no steps",
    ("ev.intervals.heterogeneous", "diagnose"): "this query has no steps",
}


def made(name: str, **options: Any) -> tuple[ev.Query, dict[str, Any]]:
    constructor, inputs = CONSTRUCTORS[name]
    return constructor(ts_unit="s", **options), inputs


def call(name: str, method: str, *given: Any, **inputs: Any) -> Any:
    """What a method returns, or None where it must be refused, and is."""
    asked, _ = made(name)
    refusal = REFUSED.get((name, method))
    if refusal is None:
        return getattr(asked, method)(*given, **inputs)
    with pytest.raises(ev.UnsupportedError, match=refusal) as error:
        getattr(asked, method)(*given, **inputs)
    assert error.value.hint
    return None


@_EACH
def test_a_constructor_without_events_returns_a_query_and_its_run_what_the_constructor_returns_with_them(
    name: str,
) -> None:
    asked, inputs = made(name)
    assert isinstance(asked, ev.Query)
    rows = asked.run(**inputs)
    if name == "ev.detect":
        rows = rows.matches
    assert isinstance(rows, pa.Table)
    assert asked(**inputs) == asked.run(**inputs, memory_limit="1GB")


@_EACH
def test_batches_are_the_rows(name: str) -> None:
    asked, inputs = made(name)
    batches = list(asked.batches(**inputs))
    assert all(isinstance(batch, pa.RecordBatch) for batch in batches)
    rows = asked.run(**inputs)
    n_rows = rows.matches.num_rows + rows.timeouts.num_rows if name == "ev.detect" else rows.num_rows
    assert sum(batch.num_rows for batch in batches) == n_rows


@_EACH
def test_explain_with_and_without_the_inputs(name: str) -> None:
    asked, inputs = made(name)
    assert "needs the" in asked.explain()
    assert asked.explain(**inputs) != asked.explain()
    assert str(asked)


@_EACH
def test_explain_has_the_same_sections_in_the_same_order(name: str) -> None:
    asked, inputs = made(name)
    for text in (asked.explain(), asked.explain(**inputs)):
        # The sections of a statement's clauses stand below a line of their own.
        lines = text.split("\nresult_0: ")[0].splitlines()
        shown = [line for line in lines if not line.startswith(" ")]
        assert shown == [title for title in TITLES if title in shown]
        assert {"Query", "Logical plan"} <= set(shown)


@_EACH
def test_every_query_binds_to_scans_of_its_inputs(name: str) -> None:
    if name == "ev.sql":
        return  # A statement has a plan for each of its clauses.
    asked, inputs = made(name)
    asked.explain(**inputs)
    (planned,) = asked._plans.values()
    scans = list(planned.node.scans())
    assert len(scans) == len(inputs)
    assert all(scan.ts in scan.schema.names for scan in scans)


@_EACH
def test_metrics_of_the_last_run(name: str) -> None:
    asked, inputs = made(name)
    assert asked.metrics() == {}
    asked.run(**inputs)
    assert asked.metrics()["relevant_events"] > 0 and asked.metrics()["dropped_events"] == 0


@_EACH
def test_bounded_input_has_no_late_events(name: str) -> None:
    asked, inputs = made(name)
    if (name, "late") in REFUSED:
        call(name, "late", **inputs)
        return
    with pytest.raises(ev.InputError, match="only a stream has late events"):
        asked.late(**inputs)


@_EACH
def test_live_input_gives_what_a_run_gives(name: str) -> None:
    live = call(name, "live", [EVENTS])
    if live is not None:
        found = list(live)
        assert all(isinstance(each, ev.Detection if name == "ev.detect" else pa.Table) for each in found)
        assert live.metrics()["events"] == len(EVENTS)


@_EACH
def test_diagnose_says_why_there_is_no_match(name: str) -> None:
    _, inputs = made(name)
    found = call(name, "diagnose", **inputs)
    assert found is None or len(found.table)


@_EACH
def test_a_plan_over_a_schema(name: str) -> None:
    plan = call(name, "plan", pa.Table.from_pylist(EVENTS).schema)
    assert plan is None or plan.spec.query


@_EACH
def test_situations_are_those_of_situation_queries(name: str) -> None:
    asked, _ = made(name)
    if name == "ev.query, situations":
        assert asked.situations(EVENTS).num_rows == 3
        return
    with pytest.raises(ev.UnsupportedError, match="only a query that relates situations has any"):
        asked.situations(EVENTS)


@_EACH
def test_events_without_a_time_are_dropped_and_counted_where_that_is_asked(name: str) -> None:
    asked, inputs = made(name, on_bad_event="drop")
    column = "interval_end" if name == "ev.allen" else "ts"
    bad = {key: [*rows, {**rows[0], column: None}] for key, rows in inputs.items()}
    asked.run(**bad)
    assert asked.metrics()["dropped_events"] == len(inputs)
    with pytest.raises(ev.EventideError):
        made(name)[0].run(**bad)


@_EACH
def test_lateness_is_an_option_of_every_constructor(name: str) -> None:
    asked, inputs = made(name, allowed_lateness="5 seconds")
    asked.run(**inputs)
    with pytest.raises(ev.EventideError, match="allowed_lateness='soon' is not a duration"):
        made(name, allowed_lateness="soon")


@_EACH
def test_engines_are_checked_alike(name: str) -> None:
    asked, inputs = made(name)
    for method in (asked.run, asked.explain, asked.batches):
        with pytest.raises(ev.InputError, match="there is no engine 'flink'"):
            method(engine="flink", **inputs)
    with pytest.raises(ev.EventideError, match="memory_limit='much' is not a size"):
        asked.run(memory_limit="much", **inputs)
