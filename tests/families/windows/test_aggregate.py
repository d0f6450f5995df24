"""`ev.aggregate`: the query of the language from arguments, with messages about what the user wrote."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import eventide as ev

EVENTS = [{"ts": i, "k": "ab"[i % 2], "my col": i // 4, "x": i} for i in range(8)]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "RETURN count(*)"),
        (
            {"by": "k", "window": "1 hour", "slide": "5 minutes", "where": "x > 1", "having": "count(*) > 2"},
            "WHERE x > 1 | GROUP BY k | WITHIN 1 hour SLIDE 5 minutes | RETURN k, count(*) | HAVING count(*) > 2",
        ),
        (
            {"by": ["k", "my col"], "session": timedelta(seconds=30)},
            "GROUP BY k, `my col` | SESSION 30 seconds | RETURN k, `my col`, count(*)",
        ),
        (
            {"select": ["max(x)", "K"], "by": "k", "up_to": "1 day", "step": "1 hour"},
            "GROUP BY k | WITHIN UP TO 1 day STEP 1 hour | RETURN max(x), K",
        ),
        (
            {"select": {"n": "count(*)", "last one": "max(x) -- greatest"}, "window": "100 events"},
            "WITHIN 100 events | RETURN count(*) AS n, max(x) AS `last one`",
        ),
    ],
)
def test_arguments_become_clauses(given: dict[str, Any], text: str) -> None:
    assert ev.aggregate(**{"select": "count(*)", **given}).text.replace("\n", " | ") == text


def test_its_rows_are_those_of_the_query() -> None:
    text = "GROUP BY k WITHIN 4 seconds SLIDE 2 seconds RETURN k, median(x) AS m HAVING m > 2"
    made = ev.aggregate(
        EVENTS, {"m": "median(x)"}, by="k", window="4 seconds", slide="2 seconds", having="m > 2", ts_unit="s"
    )
    assert made.num_rows and made == ev.query(text, ts_unit="s").run(EVENTS)


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        (
            {"select": 5},
            "select must be text, a list of texts, or a dict from names to expressions, found int",
            "write",
        ),
        ({"select": ""}, "select is empty", "write"),
        ({"select": "count(*) WITHIN 5 seconds"}, "select holds the clause WITHIN", "window says that here"),
        ({"where": "x > 1 RETURN x"}, "where holds the clause RETURN", "a column called 'RETURN' needs backticks"),
        ({"by": 5}, "by must be a name or a list of names, found int", "write"),
        ({"window": "1 hour", "session": "1 s"}, "window and session are windows of two kinds", "give one"),
        ({"slide": "1 hour"}, "slide is the distance between windows", "write window"),
        ({"step": "1 hour"}, "step goes with up_to", "write up_to"),
        ({"up_to": "1 hour"}, "up_to goes with step", "write up_to"),
        ({"window": 5}, "window must be a length as text, found int", "write window"),
        ({"having": 5}, "having must be a condition as text, found int", "write having"),
        ({"empty": 1}, "empty must be True or False, found int", "write empty"),
        ({"windw": "1 hour"}, "there is no option 'windw'", ""),
    ],
)
def test_wrong_arguments_are_told_with_what_to_write(given: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(ev.EventideError) as caught:
        ev.aggregate(**{"select": "count(*)", **given})
    assert caught.value.message == message
    assert (caught.value.hint or "").startswith(hint)


def test_messages_underline_what_the_user_wrote() -> None:
    with pytest.raises(ev.QueryError) as caught:
        ev.aggregate(EVENTS, "count(*), sum(y)", by="k", window="5 seconds", ts_unit="s")
    error = caught.value
    assert error.text[error.start : error.end] == "y"
    with pytest.raises(ev.QueryError, match="unknown unit 'houres'"):
        ev.aggregate("count(*)", window="5 houres")
