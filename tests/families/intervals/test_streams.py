"""Derived intervals on a stream: each as soon as it is decided, with little kept in between."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.families.intervals.lower import Deriving, Runs, Spans
from eventide.families.registry import family_named, make_operator
from eventide.plan.options import Options
from tests.micro_batches import SECOND_US, Stream

SCHEMA = pa.schema([("ts", pa.int64()), ("key", pa.string()), ("temp", pa.float64())])
HOT = Runs("temp >= 35", 2, 4, 10 * SECOND_US)


def open_stream(form: Runs | Spans, close_at_end: bool = False, **values: str) -> Stream:
    options = Options.of(ts="ts", ts_unit="s", partition_by="key", close_at_end=close_at_end)
    return Stream(family_named("intervals").prepare(Deriving(form, tuple(values.items())), options, SCHEMA))


def step(stream: Stream, events: list[tuple[int, str, float]], seconds: int) -> list[tuple[Any, ...]]:
    rows = [dict(zip(SCHEMA.names, event, strict=True)) for event in events]
    found = stream.step(pa.Table.from_pylist(rows, schema=SCHEMA), seconds * SECOND_US)
    return [tuple(row.values()) for row in found]


def held(stream: Stream) -> tuple[int, int]:
    """How many events wait, and how many intervals are open."""
    operator: Any = stream.operator()
    waiting = operator._buffer.select_all()
    return 0 if waiting is None else waiting.num_rows, operator._opened.size


def test_an_event_that_breaks_a_run_closes_it() -> None:
    stream = open_stream(HOT)
    assert step(stream, [(1, "a", 36), (2, "a", 37)], 2) == []
    assert step(stream, [(3, "a", 1)], 3) == [("a", 1, 2, 2)]
    assert held(stream) == (0, 0)


def test_the_most_events_close_a_run() -> None:
    stream = open_stream(HOT)
    assert step(stream, [(i, "a", 36) for i in range(4)], 3) == [("a", 0, 3, 4)]


def test_time_closes_a_run_when_no_event_can_be_near_enough() -> None:
    stream = open_stream(HOT)
    assert step(stream, [(1, "a", 36), (2, "a", 37), (5, "b", 38)], 5) == []
    assert stream.pending_us() == 12 * SECOND_US - 1
    other = pa.Table.from_pylist([{"ts": 11, "key": "c", "temp": 1.0}], schema=SCHEMA)
    assert stream.step(other, 12 * SECOND_US - 2) == []
    assert stream.step(SCHEMA.empty_table(), 12 * SECOND_US - 1) != []
    assert stream.pending_us() == 15 * SECOND_US - 1
    assert step(stream, [], 15) == []  # one event is too few
    assert held(stream) == (0, 0) and stream.pending_us() is None


def test_without_a_gap_an_open_run_waits_for_the_next_event() -> None:
    stream = open_stream(Runs("temp >= 35"))
    assert step(stream, [(1, "a", 36)], 1) == []
    assert step(stream, [], 1_000_000) == [] and stream.pending_us() is None
    assert step(stream, [(2_000_000, "a", 1)], 2_000_000) == [("a", 1, 1, 1)]


def test_events_wait_for_the_watermark_and_come_in_any_order() -> None:
    stream = open_stream(HOT)
    assert step(stream, [(3, "a", 38), (5, "a", 1), (1, "a", 36)], 1) == []
    assert held(stream) == (2, 1) and stream.pending_us() == 3 * SECOND_US
    assert step(stream, [(4, "a", 39), (2, "a", 37)], 3) == []
    assert step(stream, [], 4) == [("a", 1, 4, 4)]


def test_an_event_behind_the_watermark_is_dropped_and_counted() -> None:
    stream = open_stream(HOT)
    step(stream, [(5, "a", 36)], 5)
    step(stream, [(5, "a", 36), (4, "a", 36)], 5)
    assert stream.operator().late_events() == 2
    assert step(stream, [(6, "a", 37), (7, "a", 0)], 7) == [("a", 5, 6, 2)]


def test_a_long_run_is_kept_as_two_events_and_its_aggregates() -> None:
    stream = open_stream(Runs("temp >= 35"), mean="avg(temp)", low="min(temp)", high="max(key)", n="count(*)")
    for start in range(0, 1000, 100):
        assert step(stream, [(i, "a", 36 + i % 3) for i in range(start, start + 100)], start + 99) == []
    operator: Any = stream.operator()
    # First, last, and one for each extreme.
    assert operator._opened.events.num_rows == 4
    assert operator.memory_bytes() < 1000
    assert step(stream, [(1000, "a", 1)], 1000) == [("a", 0, 999, 1000, 36.999, 36.0, "a", 1000)]


def test_a_span_waits_for_its_end_and_an_excluded_event_forgets_it() -> None:
    stream = open_stream(Spans("temp > 50", "temp < 0", ("temp = 10",)), n="count(*)")
    assert step(stream, [(1, "a", 60), (1, "b", 60), (2, "a", 20)], 2) == []
    assert held(stream) == (0, 2)
    assert step(stream, [(3, "a", -1), (3, "b", 10)], 3) == [("a", 1, 3, 3, 3)]
    assert held(stream) == (0, 0)
    assert step(stream, [(4, "b", -1)], 4) == [] and stream.finish() == []


@pytest.mark.parametrize(("closes", "found"), [(True, [("a", 1, 1, 1)]), (False, [])])
def test_the_end_of_the_input_closes_runs_on_request_and_no_spans(closes: bool, found: Any) -> None:
    stream = open_stream(Runs("temp >= 35"), close_at_end=closes)
    step(stream, [(1, "a", 36)], 1)
    assert [tuple(row.values()) for row in stream.finish()] == found
    stream = open_stream(Spans("temp > 50", "temp < 0"))
    step(stream, [(1, "a", 60)], 1)
    assert stream.finish() == []


def test_a_checkpoint_belongs_to_one_derivation() -> None:
    stream = open_stream(HOT)
    step(stream, [(1, "a", 36)], 1)
    for other in (Runs("temp >= 36", 2, 4, HOT.gap_us), Runs("temp >= 35", 2, 4), Runs("temp >= 35", 1, 4, HOT.gap_us)):
        changed = open_stream(other)
        operator = make_operator(changed.physical.spec)
        with pytest.raises(ev.InputError, match="belongs to another query"):
            operator.restore(stream.snapshot)


# --- what a snapshot writes -------------------------------------------------------------------------------------


def test_few_changes_of_many_open_intervals_write_few_bytes() -> None:
    """Of 3,000 open runs ten go on in each batch: written is what changed, in few segments, and nothing gets lost."""
    stream = open_stream(Runs("temp >= 35"), mean="avg(temp)", high="max(temp)")
    operator: Any = stream.operator()
    keys = [f"k{i}" for i in range(3_000)]
    opened = pa.table({"ts": [1] * 3_000, "key": keys, "temp": [36.0] * 3_000}, schema=SCHEMA)
    known: dict[int, bytes] = {}
    sizes = []
    n_events = dict.fromkeys(keys, 1)
    for batch in range(60):
        mine = keys[batch * 10 : batch * 10 + 10] + (keys[:5] if batch > 30 else [])
        events = pa.table({"ts": [batch + 1] * len(mine), "key": mine, "temp": [40.0] * len(mine)}, schema=SCHEMA)
        events = opened if batch == 0 else events
        assert not list(operator.process(stream._block(events), (batch + 1) * SECOND_US))
        snapshot = operator.snapshot()
        new = {n: data for n, data in snapshot.segments.items() if n not in known}
        assert all(known[n] == data for n, data in snapshot.segments.items() if n in known)
        sizes.append(len(snapshot.head) + sum(map(len, new.values())))
        known = dict(snapshot.segments)
        if batch:
            for key in mine:
                n_events[key] += 1
        if batch % 7 == 0:
            operator = make_operator(stream.physical.spec)
            operator.restore(snapshot)
            assert operator.open_runs() == 3_000
    assert len(known) < 15
    assert sum(sizes[1:]) / 59 < sizes[0] / 8
    closing = pa.table({"ts": [100] * 3_000, "key": keys, "temp": [0.0] * 3_000}, schema=SCHEMA)
    rows = stream._read(operator.process(stream._block(closing), 100 * SECOND_US))
    assert {row["key"]: row["count"] for row in rows} == n_events


def test_a_batch_that_touches_nothing_writes_no_segment() -> None:
    stream = open_stream(Runs("temp >= 35"))
    operator: Any = stream.operator()
    events = pa.table({"ts": [1, 1], "key": ["a", "b"], "temp": [36.0, 36.0]}, schema=SCHEMA)
    list(operator.process(stream._block(events), SECOND_US))
    before = operator.snapshot().segments
    assert not list(operator.process(stream._block(SCHEMA.empty_table()), 5 * SECOND_US))
    assert operator.snapshot().segments.keys() == before.keys()
