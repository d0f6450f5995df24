"""Patterns as joins: the worked examples, what is refused, the statement, and the choice between both plans."""

from __future__ import annotations

import json
import math
from datetime import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import eventide as ev
from eventide.cli.app import app
from eventide.engines.local.sources import open_source
from eventide.families.registry import family_named
from eventide.plan.choose import choose_plan
from tests.families.events.cases import EPOCH_US, SECOND
from tests.plan.relational.planning import planning

KINDS = [("A", 1), ("B", 2), ("A", 3), ("C", 4), ("B", 5), ("C", 6)]
EVENTS = [{"ts": ts, "kind": kind, "x": i} for i, (kind, ts) in enumerate(KINDS)]


def query(text: str, **options: Any) -> ev.Query:
    return ev.query(text, ts_unit="s", type="kind", **options)


def rows(text: str, events: Any = None, **options: Any) -> list[tuple[Any, ...]]:
    """The rows as joins, which are those of the matcher."""
    asked, given = query(text, **options), EVENTS if events is None else events
    found, matched = asked.run(given, plan="joins"), asked.run(given, plan="kernels")
    assert found.schema == matched.schema
    listed = [sorted(tuple(map(str, row.values())) for row in table.to_pylist()) for table in (found, matched)]
    assert listed[0] == listed[1]
    return [tuple(row.values()) for row in found.to_pylist()]


@pytest.mark.parametrize(
    ("pattern", "n_rows"),
    [
        ("SEQ(A, B) WITHIN 4 seconds", 2),
        ("AND(A, B) WITHIN 4 seconds", 3),
        ("OR(A, B) WITHIN 4 seconds", 4),
        ("ITER(A, 2) WITHIN 4 seconds", 1),
        ("SEQ(A, NOT B, C) WITHIN 4 seconds", 1),
        ("SEQ(A, B, C) WITHIN 4 seconds", 2),
        ("SEQ(A, C) SEMANTICS next WITHIN 4 seconds", 2),
        ("SEQ(A, C) SEMANTICS contiguous WITHIN 4 seconds", 1),
        ("SEQ(A, NOT B) WITHIN 4 seconds", 0),
        ("SEQ(NOT B, C) WITHIN 4 seconds", 0),
        ("SEQ(A, B) WITHIN 4 seconds SLIDE 1 second", 5),
        ("SEQ(A, B) WITHIN 4 seconds SLIDE 2 seconds", 2),
        ("SEQ(A, B) WITHIN 4 seconds SLIDE 4 seconds", 1),
        ("SEQ(A, AND(B, C))", 6),
        ("SEQ(A, B?, C) SEMANTICS next", 2),
    ],
)
def test_the_worked_examples_have_their_rows(pattern: str, n_rows: int) -> None:
    assert len(rows(f"PATTERN {pattern}")) == n_rows


def test_events_of_one_time_do_not_follow_one_another() -> None:
    tied = [{"ts": 1, "kind": "A", "x": 0}, {"ts": 1, "kind": "A", "x": 1}]
    assert rows("PATTERN ITER(A, 2) WITHIN 4 seconds", tied) == []
    assert len(rows("PATTERN ITER(A, 2) WITHIN 4 seconds", tied, ties="sequence")) == 1


@pytest.mark.parametrize(("pattern", "n_trends"), [("A+", 11), ("A{2}", 5), ("A{2,}", 7), ("A{1,3}", 11)])
def test_trends_of_one_event_are_counted_by_the_numbers_of_tied_events(pattern: str, n_trends: int) -> None:
    tied = [{"ts": ts, "kind": "A"} for ts in (1, 1, 2, 3)]
    assert rows(f"PATTERN {pattern} RETURN COUNT(*)", tied) == [(n_trends, 3)]


def test_what_is_absent_between_two_events_has_another_time_than_both() -> None:
    for ts in (1, 3):
        tied = [{"ts": ts, "kind": kind, "x": 0} for kind, ts in (("A", 1), ("B", ts), ("C", 3))]
        assert len(rows("PATTERN SEQ(A, NOT B, C)", tied)) == 1
        assert len(rows("PATTERN SEQ(A, NOT B, C) WHERE B.x >= A.x", tied)) == 1
    between = [{"ts": ts, "kind": kind, "x": 0} for kind, ts in (("A", 1), ("B", 2), ("C", 3))]
    assert rows("PATTERN SEQ(A, NOT B, C)", between) == rows("PATTERN SEQ(A, NOT B, C) WHERE B.x >= A.x", between) == []


def test_a_trailing_absence_ends_before_its_window_does() -> None:
    for last, n_rows in ((5, 1), (4, 0)):
        events = [{"ts": ts, "kind": kind, "x": 0} for kind, ts in (("A", 1), ("B", last), ("C", 9))]
        assert len(rows("PATTERN SEQ(A, NOT B) WITHIN 4 seconds", events)) == n_rows


def test_an_event_of_two_types_is_two_rows_of_an_or() -> None:
    text = "PATTERN OR(Low, Even) DEFINE Low AS x < 2, Even AS x % 2 = 0 RETURN Low.x AS low, Even.x AS even"
    assert sorted(rows(text), key=str) == [(0, None, 1), (1, None, 2), (None, 0, 1), (None, 2, 3), (None, 4, 5)]


def test_an_absent_event_may_be_compared_with_others() -> None:
    text = "PATTERN SEQ(A, NOT B, C) WHERE B.x > A.x + 1 RETURN A.x, C.x"
    assert sorted(rows(text)) == [(0, 3, 4), (2, 3, 4)]


def test_a_null_key_is_a_partition_of_its_own() -> None:
    events = [{**event, "u": None if i < 2 else "x"} for i, event in enumerate(EVENTS)]
    assert len(rows("PATTERN SEQ(A, B) PARTITION BY u WITHIN 4 seconds", events)) == 2


@pytest.mark.parametrize(
    "kind", [pa.timestamp("us"), pa.timestamp("ms"), pa.timestamp("us", "Europe/Paris"), pa.date32()]
)
def test_times_of_any_type_come_back_in_it(kind: pa.DataType) -> None:
    day = 86_400 * SECOND
    step = day if pa.types.is_date(kind) else SECOND
    times = pa.array([EPOCH_US + event["ts"] * step for event in EVENTS], pa.timestamp("us"))
    table = pa.table({"ts": times.cast(kind), "kind": [event["kind"] for event in EVENTS]})
    within = "4 days" if pa.types.is_date(kind) else "4 seconds"
    for pattern in (f"SEQ(C, NOT A) WITHIN {within}", f"SEQ(B, C) WITHIN {within} SLIDE {within}"):
        asked = ev.query(f"PATTERN {pattern}", type="kind", close_at_end=True)
        found, matched = asked.run(table, plan="joins"), asked.run(table)
        assert found.schema == matched.schema and found.num_rows == matched.num_rows > 0
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, matched.to_pylist()))


def test_windows_may_begin_at_the_first_event() -> None:
    assert rows("PATTERN SEQ(A, B) WITHIN 2 seconds SLIDE 2 seconds", origin="first") == [(1, 2, 1, 3, 2)]


def test_the_plan_is_an_option_of_the_query_and_of_the_call() -> None:
    text = "PATTERN SEQ(A, B) WITHIN 4 seconds RETURN A.x, B.x"
    said = query(f"{text} OPTIONS (plan = joins)").run(EVENTS)
    assert said.to_pylist() == query(text, plan="joins").run(EVENTS).to_pylist()
    assert sum(batch.num_rows for batch in query(text).batches(EVENTS, plan="joins")) == said.num_rows == 2
    with pytest.raises(ev.EventideError, match="plan='join' is not possible"):
        query(text).run(EVENTS, plan="join")


@pytest.mark.parametrize(
    ("text", "options", "message", "underlined"),
    [
        ("PATTERN SEQ(A+, B)", {}, "a repetition without an upper bound", "A+"),
        ("PATTERN SEQ(A{5}, B)", {}, "a repetition of more than 4 copies", "A{5}"),
        ("PATTERN A+ RETURN COUNT(*), SUM(A.x)", {}, "an aggregate over trends", "RETURN COUNT(*), SUM(A.x)"),
        ("PATTERN SEQ(A, B) RETURN COUNT(*)", {}, "an aggregate over trends", "RETURN COUNT(*)"),
        ("PATTERN A+ RETURN COMPLETE TRENDS", {}, "RETURN COMPLETE TRENDS", "RETURN COMPLETE TRENDS"),
        ("PATTERN SEQ(A{1,2}, B) WHERE AVG(A.x) > 1", {}, "an aggregate in WHERE", "AVG(A.x) > 1"),
        ("PATTERN SEQ(A, NOT SEQ(B, NOT D), C)", {}, "a NOT at the edge of something that is negated itself", "D"),
        ("PATTERN SEQ(A, B) OPTIONS (match_id = true)", {}, "match_id", "match_id = true"),
        ("PATTERN SEQ(A, B)", {"max_matches_per_partition": 9}, "max_matches_per_partition", ""),
    ],
)
def test_what_has_no_form_as_joins_is_refused_with_its_place(
    text: str, options: dict[str, Any], message: str, underlined: str
) -> None:
    with pytest.raises(ev.EventideError) as caught:
        query(text, **options).run(EVENTS, plan="joins")
    assert caught.value.message == f"{message} is not possible with plan='joins'"
    assert caught.value.hint == "leave out plan: the matcher of Eventide runs the query"
    if underlined:
        assert isinstance(caught.value, ev.QueryError)
        assert text[caught.value.start : caught.value.end] == underlined


def test_other_kinds_of_queries_have_no_joins() -> None:
    with pytest.raises(ev.EventideError, match="plan='joins' is for event patterns"):
        ev.query("DEFINE Hot AS x > 2, Wet AS x > 3 PATTERN Hot overlaps Wet", ts_unit="s", plan="joins").run(EVENTS)


def test_an_event_without_a_time_is_an_error_or_is_dropped() -> None:
    bad = [*EVENTS, {"ts": None, "kind": "A", "x": 9}]
    text = "PATTERN SEQ(A, B) WITHIN 4 seconds RETURN A.x, B.x"
    with pytest.raises(ev.InputError, match=r"an event has no time: 'ts' is NULL in the event with .*x = 9"):
        query(text).run(bad, plan="joins")
    assert query(text, on_bad_event="drop").run(bad, plan="joins").num_rows == 2


def test_the_statement_runs_as_it_is() -> None:
    asked = query("PATTERN SEQ(A, NOT B, C) WITHIN 4 seconds RETURN A.x, C.x")
    statement = asked.to_sql("duckdb", EVENTS, table="cars")
    connection = duckdb.connect()
    connection.register("cars", pa.Table.from_pylist(EVENTS))
    assert connection.sql(statement).fetchall() == [(2, 3, 4)]
    assert "RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING" in statement


def test_names_of_results_and_tables_may_be_words_of_sql() -> None:
    text = 'PATTERN SEQ(A, B) WITHIN 4 seconds RETURN A.x AS `order`, B.x AS `a "b"`, A.x + B.x AS select'
    assert sorted(rows(text)) == [(0, 1, 1, 2), (2, 4, 6, 5)]
    statement = query(text).to_sql("duckdb", EVENTS, table="group")
    connection = duckdb.connect()
    connection.register("group", pa.Table.from_pylist(EVENTS))
    assert len(connection.sql(statement).fetchall()) == 2


def test_each_dialect_has_its_own_words() -> None:
    asked = query("PATTERN SEQ(A, B) WHERE [x] WITHIN 4 seconds SLIDE 2 seconds")
    spark, embedded = (asked.to_sql(dialect, EVENTS) for dialect in ("spark", "duckdb"))
    assert "p0 <=> " in spark and "explode(sequence(" in spark and "pmod(" in spark
    assert "p0 IS NOT DISTINCT FROM " in embedded and "unnest(range(" in embedded
    with pytest.raises(ev.EventideError, match="dialect='oracle' is not possible"):
        asked.to_sql("oracle", EVENTS)


def test_conditions_are_written_so_that_a_reader_of_files_can_use_them() -> None:
    statement = query("PATTERN SEQ(A, B) WHERE A.x > 1 AND A.x < B.x").to_sql("spark", EVENTS)
    assert "WHERE\n    (`kind` = 'A') AND (`x` > 1)" in statement
    assert "`e1_c2` < `e2_c2`" in statement


def test_numbers_of_windows_never_run_backwards() -> None:
    """Spark's `sequence` counts down where a match is in no window."""
    statement = query("PATTERN SEQ(A, B) WITHIN 4 seconds SLIDE 4 seconds").to_sql("spark", EVENTS)
    assert "WHERE\n      first_k <= last_k\n" in statement


def test_the_rarest_event_is_joined_first() -> None:
    many = [{"ts": i, "kind": "A" if i % 50 else "C", "x": i} for i in range(200)]
    text = query("PATTERN SEQ(A a, A b, C) WITHIN 3 seconds").explain(many, plan="joins")
    assert "order of joins" not in text  # explain does not read the events
    source = open_source(many)
    mapped, _ = planning(query("PATTERN SEQ(A a, A b, C) WITHIN 3 seconds")).local_joins(source)
    assert "order of joins C, b, a: C is rarest, about 4 events" in mapped.reasons


def test_explain_has_the_statement_and_the_reasons() -> None:
    text = query("PATTERN SEQ(A, NOT B, C) WITHIN 4 seconds").explain(EVENTS, plan="joins")
    titles = [line for line in text.splitlines() if not line.startswith(" ")]
    assert titles == ["Query", "Logical plan", "Plan", "Statement"]
    assert "  chosen      joins: asked for" in text
    assert "  optimized   NOT B: a running maximum before in place of a join" in text
    assert "  optimized   O1: joins on buckets of one window of time, in place of a range" in text
    assert "WITH step_1 AS (" in text


def test_explain_weighs_both_plans_where_it_is_asked_to() -> None:
    asked = query("PATTERN SEQ(A, C) WITHIN 4 seconds")
    assert "\nPlan\n" not in asked.explain(EVENTS)
    text = asked.explain(EVENTS, plan="auto")
    assert "  chosen      kernels: the embedded operator is faster" in text
    refused = query("PATTERN SEQ(A+, C) WITHIN 4 seconds").explain(EVENTS, plan="auto")
    assert "  joins       none: a repetition without an upper bound is not possible with plan='joins'" in refused


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("PATTERN A", "joins"),
        ("PATTERN OR(A, OR(B, C))", "joins"),
        ("PATTERN SEQ(A, B)", "kernels"),
        ("PATTERN SEQ(A, NOT B)", "kernels"),
        ("PATTERN A OPTIONS (on_bad_event = drop)", "kernels"),
    ],
)
def test_auto_takes_joins_on_spark_where_nothing_is_matched(text: str, plan: str) -> None:
    schema = pa.schema([("ts", pa.int64()), ("kind", pa.string())])
    asked = query(text)
    node = family_named("events").plan(asked.tree, asked.options, schema, engine="spark").node
    assert choose_plan("auto", node, "spark").plan == plan
    assert choose_plan("auto", node, "local").plan == "kernels"


def test_the_command_line_runs_joins_and_prints_their_statement(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(pa.Table.from_pylist(EVENTS), path)
    options = ["--input", str(path), "--ts-unit", "s", "--type", "kind"]
    asked = ["-c", "PATTERN SEQ(A, NOT B, C) WITHIN 4 seconds RETURN A.x, C.x"]
    ran = CliRunner().invoke(app, ["run", *asked, *options, "--plan", "joins", "--json"])
    assert json.loads(ran.stdout) == {"A_x": 2, "C_x": 3, "detected_at": 4}
    printed = CliRunner().invoke(app, ["sql-of", *asked, *options, "--dialect", "duckdb", "--table", "cars"])
    assert 'FROM "cars"' in printed.stdout
    explained = CliRunner().invoke(app, ["check", *asked, *options, "--plan", "joins"])
    assert "chosen      joins: asked for" in explained.stdout


@pytest.mark.parametrize("condition", ["A.x > 5", "5 < A.x", "NOT (A.x <= 5)", "A.x <> 1", "coalesce(A.x, 7.0) > 5"])
def test_rows_with_nan_are_not_lost_by_statistics_of_files(condition: str, tmp_path: Path) -> None:
    """Statistics leave NaN out, and NaN is greater than all numbers."""
    table = pa.table({"ts": [1, 2, 3, 4], "kind": ["A"] * 4, "x": [1.0, math.nan, 2.0, 9.0]})
    path = tmp_path / "events.parquet"
    pq.write_table(table, path, row_group_size=2)
    query = ev.query(f"PATTERN A WHERE {condition} RETURN A.ts", ts_unit="s", type="kind")
    expected = sorted(query.run(table, plan="kernels").column(0).to_pylist())
    assert 2 in expected
    for source in (table, str(path)):
        assert sorted(query.run(source, plan="joins").column(0).to_pylist()) == expected
    assert "AS STRING) AS BOOLEAN" in query.to_sql("spark", table)


@pytest.mark.parametrize("side", ["A?", "A*", "A{0,2}", "SEQ(A?, Z?)"])
def test_a_negated_and_has_an_event_on_each_side(side: str) -> None:
    query = ev.query(f"PATTERN SEQ(NOT AND({side}, B), C) RETURN C.ts", ts_unit="s", type="kind")
    for kinds, n_rows in (("ABC", 0), ("BC", 1), ("AC", 1)):
        events = [{"ts": ts, "kind": kind} for ts, kind in enumerate(kinds)]
        assert query.run(events, plan="kernels").num_rows == n_rows
        assert query.run(events, plan="joins").num_rows == n_rows


def test_columns_of_any_type_are_returned() -> None:
    kinds = {"b": pa.binary(), "m": pa.map_(pa.string(), pa.int64()), "t": pa.time64("us")}
    rows = [{"ts": 1, "kind": "A", "b": b"x", "m": [("k", 1)], "t": time(1, 2)}, {"ts": 2, "kind": "B"}]
    table = pa.Table.from_pylist(rows, pa.schema({"ts": pa.int64(), "kind": pa.string(), **kinds}))
    query = ev.query("PATTERN OR(A, B) RETURN A.b, A.m, A.t", ts_unit="s", type="kind")
    assert query.run(table, plan="joins").sort_by("detected_at").to_pylist()[0] == {
        "A_b": b"x",
        "A_m": [("k", 1)],
        "A_t": time(1, 2),
        "detected_at": 1,
    }


def test_times_out_of_range_are_refused_as_the_operator_does() -> None:
    query = ev.query("PATTERN A RETURN A.ts", ts_unit="s", type="kind")
    with pytest.raises(ev.EventideError, match="out of range"):
        query.run(pa.table({"ts": [2**62], "kind": ["A"]}), plan="joins")
