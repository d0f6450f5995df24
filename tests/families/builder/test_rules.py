"""One rule of builder patterns at a time, on words: a letter is an event's kind, one event a second."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import eventide as ev

begin = ev.Pattern.begin


def step(pattern: Any, method: str, letter: str) -> ev.Pattern:
    """A step that takes the events of one kind; in upper case: any event."""
    condition = None if letter.isupper() else f"kind = '{letter}'"
    made = getattr(pattern, method)(letter, condition)
    assert isinstance(made, ev.Pattern)
    return made


def first(letter: str) -> ev.Pattern:
    return step(ev.Pattern, "begin", letter)


def detect(pattern: ev.Pattern, word: str, **options: Any) -> ev.Detection:
    schema = pa.schema({"ts": pa.int64(), "kind": pa.string(), "n": pa.int64()})
    events = [{"ts": i, "kind": letter, "n": i} for i, letter in enumerate(word)]
    return ev.detect(pa.Table.from_pylist(events, schema=schema), pattern, ts_unit="s", **options)


def places(table: pa.Table) -> list[str]:
    """Each match as the places of its events in the word."""
    rows = table.to_pylist()
    found = [[e["n"] for events in row.values() if isinstance(events, list) for e in events] for row in rows]
    return sorted("".join(map(str, sorted(numbers))) for numbers in found)


def matches(pattern: ev.Pattern, word: str, **options: Any) -> list[str]:
    return places(detect(pattern, word, **options).matches)


PAIR = step(first("b"), "followed_by", "c")  # as a group


# --- groups ---------------------------------------------------------------------------------------------------


def test_events_passed_over_behind_a_repeated_group_do_not_multiply_a_match() -> None:
    for count in (lambda p: p.one_or_more(), lambda p: p.times(1, 3)):
        assert matches(step(count(begin(PAIR)), "followed_by", "d"), "bcxxd") == ["014"]


def test_a_group_at_the_head_of_a_group_follows_as_the_outer_one_does() -> None:
    nested = step(begin(step(first("b"), "next", "c")), "followed_by", "d")
    assert matches(first("a").followed_by(nested), "axbcd") == ["0234"]
    assert matches(first("a").next(nested), "axbcd") == []
    again = step(begin(nested).times(2).consecutive(), "next", "e")
    assert matches(again, "bcdbcde") == ["0123456"]
    assert matches(again, "bcdxbcde") == []


def test_the_first_event_of_a_group_may_be_that_of_its_second_step() -> None:
    group = step(first("b").optional(), "next", "c")
    assert matches(first("a").next(group), "ac") == ["01"]
    assert matches(first("a").next(group), "axc") == []


def test_an_iteration_without_an_event_does_not_loosen_the_link_of_its_group() -> None:
    group = first("b").optional()
    for count in (lambda p: p.one_or_more(), lambda p: p.times(1, 3), lambda p: p.times(2)):
        pattern = step(count(first("a").next(group)), "followed_by", "d")
        assert matches(pattern, "axbd") == ["03"]
        assert matches(pattern, "abd") == ["012", "02"]
    assert matches(step(first("a").next(group).optional(), "followed_by", "d"), "ad") == ["01"]


def test_until_of_a_group_concerns_the_groups_inside_it() -> None:
    inner = step(first("b").followed_by(step(first("c"), "followed_by_any", "D")), "followed_by", "e")
    pattern = first("a").followed_by(inner).one_or_more()
    assert matches(pattern, "abcue") == ["01234"]
    assert matches(pattern.until("kind = 'u'"), "abcue") == []


def test_a_group_is_left_at_the_event_that_ends_it() -> None:
    group = step(first("b"), "followed_by", "c").one_or_more()
    pattern = step(begin(group).one_or_more().until("kind = 'd'"), "followed_by", "d")
    assert matches(pattern, "bccd") == ["0123", "013"]


# --- NOT ------------------------------------------------------------------------------------------------------


def test_what_must_not_follow_must_not_come_before_a_later_optional_group() -> None:
    pattern = step(step(first("a"), "not_followed_by", "n").followed_by(PAIR).optional(), "followed_by", "d")
    assert matches(pattern, "axbcd") == ["0234", "04"]
    assert matches(pattern, "axnbcd") == []


def test_what_must_not_follow_a_repeated_step_must_not_come_between_its_iterations() -> None:
    for group in (begin(PAIR).one_or_more(), begin(PAIR).times(2)):
        assert matches(step(step(group, "not_followed_by", "n"), "followed_by", "d"), "bcxbcd")[0] == "01345"
        assert "01456" not in matches(step(step(group, "not_followed_by", "n"), "followed_by", "d"), "bcxnbcd")
    inside = begin(step(first("b"), "followed_by", "c").times(2))
    assert matches(step(step(inside, "not_followed_by", "n"), "followed_by", "d"), "bcxcd") == ["0134"]
    assert matches(step(step(inside, "not_followed_by", "n"), "followed_by", "d"), "bcxncd") == []
    two = step(step(step(first("a").times(2), "not_followed_by", "n"), "not_followed_by", "m"), "followed_by", "d")
    assert matches(two, "axad") == ["023"]
    assert matches(two, "axnad") == matches(two, "axmad") == []


def test_a_forbidden_event_ends_a_partial_match_that_could_also_go_on_otherwise() -> None:
    pattern = step(step(step(first("a"), "followed_by", "b").one_or_more(), "not_next", "c"), "followed_by", "d")
    assert matches(pattern, "abcbd") == []
    assert matches(pattern, "abbd") == ["0123", "013"]


def test_not_next_does_not_look_at_the_event_before_it() -> None:
    pattern = begin("a", "kind = 'a'").not_next("n", "kind = 'a'").followed_by("b", "kind = 'b'").optional()
    assert matches(pattern, "axb") == ["0", "02"]
    assert matches(pattern, "aab") == ["0", "1", "12"]


def test_not_next_at_the_end_waits_for_the_next_event_also_in_a_group() -> None:
    pattern = step(first("a"), "not_next", "n")
    for whole in (pattern, begin(pattern), begin(pattern).one_or_more()):
        assert "0" not in matches(whole, "a")
        assert "0" not in matches(whole, "an")
        assert "0" in matches(whole, "ax")


def test_what_is_left_out_in_a_group_does_not_end_the_not_before_it() -> None:
    group = step(step(first("b"), "not_followed_by", "n"), "followed_by", "c").optional()
    pattern = step(begin(group).times(2), "followed_by", "d")
    assert matches(pattern, "bxbd") == ["023"]
    assert matches(pattern, "bxnbd") == []


# --- greedy and until -----------------------------------------------------------------------------------------


def test_greedy_holds_at_the_end_of_a_group_that_repeats() -> None:
    group = step(first("b"), "followed_by", "a").one_or_more().greedy()
    assert matches(step(begin(group).one_or_more(), "followed_by", "d"), "baad") == ["0123"]


def test_a_greedy_step_that_is_full_leaves_events_to_the_next_step() -> None:
    pattern = step(first("a").times(1, 2).greedy(), "next", "B")
    assert matches(pattern, "aaa") == ["012"]
    assert matches(step(first("a").times(1, 2).greedy(), "followed_by", "b"), "aaaxb") == ["014", "124", "24"]


def test_a_greedy_step_that_until_has_ended_leaves_events_to_the_next_step() -> None:
    pattern = step(first("a").one_or_more().greedy().until("n = 2"), "followed_by", "b")
    assert "04" in matches(pattern, "axaxb")
    assert "05" in matches(pattern, "axaaxb")


def test_a_greedy_step_leaves_what_it_may_no_longer_take() -> None:
    consecutive = step(first("a").one_or_more().consecutive().greedy(), "followed_by", "b")
    assert matches(consecutive, "aaxab") == ["014", "14", "34"]
    strict = step(step(first("c"), "next", "a").one_or_more().optional().greedy(), "followed_by", "d")
    assert matches(strict, "cxad") == ["03"]
    assert matches(strict, "cad") == ["012"]


def test_a_greedy_step_gives_all_its_matches_where_the_rest_is_left_out() -> None:
    pattern = step(step(first("a").one_or_more().greedy(), "not_followed_by", "n"), "followed_by", "b").optional()
    assert matches(pattern, "aab") == ["0", "01", "012", "1", "12"]


def test_until_ends_a_loop_between_its_iterations_and_not_before_the_first() -> None:
    pattern = step(step(first("c"), "followed_by_any", "a").one_or_more().until("kind = 'u'"), "followed_by", "d")
    assert matches(pattern, "caud") == ["013"]
    assert matches(pattern, "cuad") == ["023"]
    assert matches(pattern, "cauad") == ["014", "034"]


# --- skip strategies ------------------------------------------------------------------------------------------


def test_of_matches_with_one_start_the_one_that_iterates_is_preferred() -> None:
    group = step(first("b").optional(), "next", "c")
    for count in (lambda p: p.one_or_more(), lambda p: p.times(1, 2)):
        assert matches(step(count(begin(group)), "followed_by", "x"), "ccx", skip="next") == ["012", "12"]


@pytest.mark.parametrize(
    ("skip", "found"),
    [
        ("no_skip", ["0", "01", "012", "1", "12", "2"]),
        ("next", ["0", "1", "2"]),
        ("past_last", ["0", "1", "2"]),
        (("to_first", "a"), ["0", "01", "012", "1", "12", "2"]),
        (("to_last", "a"), ["0", "01", "1", "12", "2"]),
    ],
)
def test_skip_strategies_end_what_begins_before_the_event_they_skip_to(skip: Any, found: list[str]) -> None:
    assert matches(first("a").one_or_more(), "aaa", skip=skip) == found


# --- time -----------------------------------------------------------------------------------------------------


def test_the_end_of_the_time_does_not_belong_to_it() -> None:
    pattern = step(first("a"), "followed_by", "b")
    assert matches(pattern.within("2 seconds"), "axb") == []
    assert matches(pattern.within("3 seconds"), "axb") == ["02"]
    chain = step(pattern, "followed_by", "c")
    assert matches(chain.within("2 seconds", between="events"), "abc") == ["012"]
    assert matches(chain.within("2 seconds", between="events"), "abxc") == []


def test_time_passes_before_the_event_is_looked_at() -> None:
    pattern = step(first("a"), "not_followed_by", "n").within("2 seconds")
    assert matches(pattern, "axn") == ["0"]
    assert matches(pattern, "an") == []
    assert matches(pattern, "ax") == []
    assert places(detect(step(first("a"), "followed_by", "b").within("2 seconds"), "axb").timeouts) == ["0"]
