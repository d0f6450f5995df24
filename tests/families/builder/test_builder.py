"""The builder: every method gives a new pattern, and what makes no sense is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

import eventide as ev

begin = ev.Pattern.begin


def test_a_pattern_does_not_change() -> None:
    start = begin("a", "x = 1")
    longer = start.next("b").one_or_more()
    assert str(start) == "begin('a', 'x = 1')"
    assert repr(start) == "Pattern.begin('a', 'x = 1')"
    assert str(longer) == "begin('a', 'x = 1').next('b').one_or_more()"
    assert start == begin("a", "x = 1")


def test_modifiers_apply_to_the_step_before_them() -> None:
    pattern = begin("a").times(0, 2).consecutive().greedy().followed_by_any("b").one_or_more().until("x = 1")
    assert str(pattern) == (
        "begin('a').times(1, 2).optional().consecutive().greedy().followed_by_any('b').one_or_more().until('x = 1')"
    )


def test_a_pattern_in_place_of_a_name_is_a_group() -> None:
    group = begin("b").next("c")
    assert str(begin("a").followed_by(group).times(2)) == "begin('a').followed_by(begin('b').next('c')).times(2)"


def test_the_program_can_be_read() -> None:
    pattern = begin("a", "x = 1").not_followed_by("b", "x = 2").followed_by("c", "x = 3").optional()
    assert pattern.explain().split("\nProgram\n")[1].splitlines() == [
        "  0  take a if a: go to 1, accept",
        "  1  take c if c: accept",
        "     ignore if not c: go to 2",
        "     an event if b: stop",
        "  2  take c if c: accept",
        "     ignore if not c: go to 2",
        "     an event if b: stop",
    ]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: begin("a").greedy(), "greedy: 'a' takes one event only"),
        (lambda: begin("a").consecutive(), "consecutive: 'a' takes one event only"),
        (lambda: begin("a").times(2).until("x = 1"), "until: 'a' takes at most 2 events anyway"),
        (lambda: begin("a").one_or_more().until("x = 1").until("x = 2"), "until is given twice for 'a'"),
        (lambda: begin("a").one_or_more().times(2), "times: 'a' has a count already"),
        (lambda: begin("a").times(3, 2), r"times\(3, 2\) is not a range of counts"),
        (lambda: begin("a").times_or_more(0), r"times_or_more\(0\) is not a count"),
        (lambda: begin("a").one_or_more().consecutive().allow_combinations(), "contradict each other"),
        (lambda: begin("a").one_or_more().allow_combinations().greedy(), "contradict each other"),
        (lambda: begin("a").one_or_more().greedy().next("b").optional(), "'b' comes after the greedy step 'a'"),
        (lambda: begin(begin("a").next("b")).one_or_more().greedy(), r"the group \(a, b\) is a group"),
        (lambda: begin("a").next("A"), "two steps are called 'A'"),
        (lambda: begin("a").next(begin("b").next("a")), "two steps are called 'a'"),
        (lambda: begin("a").next(""), "next takes the name of a step, found ''"),
        (lambda: begin("a", " "), "begin takes a condition as text"),
        (lambda: begin("a").optional().not_next("b"), "not_next: the step before, 'a', is optional"),
        (lambda: begin("a").not_next("b").optional(), "optional: 'b' must not occur"),
        (lambda: begin("a").not_followed_by("b").not_next("c"), "takes no event that anything could be next to"),
        (lambda: begin("a").next(begin("b").within("1 minute")), "within belongs to the whole pattern"),
        (lambda: begin("a").next(begin("b").not_followed_by("c")), "a group cannot end in not_followed_by"),
        (lambda: begin("a").not_next(begin("b")), "not a group"),
        (lambda: begin("a").within("5 apples"), "within"),
        (lambda: begin("a").within("5 events"), "counts events, but a pattern is bounded by a time"),
        (lambda: begin("a").within("1 s").within("2 s"), "within is given twice"),
        (lambda: begin("a").within("1 s", between="steps"), "between='steps' is not possible"),
        (lambda: begin("a").not_followed_by("b").explain(), "nothing says how long 'b' must not occur"),
    ],
)
def test_misuse_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ev.EventideError, match=message):
        build()


@pytest.mark.parametrize("condition", ["max(a.s) = 'c'", "min(a.s) < 'c'", "sum(a.s) > 1", "sum(a.at) > 1"])
def test_aggregates_that_a_condition_cannot_compute_are_refused(condition: str) -> None:
    rows = [{"ts": i, "s": s, "at": dt.datetime(2024, 1, 1)} for i, s in enumerate("bcad")]
    pattern = ev.Pattern.begin("a").one_or_more().consecutive().next("b", condition)
    with pytest.raises(ev.EventideError, match=r"there is no (min|max|sum) of (string|timestamp)"):
        ev.detect(rows, pattern, ts="ts", ts_unit="s")


def test_the_greatest_time_so_far_can_be_asked_for() -> None:
    rows = [{"ts": i, "at": dt.datetime(2024, 1, day)} for i, day in enumerate((2, 1, 3))]
    pattern = ev.Pattern.begin("a").times(2).consecutive().next("b", "at > max(a.at)")
    assert ev.detect(rows, pattern, ts="ts", ts_unit="s").matches.num_rows == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"partition_by": None}, "partition_by must be a name or a list of names, found None"),
        ({"partition_by": [1]}, "partition_by must be a name or a list of names, found list"),
        ({"select": ["n"]}, "select must be a dict from names to expressions, found list"),
        ({"select": {"n": 5}}, r"select\['n'\] must be text, found int"),
    ],
)
def test_wrong_arguments_are_told(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ev.EventideError, match=message):
        ev.detect([{"ts": 1}], ev.Pattern.begin("a"), ts_unit="s", **arguments)


LOOP = begin("a", "kind = 'a'").one_or_more()
SEVERAL = "in several ways at once: n events have up to 2^n matches"
COMBINED = "repeats in any combination: n events have up to 2^n matches"
UNBOUNDED = "nothing bounds n: add within(...)"


@pytest.mark.parametrize(
    ("pattern", "warning"),
    [
        (LOOP.followed_by("b", "kind = 'b'"), None),
        (begin(LOOP).times(3), None),
        (begin(LOOP.consecutive().next("b", "kind = 'b'")).one_or_more().consecutive(), None),
        (begin(LOOP).one_or_more(), f"'a' repeats {SEVERAL}; {UNBOUNDED}"),
        (begin(LOOP).one_or_more().within("1 hour"), f"'a' repeats {SEVERAL}; within(...) bounds n"),
        (begin(LOOP.followed_by("b", "kind = 'b'")).one_or_more(), f"'a' and 'b' repeat {SEVERAL}; {UNBOUNDED}"),
        (begin("a", "x > 1").times(1, 40).allow_combinations(), f"'a' {COMBINED}; {UNBOUNDED}"),
        (begin("a", "x > 1").times(1, 20).allow_combinations(), None),
    ],
)
def test_explain_warns_of_loops_in_which_an_event_may_do_two_things(pattern: ev.Pattern, warning: str | None) -> None:
    lines = pattern.explain().splitlines()
    told = [line.removeprefix("  warning     ") for line in lines if line.startswith("  warning")]
    assert told == ([] if warning is None else [warning])
