"""How much each operator says has begun and is not decided, after micro-batches and a restart between any two."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import eventide as ev
from eventide.families.builder.lower import prepare_detection
from eventide.families.intervals.lower import Deriving, Runs, Spans
from eventide.families.late.lower import late_events
from eventide.families.registry import family_named, make_operator
from eventide.plan.options import Options
from tests.families.allen.micro_batches import SECOND_US as ALLEN_SECOND_US
from tests.families.allen.test_rules import stream_case
from tests.micro_batches import SECOND_US, Stream

SCHEMA = pa.schema([("ts", pa.int64()), ("user", pa.string()), ("kind", pa.string()), ("x", pa.int64())])


def of_query(text: str, **options: Any) -> Stream:
    return Stream(ev.query(text, ts="ts", ts_unit="s", partition_by="user", **options).plan(SCHEMA))


def open_after(stream: Stream, events: str, watermark: int) -> int:
    """Open runs after events such as "1:u:A 2:u:B=5" and a watermark, of an operator that restored the state."""
    rows = []
    for each in events.split():
        ts, user, kind = each.split(":")
        kind, _, x = kind.partition("=")
        rows.append({"ts": int(ts), "user": user, "kind": kind, "x": int(x or 0)})
    stream.step(pa.Table.from_pylist(rows, schema=SCHEMA), watermark * SECOND_US)
    return stream.operator().open_runs()


def test_a_sequence_counts_first_events_whose_window_is_open() -> None:
    stream = of_query("PATTERN SEQ(A, B) WITHIN 10 seconds", type="kind")
    assert stream.operator().open_runs() == 0
    assert open_after(stream, "1:u:A 2:v:A 3:u:B 4:u:B", 4) == 2
    assert open_after(stream, "9:u:A", 10) == 3
    # A match of the event at 1 ends at 11 at the latest.
    assert open_after(stream, "", 11) == 2
    assert open_after(stream, "", 12) == 1
    assert open_after(stream, "", 19) == 0


def test_a_pattern_counts_events_that_fit_any_first_step() -> None:
    stream = of_query("PATTERN SEQ(OR(A, B), C c+) WITHIN 10 seconds", type="kind")
    assert open_after(stream, "1:u:A 2:u:B 3:u:C", 5) == 2
    assert open_after(stream, "", 11) == 1
    both = of_query("PATTERN SEQ(AND(A, B), C) WITHIN 10 seconds", type="kind")
    assert open_after(both, "1:u:A 2:u:B 3:u:C", 5) == 2


def test_a_pattern_that_ends_in_not_waits_as_long_as_its_window() -> None:
    stream = of_query("PATTERN SEQ(A, NOT B) WITHIN 10 seconds", type="kind")
    assert open_after(stream, "1:u:A 2:u:B 3:v:A", 5) == 2
    assert open_after(stream, "", 10) == 2
    assert open_after(stream, "", 13) == 0


def test_match_recognize_counts_partitions_that_wait_for_rows() -> None:
    rises = ev.match_recognize(
        partition_by="user",
        order_by="ts",
        pattern="A B+ C",
        define={"A": "kind = 'A'", "B": "kind = 'B'", "C": "kind = 'C'"},
        measures={"n": "count(*)"},
        within="10 seconds",
        ts_unit="s",
    )
    stream = Stream(rises._plan(rises.options, SCHEMA, on_stream=True))
    assert open_after(stream, "1:u:A 2:u:B 1:v:A 1:w:B 1:x:A 2:x:C", 3) == 2
    assert open_after(stream, "4:u:C", 4) == 1
    # Nothing new up to the watermark: the number is part of the state.
    assert open_after(stream, "", 4) == 1
    assert open_after(stream, "", 30) == 0


def test_a_builder_pattern_counts_its_partial_matches() -> None:
    pattern = (
        ev.Pattern.begin("a", "kind = 'A'")
        .followed_by("b", "kind = 'B'")
        .followed_by_any("c", "kind = 'C'")
        .within("10 seconds")
    )
    options = Options(partition_by=("user",), ts="ts", ts_unit="s")
    stream = Stream(prepare_detection(pattern.tree, SCHEMA, options))
    assert open_after(stream, "1:u:A 2:u:A 1:v:A 2:v:X", 3) == 3
    assert open_after(stream, "4:u:B", 4) == 3
    assert open_after(stream, "", 11) == 1
    assert open_after(stream, "", 12) == 0


def test_trends_count_open_windows_that_hold_an_event() -> None:
    stream = of_query("PATTERN SEQ(A a+, B) WITHIN 10 seconds SLIDE 5 seconds RETURN user, COUNT(*)", type="kind")
    # Windows at 5, 10 and 15 of the events at 12 and 17; the event at 41 has those at 35 and 40.
    assert open_after(stream, "12:u:A 12:v:A 17:u:A", 12) == 3
    assert open_after(stream, "41:u:A", 14) == 5
    assert open_after(stream, "", 15) == 4
    assert open_after(stream, "", 30) == 2
    assert open_after(stream, "", 60) == 0


def test_windows_over_positions_count_partitions_that_hold_events() -> None:
    stream = of_query("PATTERN SEQ(A a+, B) WITHIN 4 events SLIDE 2 events RETURN user, COUNT(*)", type="kind")
    assert open_after(stream, "1:u:A 2:u:B 1:v:A", 5) == 2


def test_a_situation_query_counts_situations_that_go_on() -> None:
    stream = of_query("DEFINE High AS x > 5, Low AS kind = 'L' PATTERN High overlaps|before Low WITHIN 60 seconds")
    assert open_after(stream, "1:u:A=9 2:u:L=9 1:v:A=9 1:w:A=1", 3) == 3
    # The one of v has ended, and is kept for a Low that may follow.
    assert open_after(stream, "4:u:A=9 4:v:A=0", 4) == 1
    assert open_after(stream, "5:v:L=0", 5) == 2


def test_derived_intervals_count_those_that_are_open() -> None:
    options = Options.of(ts="ts", ts_unit="s", partition_by="user")
    runs = Stream(family_named("intervals").prepare(Deriving(Runs("x > 5"), (("n", "count(x)"),)), options, SCHEMA))
    assert open_after(runs, "1:u:A=9 1:v:A=9 1:w:A=1", 3) == 2
    assert open_after(runs, "4:u:A=1", 4) == 1
    spans = Stream(family_named("intervals").prepare(Deriving(Spans("kind = 'A'", "kind = 'B'"), ()), options, SCHEMA))
    assert open_after(spans, "1:u:A 2:u:B 1:v:A", 3) == 1


def test_related_intervals_count_those_that_a_later_one_may_meet() -> None:
    stream, block = stream_case([(1, 5)], [(3, 8)])
    stream.step(block, 8 * ALLEN_SECOND_US)
    assert stream.operator().open_runs() == 2
    stream.step(block.slice(0, 0), 15 * ALLEN_SECOND_US)
    assert stream.operator().open_runs() == 1
    stream.step(block.slice(0, 0), 18 * ALLEN_SECOND_US)
    assert stream.operator().open_runs() == 0


def test_late_events_are_decided_when_they_come() -> None:
    plan = ev.query("PATTERN SEQ(A, B) WITHIN 10 seconds", ts="ts", ts_unit="s", type="kind").plan(SCHEMA, "spark")
    assert make_operator(late_events(plan, SCHEMA).spec).open_runs() == 0
