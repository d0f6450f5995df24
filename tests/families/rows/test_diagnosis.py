"""`diagnose` of MATCH_RECOGNIZE explains the run that it is about: same order of tied rows, same sessions."""

from __future__ import annotations

from typing import Any

import pytest

import eventide as ev


def diagnosed(rows: list[dict[str, Any]], pattern: str, define: dict[str, str], **options: Any) -> list[dict[str, Any]]:
    given = {"order_by": "id", "measures": {"n": "count(*)"}, "ts_unit": "s", **options}
    return ev.match_recognize(pattern=pattern, define=define, **given).diagnose(rows).table.to_pylist()


@pytest.mark.parametrize("step", [1, -1])
def test_tied_rows_have_the_order_of_the_run(step: int) -> None:
    rows = [{"a": 2, "id": 1, "s": "A"}, {"a": 1, "id": 1, "s": "B"}][::step]
    (row,) = diagnosed(rows, "A B C", {"A": "s = 'A'", "B": "s = 'B'", "C": "s = 'C'"})
    assert (row["symbols"], row["symbol"], row["reason"]) == (["A", "B"], "C", "no event")


def seconds(*times: int, **columns: list[Any]) -> list[dict[str, Any]]:
    return [{"id": time} | {name: values[i] for name, values in columns.items()} for i, time in enumerate(times)]


def test_a_gap_of_state_ttl_ends_a_partial_match() -> None:
    (row,) = diagnosed(seconds(0, 1, 2), "A B", {"B": "id > 0"}, state_ttl="1 second")
    assert (row["matched"], row["symbols"], row["events"], row["missing"]) == (False, ["A"], [0], 1)
    assert (row["symbol"], row["reason"], row["predicate"]) == ("B", "window", "state_ttl 1 second")
    assert (row["values"], row["event"]) == ("1 second after A at 0", 1)


def test_a_match_that_would_be_longer_than_state_ttl_is_told() -> None:
    define = {"B": "id < 4", "C": "id = 4"}
    (row,) = diagnosed(seconds(0, 2, 4), "A B+ C", define, state_ttl="3 seconds")
    assert (row["symbols"], row["symbol"], row["reason"]) == (["A", "B"], "C", "window")
    assert (row["predicate"], row["values"]) == ("state_ttl 3 seconds", "4 seconds after A at 0")


def test_of_several_sessions_the_one_that_came_furthest_is_shown() -> None:
    rows = seconds(0, 10, 11, 20, s=["A", "A", "B", "A"])
    define = {label: f"s = '{label}'" for label in "ABC"}
    (row,) = diagnosed(rows, "A B C", define, state_ttl="5 seconds")
    assert (row["symbols"], row["events"]) == (["A", "B"], [10, 11])
    assert (row["symbol"], row["reason"], row["event"]) == ("C", "window", 20)


def test_a_match_in_any_session_is_a_match_of_the_partition() -> None:
    rows = seconds(0, 10, 11, 20, p=[1, 1, 1, 1], s=["A", "A", "B", "A"])
    define = {"A": "s = 'A'", "B": "s = 'B'"}
    (row,) = diagnosed(rows, "A B", define, state_ttl="5 seconds", partition_by="p")
    assert (row["p"], row["matched"], row["events"]) == (1, True, [10, 11])


def test_the_last_session_ends_with_the_partition() -> None:
    (row,) = diagnosed(seconds(0), "A B", {"B": "id > 0"}, state_ttl="5 seconds")
    assert (row["symbol"], row["reason"], row["values"]) == ("B", "no event", "the partition ends")


def test_within_that_is_shorter_than_state_ttl_is_what_failed() -> None:
    (row,) = diagnosed(seconds(0, 2), "A B", {"B": "id = 2"}, state_ttl="9 seconds", within="2 seconds")
    assert (row["reason"], row["predicate"]) == ("window", "WITHIN 2 seconds")


def test_conditions_see_only_their_session() -> None:
    rows = seconds(0, 10, 11, x=[5, 1, 0])
    (row,) = diagnosed(rows, "A B", {"A": "x < 5", "B": "x > 1"}, state_ttl="5 seconds")
    assert (row["symbol"], row["reason"], row["values"], row["event"]) == ("B", "condition", "x = 0", 11)


def test_a_permutation_with_too_many_orders_is_refused() -> None:
    labels = ", ".join("ABCDEFGH")
    with pytest.raises(ev.QueryError, match="diagnose tries each order of PERMUTE, and 8 parts have too many"):
        diagnosed(seconds(0), f"(PERMUTE({labels}))+", {"A": "id > 0"})
    (row,) = diagnosed(seconds(0, 1), "PERMUTE(A, B, C, D, E, F)", {"A": "id > 0"})
    assert (row["length"], row["missing"]) == (2, 4)
