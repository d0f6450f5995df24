"""Situations across micro-batches by hand: what is kept between them, and for how long."""

from __future__ import annotations

from typing import Any

import eventide as ev
from tests.families.situations.lanes import lanes, table
from tests.micro_batches import SECOND_US, Stream


def play(text: str, events: list[dict[str, Any]]) -> list[list[tuple[Any, ...]]]:
    """The rows that every event decides, each a micro-batch that the watermark has passed at once."""
    stream = Stream(ev.query(text, ts="ts", ts_unit="s").plan(table(events).schema))
    return [[tuple(row.values()) for row in stream.step(table([event]), event["ts"] * SECOND_US)] for event in events]


def at(text: str, events: list[dict[str, Any]]) -> dict[int, list[tuple[Any, ...]]]:
    """The rows by the time of the event that decides them, where there are any."""
    return {event["ts"]: rows for event, rows in zip(events, play(text, events), strict=True) if rows}


RETURN = "RETURN start(A) AS a, end(A) AS ae, start(B) AS b, end(B) AS be, count(B.*) AS n"


def test_a_match_is_returned_with_the_event_that_decides_it() -> None:
    events = lanes(a=".###....", b="..####..")
    text = f"DEFINE A AS a, B AS b PATTERN A overlaps B WITHIN 1 minute {RETURN}"
    assert at(text, events) == {4: [(1, 4, 2, None, 3, 4)]}


def test_a_shortest_duration_is_awaited_across_batches() -> None:
    events = lanes(a="..##......", b=".#######..")
    text = f"DEFINE A AS a, B AS b FOR AT LEAST 5 seconds PATTERN A during B WITHIN 1 minute {RETURN}"
    assert at(text, events) == {6: [(2, 4, 1, None, 6, 6)]}


def test_a_situation_older_than_the_window_goes_on() -> None:
    """A begins at 1; what is found at 8 must not be a later start of it."""
    events = lanes(a=".########.", b=".......#..")
    text = f"DEFINE A AS a, B AS b PATTERN A contains B {{}} {RETURN}"
    assert at(text.format("WITHIN 4 seconds"), events) == {}
    assert at(text.format("WITHIN 7 seconds"), events) == {8: [(1, None, 7, 8, 1, 8)]}


def test_a_situation_is_kept_as_long_as_a_match_can_hold_it() -> None:
    events = lanes(a=".#.......", b="......#..")
    text = f"DEFINE A AS a, B AS b PATTERN A before B WITHIN {{}} seconds {RETURN}"
    assert at(text.format(5), events) == {6: [(1, 2, 6, None, 1, 6)]}
    assert at(text.format(4), events) == {}


def test_situations_that_no_match_can_hold_are_forgotten() -> None:
    """The state of a long stream holds what began within the window, not all that ever was."""
    events = lanes(a="#." * 100, b="." * 200)
    text = f"DEFINE A AS a, B AS b PATTERN A before B WITHIN 10 seconds {RETURN}"
    stream = Stream(ev.query(text, ts="ts", ts_unit="s").plan(table(events).schema))
    sizes = []
    for event in events:
        stream.step(table([event]), event["ts"] * SECOND_US)
        sizes.append(stream.operator().memory_bytes())
    assert sizes[-1] <= 2 * sizes[30]


def test_silence_ends_a_situation_when_the_next_event_tells() -> None:
    events = [event for event in lanes(a=".####....#.", b="...######..") if not 5 <= event["ts"] <= 7]
    text = f"DEFINE A AS a MAX GAP 2 seconds, B AS b PATTERN A overlaps B WITHIN 1 minute {RETURN}"
    # Events at 4 and 8: A is over at 6, B goes on.
    assert at(text, events) == {8: [(1, 6, 3, None, 3, 8)]}


def test_what_began_within_the_window_of_a_silent_end_is_kept() -> None:
    """B ends at 6, which the event at 40 tells: A, over at 2, is within reach of that end."""
    lane = lanes(a=".#" + "." * 40, b="...##" + "." * 37)
    # In between another partition has events.
    events = [{**event, "k": int(5 <= event["ts"] < 40)} for event in lane]
    text = f"""PARTITION BY k DEFINE A AS a, B AS b MAX GAP 2 seconds
               PATTERN A before B WITHIN 5 seconds EMIT ON COMPLETE {RETURN}"""
    assert at(text, events) == {40: [(1, 2, 3, 6, 2, 6)]}


def test_complete_matches_have_the_aggregates_of_all_batches() -> None:
    events = lanes(a=".##......", b="....###..")
    text = f"DEFINE A AS a, B AS b PATTERN A before B WITHIN 1 minute EMIT ON COMPLETE {RETURN}"
    assert at(text, events) == {7: [(1, 3, 4, 7, 3, 7)]}
