"""Binding to a schema: whole messages, wrong options in a call, and only our errors whatever the query."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import eventide as ev
from tests.budget import budgeted
from tests.lang.corpus import VALID, check_message, each_message, read_pairs
from tests.lang.strategies import mutated
from tests.plan.schema import SCHEMA

INVALID = read_pairs("../plan/invalid.txt")
NOT_YET = [(query, message) for query, message in INVALID if "cannot run yet" in message]


@each_message(INVALID)
def test_the_whole_message(text: str, message: str) -> None:
    check_message(lambda: ev.query(text).plan(SCHEMA), message)


@each_message(NOT_YET)
def test_what_cannot_run_yet_binds_and_is_explained(text: str, message: str) -> None:
    events = SCHEMA.empty_table().drop_columns(["zone"])
    explained = ev.query(text).explain(events)
    reason = message.split(" (line")[0]
    assert "Logical plan" in explained
    assert f"none: {reason}" in explained
    check_message(lambda: ev.query(text).run(events), message)


def test_nothing_is_missing_among_what_cannot_run_yet() -> None:
    reasons = {message.split(" cannot run yet")[0] for _, message in NOT_YET}
    assert reasons == {"a window that counts events", "RETURN COMPLETE TRENDS"}


def test_a_sequence_has_at_most_62_steps() -> None:
    steps = [f"A s{i}" for i in range(63)]
    query = "PATTERN SEQ(\n" + ",\n".join(steps) + ")"
    with pytest.raises(ev.QueryError) as caught:
        ev.query(query).plan(SCHEMA)
    assert str(caught.value) == "a SEQ has at most 62 steps (line 64, column 1)\n  A s62)\n  ^^^^^"
    ev.query(query.replace(",\nA s62", "")).plan(SCHEMA)


# --- what is given in the call has no place in the text ---------------------------------------------------

NO_TIME = pa.schema({"type": pa.string(), "x": pa.int32()})
TWO_TIMES = pa.schema({"type": pa.string(), "began": pa.timestamp("us"), "ended": pa.timestamp("us", "UTC")})
ONE_TIME = pa.schema({"type": pa.string(), "began": pa.timestamp("us"), "n": pa.int64()})
UNTYPED = pa.schema({"ts": pa.timestamp("us"), "kind": pa.string()})


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        (
            NO_TIME,
            {},
            "which column holds the time? the events have no timestamp column\nHint: pass ts='column'",
        ),
        (
            TWO_TIMES,
            {},
            "which column holds the time? it could be began or ended\nHint: pass ts='column'",
        ),
        (ONE_TIME, {"ts": "begun"}, "ts: unknown column 'begun'\nHint: did you mean 'began'?"),
        (
            ONE_TIME,
            {"ts": "n"},
            "the time column 'n' holds integers, and nothing says their unit\nHint: give ts_unit = 's', 'ms' or 'us'",
        ),
        (
            ONE_TIME,
            {"ts": "type"},
            "the time column 'type' is string\nHint: it must be a timestamp, a date, or an integer with ts_unit: "
            "CAST(type AS TIMESTAMP)",
        ),
        (
            ONE_TIME,
            {"ts_unit": "s"},
            "ts_unit is for integers; the time column 'began' is timestamp_ntz\nHint: leave it out",
        ),
        (ONE_TIME, {"type": "kind"}, "type: unknown column 'kind'\nHint: known: type, began, n"),
        (ONE_TIME, {"sequence": "m"}, "sequence: unknown column 'm'\nHint: known: type, began, n"),
        (ONE_TIME, {"partition_by": "N, m"}, "unknown column 'm'\nHint: known: type, began, n"),
        (
            SCHEMA,
            {"partition_by": ["tags"]},
            "cannot partition by 'tags': it is list<item: string>\n"
            "Hint: partition by a plain column; a part of it can be one, computed before the query",
        ),
    ],
)
def test_an_option_of_the_call_that_does_not_fit(schema: pa.Schema, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ev.EventideError) as caught:
        ev.query("PATTERN SEQ(A, B)", **options).plan(schema)
    assert str(caught.value) == message


def test_types_need_a_column_or_a_definition() -> None:
    with pytest.raises(ev.QueryError) as caught:
        ev.query("PATTERN SEQ(A, B) DEFINE A AS kind = 'a'").plan(UNTYPED)
    assert str(caught.value) == (
        "nothing says which events are of type 'B' (line 1, column 16)\n"
        "  PATTERN SEQ(A, B) DEFINE A AS kind = 'a'\n"
        "                 ^\n"
        "Hint: pass type='column', or DEFINE B AS <condition>"
    )


def test_a_default_column_may_clash_with_what_eventide_adds() -> None:
    schema = pa.schema({"ts": pa.timestamp("us"), "type": pa.string(), "detected_at": pa.string()})
    with pytest.raises(ev.QueryError, match="'detected_at' is the name of a column that Eventide adds"):
        ev.query("PATTERN SEQ(A, B) PARTITION BY detected_at").plan(schema)
    named = "PATTERN SEQ(A, B) PARTITION BY detected_at RETURN detected_at AS place"
    assert [column.name for column in ev.query(named).plan(schema).project] == ["place", "detected_at"]


# --- what binds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("PATTERN SEQ(A, B)", ["A_ts", "B_ts", "detected_at"]),
        ("PATTERN SEQ(A, B) PARTITION BY User", ["user", "A_ts", "B_ts", "detected_at"]),
        ("PATTERN SEQ(A, A, B)", ["B_ts", "detected_at"]),
        ("PATTERN SEQ(A, B) RETURN a.Price, b.QTY + 1", ["A_price", "b.QTY + 1", "detected_at"]),
        ("PATTERN SEQ(A, B) RETURN A.payload.city", ["A.payload.city", "detected_at"]),
        ("PATTERN A RETURN price, payload.city AS city", ["A_price", "city", "detected_at"]),
        (
            "PATTERN SEQ(A, B) WHERE [user] WITHIN 2 h SLIDE 1 h RETURN user OPTIONS (match_id = true)",
            ["user", "window_start", "window_end", "match_id", "detected_at"],
        ),
    ],
)
def test_names_of_the_result(query: str, names: list[str]) -> None:
    assert [column.name for column in ev.query(query).plan(SCHEMA).project] == names


def test_a_symbol_goes_before_a_column_of_the_same_name() -> None:
    schema = pa.schema({"ts": pa.timestamp("us"), "type": pa.string(), "a": pa.struct({"ts": pa.string()})})
    plan = ev.query("PATTERN SEQ(A, B) RETURN a.ts, B.a.ts AS inner").plan(schema)
    assert plan.output_schema is not None
    assert plan.output_schema.field("s0_ts").type == pa.timestamp("us")


# --- whatever the query ------------------------------------------------------------------------------------

WORDS = """
    A B C A.price B.price a.qty price user A.user B.user [user] [tags] NEXT(A).price NEXT(B).qty A.payload.city A.tags
    SEQ( AND( OR( NOT A+ B* C? A{2,3} ITER(A,2) ( ) , + - * / < = > AND OR COUNT(*) COUNT(A) SUM(A.price) SUM(price)
    MAX(B.user) AVG(A.qty) 1 2.5 'text' NULL TRUE DEFINE WHERE RETURN PATTERN SEMANTICS next contiguous WITHIN 5
    minutes SLIDE EVENTS PARTITION BY GROUP MIN LENGTH 3 AS x detected_at OPTIONS (ts='code') (ts_unit='s')
    (sequence='qty',ties='sequence') (match_id=true) (origin='first') (possible=true) COMPLETE TRENDS
    before B|meets DEFINE end(A) start( FOR AT LEAST length( upper( CASE WHEN THEN END
"""
TEXTS = [query for query, _ in [*INVALID, *VALID]]
CONDITIONS = """
    A.price B.price A.qty B.qty NEXT(B).price NEXT(C).qty A.user B.user user A.tags A.payload.city A.payload A.ts B.day
    COUNT(A) SUM(A.price) 1 2.5 'a' NULL true A.cost B.flag A.seen_at INTERVAL'1'DAY DATE'2024-01-31' A *
"""
FUNCTIONS = "sum count max coalesce length if foo next"
OPERATORS = "+ - * / % = <> < >= <=> || AND OR LIKE IS IN BETWEEN"


def only_our_errors(text: str) -> None:
    for engine in ("local", "spark"):
        try:
            query = ev.query(text)
            query.plan(SCHEMA, engine)
        except ev.EventideError as error:
            assert error.message
        else:
            query.explain()


def only_our_errors_without_events(text: str) -> None:
    try:
        ev.query(text).explain()
    except ev.EventideError as error:
        assert error.message


@budgeted()
@given(mutated(TEXTS, WORDS.split()))
def test_mutated_queries_bind_or_raise_our_errors(text: str) -> None:
    only_our_errors(text)
    only_our_errors_without_events(text)


def _grow(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{} {} {}".format, parts, st.sampled_from(OPERATORS.split()), parts),
        st.builds("({})".format, parts),
        st.builds("{}({})".format, st.sampled_from(FUNCTIONS.split()), parts),
        st.builds("CASE WHEN {} THEN {} END".format, parts, parts),
        st.builds("CAST({} AS {})".format, parts, st.sampled_from(["int", "string", "date", "array<int>"])),
    )


EXPRESSIONS = st.recursive(st.sampled_from(CONDITIONS.split()), _grow, max_leaves=6)
PATTERNS = st.sampled_from(
    ["A", "SEQ(A, B, C)", "SEQ(A+, B, C)", "SEQ(A, NOT B, C)", "SEQ(NOT A, NOT B)", "AND(A, OR(B, C))", "SEQ(A, A, B)"]
)


@budgeted()
@given(PATTERNS, EXPRESSIONS, EXPRESSIONS)
@example("SEQ(NOT A, NOT B)", "user = 'x'", "user")
def test_random_expressions_bind_or_raise_our_errors(pattern: str, condition: str, value: str) -> None:
    only_our_errors(f"PATTERN {pattern} WHERE {condition} PARTITION BY user RETURN {value} AS r")
    only_our_errors(f"PATTERN {pattern} DEFINE A AS {condition} RETURN {value}")
    only_our_errors_without_events(f"PATTERN {pattern} DEFINE A AS {condition} WHERE {condition} RETURN {value}")
