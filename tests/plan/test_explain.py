from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as ev
from eventide.plan.explain import explain
from tests.lang.corpus import read_pairs
from tests.plan.schema import SCHEMA

EXPLAINED = read_pairs("../plan/explain.txt")


@pytest.mark.parametrize(("text", "expected"), EXPLAINED, ids=[text.split("\n")[0] for text, _ in EXPLAINED])
def test_the_whole_explanation(text: str, expected: str) -> None:
    """The first line of the query says where it runs: `-- on spark`."""
    engine = text.split("\n")[0].removeprefix("-- on ")
    query = ev.query(text)
    assert explain(query.tree, query.options, SCHEMA, engine=engine) == expected


def test_without_events_the_query_as_understood() -> None:
    assert ev.query("pattern seq(A,B) within 60 s").explain() == (
        "Query\n  PATTERN SEQ(A, B)\n  WITHIN 1 minute\nPlan\n  needs the events' columns: pass the events to explain"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PATTERN SEQ(A, B) WHERE zz.x > 1", "unknown symbol 'zz'"),
        ("PATTERN SEQ(A, B) WHERE A.x < NEXT(q).y", "unknown symbol 'q'"),
        ("PATTERN SEQ(A, B) RETURN A.x, zz.y", "unknown symbol 'zz'"),
        ("PATTERN SEQ(A, B) RETURN COUNT(zz)", "unknown symbol 'zz'"),
        ("PATTERN SEQ(A, B) RETURN x", "which event's 'x'?"),
        ("PATTERN SEQ(Login a, Buy a)", "symbol 'a' stands for types 'Login' and 'Buy'"),
        ("PATTERN SEQ(A, B) DEFINE C AS x > 1", "type 'C' is defined but not in PATTERN"),
        ("PATTERN SEQ(A, B) DEFINE A AS NEXT(B).x > 1", "DEFINE is about one event"),
        ("PATTERN SEQ(A, B) MIN LENGTH 3", "a match of this pattern has 2 events, so MIN LENGTH 3 leaves none"),
        ("PATTERN SEQ(A, B) OPTIONS (origin = 'first')", "origin moves sliding windows, and this query has none"),
        ("PATTERN SEQ(A, B) RETURN A.x, B.y AS a_X", "'a_X' is the name of two columns"),
    ],
)
def test_without_events_what_no_events_can_make_right_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ev.QueryError) as caught:
        ev.query(text).explain()
    assert caught.value.message == message


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN A WHERE payload.city = 'Rome' RETURN a, A.payload.size",
        "PATTERN SEQ(A{1}, B) WHERE A.ts > 5 AND A.type = 3 AND [user] RETURN USER, length(B.tags[0]) + 1 AS n",
        "PATTERN SEQ(A, B) DEFINE A AS A.x > 1 AND place.city = 'Rome' WHERE A.ok RETURN B.x OPTIONS (ts_unit = 's')",
    ],
)
def test_without_events_nothing_is_said_about_columns(text: str) -> None:
    assert ev.query(text).explain().endswith("needs the events' columns: pass the events to explain")


def test_without_events_it_is_told_what_cannot_run_yet() -> None:
    text = ev.query("PATTERN SEQ(A a+, B b) RETURN COUNT(*)").explain()
    assert text.endswith("Operator\n  none: an aggregate over trends cannot run yet in this version")


def test_the_number_of_events_is_told_where_it_is_known() -> None:
    events = pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "type": ["A", "B"]})
    text = ev.query("PATTERN SEQ(A, B)").explain(events)
    assert text.endswith("local (2 events): one thread, because there is no partition column")
    assert "spark (2 events): one task" in ev.query("PATTERN SEQ(A, B)").explain(events, engine="spark")


def test_explain_checks_its_arguments_as_run_does() -> None:
    query = ev.query("PATTERN SEQ(A, B)")
    with pytest.raises(ev.InputError, match="there is no engine 'flink'"):
        query.explain([{"ts": 1}], engine="flink")
    with pytest.raises(ev.QueryError, match="nothing says which events are of type 'A'"):
        query.explain(pa.table({"ts": pa.array([1], pa.timestamp("s"))}))
