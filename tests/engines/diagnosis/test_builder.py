"""What a diagnosis of a builder pattern says; and that it finds the matches that `ev.detect` finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given

import eventide as ev
from tests.budget import budgeted
from tests.families.builder.cases import Case, cases
from tests.oracle.diagnosis.builder import missing_events

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
begin = ev.Pattern.begin("a", "kind = 'a'")


def inner(kind: str) -> ev.Pattern:
    return ev.Pattern.begin(kind, f"kind = '{kind}'")


def events(letters: str) -> list[dict[str, Any]]:
    return [{"ts": i, "kind": kind, "x": i} for i, kind in enumerate(letters) if kind != " "]


def diagnosed(pattern: ev.Pattern, letters: str) -> dict[str, Any]:
    (row,) = pattern.diagnose(events(letters), ts_unit="s").table.to_pylist()
    assert row["matched"] == bool(ev.detect(events(letters), pattern, ts_unit="s").matches.num_rows)
    return row


@pytest.mark.parametrize(
    ("pattern", "letters", "expected"),
    [
        (begin.followed_by("b", "kind = 'b'"), "cc", (0, "a", "condition", "kind = 'a'", 0)),
        (begin.followed_by("b", "kind = 'b'"), "bca", (1, "b", "no event", None, None)),
        (begin.followed_by("b", "kind = 'b'"), "ac", (1, "b", "condition", "kind = 'b'", 1)),
        (begin.followed_by("b", "kind = 'b' AND x > a.x + 5"), "ab", (1, "b", "condition", "x > a.x + 5", 1)),
        (begin.next("b", "kind = 'b'"), "acb", (1, "b", "contiguity", "next('b')", 2)),
        (
            begin.followed_by("b", "kind = 'b'").within("2 seconds"),
            "a  b",
            (1, "b", "window", "within('2 seconds')", 3),
        ),
        (
            begin.followed_by("b", "kind = 'b'").within("2 seconds", between="events"),
            "a  b",
            (1, "b", "window", "within('2 seconds', between='events')", 3),
        ),
        (
            begin.not_followed_by("n", "kind = 'n'").followed_by("b", "kind = 'b'"),
            "anb",
            (1, "b", "absence", "not n", 2),
        ),
        (
            begin.not_followed_by("n", "kind = 'n'").within("2 seconds"),
            "an  n",
            (1, "n", "absence", "not_followed_by('n', \"kind = 'n'\")", 1),
        ),
        (
            begin.not_followed_by("n", "kind = 'n'").within("5 seconds"),
            "ab",
            (1, "n", "window", "within('5 seconds')", None),
        ),
        (begin.not_next("n", "kind = 'n'"), "an", (1, "n", "absence", "not_next('n', \"kind = 'n'\")", 1)),
        (begin.not_next("n", "kind = 'n'"), "ba", (1, "n", "no event", None, None)),
        (begin.followed_by("b", "kind = 'b'").times(3), "abb", (3, "b", "no event", None, None)),
        (begin.followed_by("b", "kind = 'b'").times(3), "abbc", (3, "b", "condition", "kind = 'b'", 3)),
        (
            begin.followed_by("b", "kind = 'b'").times(3).consecutive(),
            "abbcb",
            (3, "b", "contiguity", "next('b')", 4),
        ),
        (begin.next("b", "b.x > 5").times(2), "aaa", (1, "b", "condition", "b.x > 5", 1)),
        # groups
        (
            begin.next(ev.Pattern.begin("b", "kind = 'a'").next("c", "x > 100")),
            "aab",
            (2, "c", "condition", "x > 100", 2),
        ),
        (begin.followed_by(inner("b").followed_by("c", "kind = 'c'")), "ab", (2, "c", "no event", None, None)),
        (begin.followed_by(inner("b").next("c", "kind = 'c'")), "aba", (2, "c", "condition", "kind = 'c'", 2)),
        (begin.followed_by(inner("b").next("c")).times(2), "abcabc", None),
        (begin.followed_by(inner("b").next("c")).times(2), "abcab", (4, "c", "no event", None, None)),
        (begin.followed_by(inner("b").next("c")).times(2), "abca", (3, "b", "condition", "kind = 'b'", 3)),
        (
            begin.followed_by(inner("b").next("c")).times(2).consecutive(),
            "abcabc",
            (3, "b", "contiguity", "next('b')", 4),
        ),
        (
            begin.followed_by(inner("b").not_followed_by("n", "kind = 'n'").followed_by("c", "kind = 'c'")),
            "abnc",
            (2, "c", "absence", "not n", 3),
        ),
        (
            begin.followed_by(inner("b").optional().next("c", "kind = 'c'").next("d", "kind = 'd'")),
            "acx",
            (2, "d", "condition", "kind = 'd'", 2),
        ),
        (
            begin.followed_by("b", "kind = 'b'").optional().next("c", "kind = 'c'").next("d"),
            "ac",
            (2, "d", "no event", None, None),
        ),
        (
            begin.followed_by("b", "kind = 'b'").optional().next("c", "kind = 'c'").optional().next("d", "kind = 'd'"),
            "abcx",
            (3, "d", "condition", "kind = 'd'", 3),
        ),
    ],
)
def test_the_first_demand_that_no_event_meets_failed(
    pattern: ev.Pattern, letters: str, expected: tuple[Any, ...] | None
) -> None:
    row = diagnosed(pattern, letters)
    assert row["matched"] == (expected is None)
    if expected is None:
        return
    assert tuple(row[name] for name in ("length", "symbol", "reason", "predicate", "event")) == expected


def test_values_of_earlier_steps_are_shown() -> None:
    pattern = begin.followed_by("b", "kind = 'b'").one_or_more().followed_by("c", "kind = 'c' AND x > avg(b.x) + 9")
    assert diagnosed(pattern, "abc")["values"] == "x = 2, avg(b.x) = 1.0"


@pytest.mark.parametrize(
    ("pattern", "letters", "found", "values"),
    [
        (
            begin.one_or_more().greedy().next("b", "kind = 'b' AND x > 5 * avg(a.x)"),
            "aaab",
            [0, 1, 2],
            "x = 3, avg(a.x) = 1.0",
        ),
        (
            begin.one_or_more().next("b", "kind = 'b' AND x > 5 * count(a.*)"),
            "ccaaab",
            [2, 3, 4],
            "x = 5, count(a.*) = 3",
        ),
        (begin.followed_by_any("b", "kind = 'b' AND x < a.x"), "aab", [0], "x = 2, a.x = 0"),
        # The first a alone could not go on: the second is what the condition was tried with.
        (begin.next("b", "kind = 'b'").next("c", "x > 9 + b.x"), "aabc", [1, 2], "x = 3, b.x = 2"),
        (
            begin.one_or_more().greedy().not_next("n", "x > avg(a.x)"),
            "aaan",
            [0, 1, 2],
            "x = 3, avg(a.x) = 1.0",
        ),
        # Events in time are preferred, and what is found is in time.
        (
            begin.one_or_more().next("b", "kind = 'b' AND x > 99 + avg(a.x)").within("3 seconds"),
            "a   aab",
            [4, 5],
            "x = 6, avg(a.x) = 4.5",
        ),
        (
            begin.one_or_more().followed_by("b", "kind = 'b' AND x > 99 + avg(a.x)").within("3 seconds"),
            "a    ac  b",
            [0],
            "x = 9, avg(a.x) = 0.0",
        ),
    ],
)
def test_values_are_those_of_the_events_that_are_shown(
    pattern: ev.Pattern, letters: str, found: list[int], values: str
) -> None:
    row = diagnosed(pattern, letters)
    assert (row["events"], row["length"], row["values"]) == (found, len(found), values)


@pytest.mark.parametrize(
    ("pattern", "letters", "found"),
    [
        (begin.followed_by("b", "kind = 'b'"), "caabb", [1, 3]),
        # The second a is complete first, and the first one afterwards.
        (begin.followed_by("b", "kind = 'b' AND x > 3 + a.x OR kind = 'c' AND x < 2 + a.x"), "aacb", [1, 2]),
        (begin.followed_by("b", "kind = 'b' AND x > 3 + a.x OR kind = 'c' AND x < 2 + a.x"), "aacdb", [0, 4]),
        # The first a has no b that is large enough: what it took does not stand for what the second took.
        (begin.followed_by("b", "kind = 'b' AND x < a.x + 3"), "accab", [3, 4]),
        # The first a runs out of time, and the second does not.
        (begin.followed_by("b", "kind = 'b'").within("3 seconds"), "a  ab", [3, 4]),
        (begin.followed_by("b", "kind = 'b'").within("3 seconds"), "a a b", [2, 4]),
        (begin.not_followed_by("n", "kind = 'n'").within("3 seconds"), "anac  c", [2]),
        (begin.one_or_more().followed_by("b", "kind = 'b'"), "aab", [0, 1, 2]),
    ],
)
def test_the_first_match_of_a_partition_is_found(pattern: ev.Pattern, letters: str, found: list[int]) -> None:
    row = diagnosed(pattern, letters)
    assert (row["matched"], row["events"]) == (True, found)
    begun = [match["match_start"] for match in ev.detect(events(letters), pattern, ts_unit="s").matches.to_pylist()]
    assert min(begun) == found[0]


def test_partitions_are_told_apart() -> None:
    rows = [event | {"g": event["x"] % 2} for event in events("aabc")]
    why = begin.followed_by("b", "kind = 'b'").diagnose(rows, partition_by="g", ts_unit="s")
    assert why.table.select(["g", "matched", "length"]).to_pylist() == [
        {"g": 1, "matched": False, "length": 1},
        {"g": 0, "matched": True, "length": 2},
    ]


@budgeted(suppress_health_check=list(HealthCheck), phases=PHASES)
@given(cases(most=6))
def test_random_patterns_come_as_far_as_the_oracle_says(case: Case) -> None:
    why = case.built.diagnose(case.table(), partition_by="key", sequence="seq", ts="ts", ts_unit="s")
    end_time = max((event["ts"] for event in case.events), default=0)
    for row in why.table.to_pylist():
        mine = [event for event in case.events if event["key"] == row["key"]]
        missing = missing_events(case.steps, mine, end_time)
        assert (row["matched"], row["missing"]) == (missing is None, missing or 0)


def test_a_condition_may_name_a_step_that_was_left_out() -> None:
    events = [{"ts": ts, "kind": "A", "x": 5 - ts} for ts in range(4)]
    steps = ev.Pattern.begin("s0", "kind = 'Z'").optional().next("s1", "kind = 'A' AND x > s0.x")
    found = steps.diagnose(events, ts="ts", ts_unit="s")
    assert "found    nothing" in str(found)
    assert "failed   s1 at 0: x > s0.x" in str(found) and "s0.x = NULL" in str(found)
    longer = ev.Pattern.begin("a", "kind = 'A'").followed_by("s0", "kind = 'Z'").optional().next("s1", "x > s0.x")
    assert "failed   s1 at 1: x > s0.x" in str(longer.diagnose(events, ts="ts", ts_unit="s"))
