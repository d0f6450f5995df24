"""EMIT EMPTY: windows without events, between two windows of a group that have some."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

import eventide as ev
from eventide.families.windows import empty
from tests.budget import budgeted
from tests.drawn import mostly_drawn_rows
from tests.families.windows.clauses import EMPTY, EVENTS, Cut
from tests.families.windows.test_aggregates import ASKED, SCHEMA, check, query
from tests.micro_batches import SECOND_US, Arrival, Stream, arrivals

# Few events of a long time leave windows empty.
GROUPED = mostly_drawn_rows({**EVENTS, "ts": range(-20, 60)}, 8)


@budgeted()
@given(GROUPED, ASKED, EMPTY)
def test_windows_without_events_are_the_oracles(events: list[Any], asked: list[str], windows: tuple[str, Cut]) -> None:
    clause, cut = windows
    rows = query(asked, clause).run(pa.Table.from_pylist(events, SCHEMA)).to_pylist()
    check(rows, asked, cut, events)


@budgeted()
@given(GROUPED, ASKED, EMPTY, arrivals(8, 4))
def test_micro_batches_and_restarts_leave_the_oracles_windows(
    events: list[Any], asked: list[str], windows: tuple[str, Cut], arrival: Arrival
) -> None:
    clause, cut = windows
    stream = Stream(query(asked, clause).plan(SCHEMA))
    stream.play_arrival(pa.Table.from_pylist(events, SCHEMA), [event["ts"] for event in events], arrival)
    check(stream.rows, asked, cut, events)


def test_a_stream_returns_a_gap_with_the_next_window_of_the_group() -> None:
    schema = pa.schema([("ts", pa.int64()), ("g", pa.string())])
    asked = ev.aggregate("count(*) AS n", by="g", window="5 seconds", empty=True, ts_unit="s")
    stream = Stream(asked.plan(schema))

    def step(ts: int, group: str) -> list[tuple[Any, ...]]:
        rows = stream.step(pa.Table.from_pylist([{"ts": ts, "g": group}], schema), ts * SECOND_US)
        return [(row["g"], row["window_start"], row["n"]) for row in rows]

    assert step(1, "a") == []
    assert step(12, "b") == [("a", 0, 1)]
    # Nothing says that group a goes on.
    assert step(21, "b") == [("b", 10, 1)]
    assert step(22, "a") == []
    assert sorted(step(30, "c")) == [("a", 5, 0), ("a", 10, 0), ("a", 15, 0), ("a", 20, 1), ("b", 15, 0), ("b", 20, 1)]
    assert step(36, "a") == [("c", 30, 1)]
    assert step(50, "c") == [("a", 25, 0), ("a", 30, 0), ("a", 35, 1)]


def test_having_sees_windows_without_events() -> None:
    events = [{"ts": 1, "x": 5}, {"ts": 22, "x": 7}]
    rows = ev.aggregate(
        events, "count(*) AS n, sum(x) AS s", window="5 seconds", empty=True, having="n = 0", ts_unit="s"
    )
    assert [(row["window_start"], row["s"]) for row in rows.to_pylist()] == [(5, None), (10, None), (15, None)]


def test_a_gap_comes_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(empty, "_AT_ONCE", 7)
    events = [{"ts": ts, "x": 1} for ts in (0, 20, 21)]
    batches = list(ev.aggregate("count(*) AS n", window="1 second", empty=True, ts_unit="s").batches(events))
    assert [batch.num_rows for batch in batches] == [7, 7, 7, 1]
    counted = {row["window_start"]: row["n"] for batch in batches for row in batch.to_pylist()}
    assert counted == {second: int(second in (0, 20, 21)) for second in range(22)}


def test_a_gap_of_very_many_windows_is_an_error_with_their_number() -> None:
    events = [{"ts": 0}, {"ts": 400 * 86_400}]
    with pytest.raises(ev.InputError) as caught:
        ev.aggregate(events, "count(*)", window="1 second", empty=True, ts_unit="s")
    assert caught.value.message == "34,559,999 windows without an event lie between two events of a group"
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    ("windows", "why"),
    [
        ({"session": "1 second"}, "a session begins with an event"),
        ({"window": "5 events"}, "windows of events have some"),
        ({}, "this query has no windows"),
    ],
)
def test_other_windows_are_never_empty(windows: dict[str, Any], why: str) -> None:
    with pytest.raises(ev.QueryError) as caught:
        ev.aggregate("count(*)", empty=True, **windows)
    error = caught.value
    assert error.message == f"EMIT EMPTY is about windows of time without events, and {why}"
    assert error.text[error.start : error.end] == "EMIT EMPTY"
