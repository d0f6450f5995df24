"""Rules are added, replaced and removed at the borders of micro-batches, and do not touch each other."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from eventide.errors import InputError
from tests.rules.bucket import SCHEMA, START_US, Stream, pairs, table

pytest.importorskip("pyspark")

AB = "PATTERN SEQ(A a, B b) WITHIN 8 ms RETURN a.amount, b.amount"
AC = "PATTERN SEQ(A a, C c) WITHIN 8 ms RETURN a.amount, c.amount"


def test_a_rule_sees_the_events_of_the_batch_that_it_comes_with() -> None:
    stream = Stream()
    found = stream.step(table([(0, "A"), (1, "B"), (9, "X")]), ab=AB)
    assert pairs(found) == [("ab", [0, 1])]
    assert found[0]["match_id"] and found[0]["problem"] is None
    assert found[0]["detected_at"].timestamp() == pytest.approx(START_US / 1e6 + 0.001)


def test_a_rule_sees_no_event_from_before_it_came() -> None:
    stream = Stream()
    stream.step(table([(0, "A")]), ab=AB)
    assert pairs(stream.step(table([(1, "B"), (2, "C"), (9, "X")]), ac=AC)) == [("ab", [0, 0])]


def test_a_removed_rule_is_gone_with_all_that_it_held() -> None:
    stream = Stream()
    stream.step(table([(0, "A")]), ab=AB, ac=AC)
    stream.step(None, ab=None)
    assert {key[0] for key in stream.rules} == {"ac"} == {key[0] for key in stream.segments}
    assert pairs(stream.step(table([(1, "B"), (2, "C"), (9, "X")]))) == [("ac", [0, 1])]


def test_a_replaced_rule_starts_anew() -> None:
    stream = Stream()
    stream.step(table([(0, "A")]), ab=AB)
    assert stream.step(table([(1, "B"), (2, "C")]), ab=AC) == []
    assert pairs(stream.step(table([(3, "A"), (4, "C"), (9, "X")]))) == [("ab", [0, 1])]


@pytest.mark.parametrize("other", [AB.replace("8 ms", "8 milliseconds"), AB.replace(" ", "  ") + " -- again"])
def test_a_rule_in_other_words_goes_on(other: str) -> None:
    stream = Stream()
    stream.step(table([(0, "A")]), ab=AB)
    assert pairs(stream.step(table([(1, "B"), (9, "X")]), ab=other)) == [("ab", [0, 0])]
    assert json.loads(stream.rules["ab",][0])["query"] == other


def test_other_options_start_a_rule_anew() -> None:
    stream = Stream()
    stream.step(table([(0, "A")]), ab=AB)
    changed = {"query": AB, "options": '{"max_matches_per_partition": 5}'}
    assert stream.step(table([(1, "B"), (9, "X")]), ab=changed) == []


def test_changes_touch_no_other_rules_state() -> None:
    stream = Stream()
    stream.step(table([(0, "A"), (1, "B")]), ab=AB, ac=AC)
    before = {key: value for state in (stream.rules, stream.segments) for key, value in state.items() if key[0] == "ac"}
    for change in (AC, "PATTRN", None):
        stream.step(None, ab=change, new=change)
        touched = {key[0] for key in stream.rules.touched | stream.segments.touched}
        assert touched <= {"ab", "new"} and "ab" in touched
    after = {key: value for state in (stream.rules, stream.segments) for key, value in state.items()}
    assert after == before


def test_events_that_a_rule_does_not_want_leave_its_state_alone() -> None:
    stream = Stream()
    stream.step(table([(0, "A")]), ab=AB, ac=AC)
    stream.step(table([(1, "C"), (9, "X")]))
    assert {key[0] for key in stream.rules.touched | stream.segments.touched} == {"ac"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("PATTRN SEQ(A a)", "expected a clause, found 'PATTRN' (line 1, column 1)"),
        (AB.replace("a.amount", "a.sum"), "unknown column 'sum' (line 1, column 44)"),
        ("ev.intervals.threshold(events, 'amount > 1')", "a rule is the text of a query, and this is Python"),
        ("import eventide as ev", "a rule is the text of a query, and this is Python"),
        (AB.replace("WITHIN 8 ms ", ""), "a stream cannot run this query: without a WITHIN clause"),
    ],
)
def test_a_rule_that_cannot_run_is_reported_once_and_the_others_go_on(text: str, problem: str) -> None:
    stream = Stream()
    found = pairs(stream.step(table([(0, "A"), (1, "B"), (9, "X")]), ab=AB, broken=text))
    assert found[0] == ("ab", [0, 1])
    assert found[1][0] == "broken" and found[1][1][0].startswith(problem)
    assert pairs(stream.step(table([(10, "A"), (11, "B"), (19, "X")]))) == [("ab", [0, 1])]


def test_only_one_bucket_reports_what_every_bucket_finds() -> None:
    assert Stream(label=7).step(None, broken="PATTRN") == []
    assert len(Stream(label=0).step(None, broken="PATTRN")) == 1


FAILING = "PATTERN SEQ(A a, B b) WHERE CAST(a.kind AS INT) < 1 WITHIN 10 seconds RETURN a.amount, b.amount"


def test_a_rule_that_fails_is_switched_off_until_it_is_replaced() -> None:
    stream = Stream(label=7)
    assert pairs(stream.step(table([(0, "A"), (1, "B"), (9, "X")]), ab=AB, failing=FAILING)) == [("ab", [0, 1])]
    assert not [key for key in stream.segments if key[0] == "failing"]
    assert pairs(stream.step(table([(10, "A"), (11, "B"), (19, "X")]))) == [("ab", [0, 1])]
    assert pairs(stream.step(None, failing=AB)) == []
    assert [name for name, _ in pairs(stream.step(table([(20, "A"), (21, "B"), (29, "X")])))] == ["ab", "failing"]
    assert stream.told == []


def test_a_bucket_tells_what_failed_until_it_hears_that_all_know_it() -> None:
    stream = Stream(label=7)
    stream.step(table([(0, "A"), (1, "B"), (9, "X")]), failing=FAILING)
    (failure,) = stream.told
    assert (failure["bucket"], failure["rule"], failure["query"]) == (7, "failing", FAILING)
    assert "cannot cast to INTEGER" in failure["problem"]
    stream.step(table([(10, "X")]))
    assert stream.told == [failure]
    assert stream.step(None, failing={"query": FAILING, "options": None, "failed": failure["problem"]}) == []
    assert stream.told == []
    stream.step(table([(11, "A")]))
    assert stream.told == []


def test_a_rule_that_failed_in_one_bucket_is_off_in_the_others_and_the_first_one_says_it() -> None:
    told = {"query": AB, "options": None, "failed": "too large"}
    first, other = Stream(), Stream(label=7)
    for stream in (first, other):
        assert pairs(stream.step(table([(0, "A"), (1, "B"), (9, "X")]), ab=AB)) == [("ab", [0, 1])]
    assert pairs(first.step(table([(10, "A"), (11, "B"), (19, "X")]), ab=told)) == [("ab", ["too large"])]
    assert pairs(other.step(table([(10, "A"), (11, "B"), (19, "X")]), ab=told)) == []
    assert not first.segments and not other.segments
    for stream in (first, other):
        assert pairs(stream.step(table([(20, "A"), (21, "B"), (29, "X")]), ab=AB)) == [("ab", [0, 1])]


def test_without_a_way_to_the_driver_each_bucket_says_what_failed_in_it() -> None:
    stream = Stream(label=7)
    stream.tell = None
    assert [name for name, _ in pairs(stream.step(table([(0, "A")]), failing=FAILING))] == ["failing"]
    assert stream.step(table([(1, "A")])) == []


def test_a_failure_that_nobody_was_told_of_is_said_by_a_bucket_that_can_tell_nobody() -> None:
    stream = Stream(label=7)
    stream.step(table([(0, "A")]), failing=FAILING)
    stream.tell = None
    assert [name for name, _ in pairs(stream.step(table([(1, "A")])))] == ["failing"]
    assert stream.step(table([(2, "A")])) == []


def test_a_failing_rule_starts_again_when_it_is_written_anew() -> None:
    limited = {"query": AB, "options": '{"max_matches_per_partition": 1}'}
    stream = Stream()
    stream.step(table([(0, "A"), (1, "A"), (2, "B"), (9, "X")]), ab=limited)
    assert [failure["rule"] for failure in stream.told] == ["ab"]
    found = stream.step(table([(10, "A"), (11, "B"), (19, "X")]), ab=limited | {"query": AB + "  "})
    assert pairs(found) == [("ab", [0, 1])]


def test_a_quiet_bucket_decides_when_the_watermark_comes() -> None:
    stream = Stream(delay_ms=None)
    assert stream.step(table([(0, "A"), (5, "B")]), ab=AB) == []
    assert len(stream.timers) == 1
    stream.newest_ms = START_US // 1000 + 5
    assert pairs(stream.step()) == [("ab", [0, 1])]


def test_the_one_timer_is_that_of_the_earliest_rule() -> None:
    within = "PATTERN SEQ(A a, NOT B b) WITHIN {} seconds RETURN a.amount"
    stream = Stream()
    stream.step(table([(0, "A")]), slow=within.format(5), fast=within.format(2))
    assert len(stream.timers) == 1
    (first,) = stream.timers
    stream.step(None, fast=None)
    (second,) = stream.timers
    assert second - first == 3000


def test_every_family_can_be_a_rule() -> None:
    stream = Stream()
    rules = {
        "trend": "PATTERN SEQ(A a+, B b) WITHIN 10 ms RETURN user, COUNT(*) AS n",
        "situation": "DEFINE Odd AS kind = 'A', Even AS kind = 'B' PATTERN Odd meets Even WITHIN 1 second RETURN user",
        "rows": "SELECT n AS number FROM events MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES count(*) AS n "
        "PATTERN (A B) WITHIN INTERVAL '1' SECOND DEFINE A AS kind = 'A', B AS kind = 'B')",
    }
    found = stream.step(table([(0, "A"), (3, "B"), (5000, "X")]), **rules)
    found += stream.step(table([(9000, "X")]))
    assert [(row["rule"], row["row"], row["problem"]) for row in sorted(found, key=lambda row: row["rule"])] == [
        ("rows", '{"number": 2}', None),
        ("situation", '{"user": "u"}', None),
        ("trend", found_trend(found), None),
    ]
    by_rule = {row["rule"]: row for row in found}
    assert by_rule["rows"]["match_id"] and by_rule["rows"]["detected_at"] is None
    assert by_rule["trend"]["match_id"] is None and by_rule["trend"]["detected_at"] is not None


def found_trend(found: list[dict[str, Any]]) -> str:
    """The row of the rule `trend`, whose count is checked here."""
    (text,) = (row["row"] for row in found if row["rule"] == "trend")
    assert json.loads(text)["n"] == "1"
    return str(text)


def test_counters_stand_behind_the_rows_of_each_rule_that_ran() -> None:
    from eventide.engines.spark.counters import Counters

    stream = Stream(label=3)
    stream.step(table([(0, "A"), (1, "B"), (9, "X")]), ab=AB, ac=AC)
    counted = {counters.rule: counters for counters in map(Counters.parse, stream.counters)}
    assert counted.keys() == {"ab", "ac"}
    assert (counted["ab"].events, counted["ab"].matches, counted["ab"].bucket) == (2, 1, 3)
    assert (counted["ac"].events, counted["ac"].matches) == (1, 0)
    stream.step(table([(1, "A"), (20, "X")]))
    assert {c.rule: c.late_events for c in map(Counters.parse, stream.counters)} == {"ab": 1, "ac": 1}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"n_buckets": 2}, "n_buckets=1"),
        ({"partition_by": ["user", "kind"]}, "partition_by=['user']"),
        ({"type": None}, "type='kind'"),
    ],
)
def test_a_set_that_changes_under_its_checkpoint_is_refused_with_what_changed(
    changed: dict[str, Any], named: str
) -> None:
    stream = Stream()
    stream.step(table([(0, "A")]), ab=AB)
    stream.configure(**changed)
    with pytest.raises(InputError, match=r"the checkpoint was made with") as caught:
        stream.step(table([(1, "A")]))
    assert named in caught.value.message


def test_rules_over_a_column_that_has_gone_are_switched_off_at_the_start() -> None:
    stream = Stream()
    plain = "PATTERN SEQ(A a, B b) WITHIN 10 seconds RETURN a.user"
    stream.step(table([(0, "A")]), ab=AB, plain=plain)
    schema = pa.schema([field for field in SCHEMA if field.name != "amount"])
    stream.configure(schema)
    assert pairs(stream.step(table([]).select(schema.names), other=plain)) == [
        ("ab", ["unknown column 'amount' (line 1, column 44)"])
    ]
    found = stream.step(table([(1, "B"), (9, "X")]).select(schema.names))
    assert pairs(found) == [("plain", ["u"])]
