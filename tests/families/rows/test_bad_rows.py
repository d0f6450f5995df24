"""Rows without a time: bad input where something measures it, rows like any other elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

import eventide as ev

ROWS = [{"id": i, "x": x} for i, x in ((1, 5), (None, 6), (2, 7), (None, 8))]
CLAUSE = "ORDER BY id MEASURES array_agg(x) AS x PATTERN (A+)"


def run(clause: str, **options: Any) -> list[dict[str, Any]]:
    return ev.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", t=ROWS, **options).to_pylist()


def test_without_a_length_of_time_null_is_a_key_like_any_other() -> None:
    assert run(CLAUSE) == run(CLAUSE, on_bad_event="drop") == [{"x": [6, 8, 5, 7]}]


@pytest.mark.parametrize("given", [{}, {"state_ttl": "9 seconds"}])
def test_a_row_without_a_time_is_an_error_that_names_it(given: dict[str, str]) -> None:
    clause = CLAUSE if given else f"{CLAUSE} WITHIN 9 seconds"
    with pytest.raises(ev.InputError, match="'id' is NULL in the event with x = 6") as caught:
        run(clause, ts_unit="s", **given)
    assert 'on_bad_event="drop"' in str(caught.value.hint)


def test_it_is_dropped_on_request_and_counted() -> None:
    assert run(f"{CLAUSE} WITHIN 9 seconds", ts_unit="s", on_bad_event="drop") == [{"x": [5, 7]}]
    clause = ev.match_recognize(
        order_by="id", measures={"x": "array_agg(x)"}, pattern="A+", within="9 seconds", ts_unit="s",
        on_bad_event="drop",
    )  # fmt: skip
    assert clause.metrics() == {}
    assert clause(ROWS).to_pylist() == [{"x": [5, 7]}]
    assert clause.metrics()["dropped_events"] == 2


def test_another_word_is_refused() -> None:
    with pytest.raises(ev.EventideError, match="on_bad_event='skip' is not possible"):
        run(CLAUSE, on_bad_event="skip")


def test_a_number_is_no_table() -> None:
    with pytest.raises(ev.EventideError, match=r"ev\.sql has no option 'max_matches_per_partition'"):
        run(CLAUSE, max_matches_per_partition=3)


def test_where_no_other_column_is_read_the_row_is_named_by_its_number() -> None:
    rows = [{"id": 1}, {"id": None}, {"id": None}]
    with pytest.raises(ev.InputError, match="'id' is NULL in row 2 of the input, and in 1 more"):
        ev.match_recognize(order_by="id", pattern="A+", within="9 s", ts_unit="s", measures={"n": "count(*)"})(rows)
