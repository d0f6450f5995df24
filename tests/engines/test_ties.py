"""A column named by `sequence` orders events of one time, in every family."""

from __future__ import annotations

from typing import Any

import pytest

import eventide as ev

EVENTS = [{"ts": 1, "n": 2, "kind": "B"}, {"ts": 1, "n": 1, "kind": "A"}, {"ts": 1, "n": 3, "kind": "A"}]
OPTIONS: dict[str, Any] = {"ts": "ts", "ts_unit": "s", "sequence": "n"}


@pytest.mark.parametrize("pattern", ["SEQ(A a, B b)", "SEQ(A a+, B b)", "SEQ(A a, NOT C c, B b)"])
def test_a_sequence_orders_ties_in_event_patterns(pattern: str) -> None:
    text = f"PATTERN {pattern} RETURN b.n"
    assert ev.query(text, type="kind", **OPTIONS).run(EVENTS).column("b_n").to_pylist() == [2]
    assert ev.query(text, type="kind", ties="strict", **OPTIONS).run(EVENTS).num_rows == 0
    assert ev.query(text + " OPTIONS (ties = strict)", type="kind", **OPTIONS).run(EVENTS).num_rows == 0


def test_the_same_question_has_one_answer_in_all_families() -> None:
    query = ev.query("PATTERN SEQ(A a, B b) RETURN a.n", type="kind", **OPTIONS).run(EVENTS).num_rows
    trends = ev.query("PATTERN SEQ(A a, B b) RETURN COUNT(*) AS n", type="kind", **OPTIONS).run(EVENTS)
    pattern = ev.Pattern.begin("a", "kind = 'A'").followed_by_any("b", "kind = 'B'")
    detected = ev.detect(EVENTS, pattern, **OPTIONS).matches.num_rows
    rows = ev.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts, n MEASURES A.n AS n PATTERN (A B) "
        "DEFINE A AS kind = 'A', B AS kind = 'B')",
        t=EVENTS,
    )
    assert query == int(trends.column("n")[0].as_py()) == detected == rows.num_rows == 1


def test_explain_says_whether_tied_events_follow_one_another() -> None:
    text = "PATTERN SEQ(A a, B b)"
    assert "tied events follow in the order of n" in ev.query(text, type="kind", **OPTIONS).explain(EVENTS)
    strict = ev.query(text, type="kind", ties="strict", **OPTIONS).explain(EVENTS)
    assert "tied events do not follow one another" in strict
