"""What is said about a derivation before it runs, about wrong arguments, and about events that were dropped."""

from __future__ import annotations

from typing import Any

import pytest

import eventide as ev

EVENTS = [{"ts": ts, "temp": temp, "room": "a"} for ts, temp in enumerate([20, 36, 38, 30])]
INTERVALS = [{"interval_start": 1, "interval_end": 5, "room": "a"}]


def explain(condition: str, **options: Any) -> str:
    return str(ev.intervals.homogeneous(condition, ts_unit="s", **options).explain(EVENTS))


def test_the_text_names_the_derivation_the_columns_and_what_is_kept() -> None:
    text = explain("temp >= 35", occurrences=(2, 5), within="5 seconds", value="max(temp)", detected_at=True)
    lines = text.splitlines()
    assert lines[:3] == ["Query", "  RUNS OF temp >= 35", "  OCCURRENCES 2..5 WITHIN 5 seconds"]
    shown = [line.removeprefix("  return      ") for line in lines if line.startswith("  return ")]
    assert shown == ["interval_start", "interval_end", "count", "value = max(temp)", "detected_at"]
    assert "its first and last event, 1 with extreme values" in text
    assert "decided     with event 5, or with the event that breaks it, or 5 seconds after its last event" in text
    assert "at the end  what is still open when the input ends is not returned" in text


@pytest.mark.parametrize(
    ("condition", "options", "said"),
    [
        ("temp >= 35", {}, "local (4 events): stretches of time on all cores"),
        ("temp >= 35", {"partition_by": "room"}, "local (4 events): partitions by room are shared out over all cores"),
        ("temp >= prev(temp)", {}, "local (4 events): one thread: no event alone ends a run"),
    ],
)
def test_the_text_says_what_runs_apart_and_why_not(condition: str, options: dict[str, Any], said: str) -> None:
    assert f"Distribution\n  {said}" in explain(condition, **options)


def test_a_span_is_decided_by_the_event_that_ends_it() -> None:
    text = ev.intervals.heterogeneous(start="temp > 30", end="temp < 30", ts_unit="s").explain(EVENTS)
    assert "decided     with the event that ends it" in text


def test_related_intervals_are_explained_too() -> None:
    text = ev.allen("during", within="1 hour", ts_unit="s").explain(left=INTERVALS, right=INTERVALS)
    assert "ALLEN during LEFT (interval_start, interval_end)" in text and "the last 1 hour" in text


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"within": "5 foos"}, "within: unknown unit 'foos'", "known: microseconds, milliseconds, seconds, minutes"),
        ({"within": "5 events"}, "within: a length of time is needed", "lengths look like: 5 minutes, 1.5 hours, INT"),
        ({"within": "5"}, "within: the length 5 has no unit", "write for example: 5 seconds"),
        ({"occurence": (1, 2)}, "there is no option 'occurence'", "did you mean 'occurrences'?"),
        ({"explain": True}, "explain is a method of the query", "query.explain(events)"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(ev.EventideError) as caught:
        ev.intervals.threshold(EVENTS, "temp >= 35", ts_unit="s", **options)
    assert message in str(caught.value) and hint in str(caught.value)
    assert "EVENTS" not in str(caught.value)


def test_spans_have_no_occurrences() -> None:
    with pytest.raises(ev.EventideError, match="occurrences is for runs of events"):
        ev.intervals.heterogeneous(EVENTS, start="temp > 1", end="temp < 1", occurrences=(1, 2), ts_unit="s")


def test_the_result_says_how_many_events_were_dropped() -> None:
    events = [*EVENTS, {"ts": None, "temp": 1, "room": "a"}]
    table = ev.intervals.threshold(events, "temp >= 35", ts_unit="s", on_bad_event="drop")
    assert table.schema.metadata[b"eventide.dropped_events"] == b"1"
    assert table.num_rows == 1
