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
