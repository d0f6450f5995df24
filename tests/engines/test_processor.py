"""A bucket in micro-batches; plain objects play Spark's part: rows, state, timers and watermark."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventide.engines.intake import take_in
from eventide.engines.spark.counters import COUNTERS
from eventide.errors import EventideError, StateError
from eventide.runtime.block import to_bytes
from eventide.runtime.sealed import open_sealed
from tests.budget import budgeted
from tests.engines.plans import SECOND_US, expected_rows, final_watermark_us, make_plan, micros, raw_block, table_rows
from tests.spark_state import Map, Timers, Value

pytest.importorskip("pyspark")

from eventide.engines.spark.bucket import Bucket, Work, open_bucket

MS_US = 1000


class Stream:
    """One bucket; each `step` is a micro-batch. The watermark is of the events of all batches before it."""

    def __init__(self, plan: Any, delay_ms: int | None, lateness_us: int) -> None:
        self.plan, self.lateness_us = plan, lateness_us
        work = Work(plan.spec, 1, plan.output_schema, delay_ms, plan.computed)
        self.settings = pickle.dumps((Bucket, work))
        self.timers, self.head, self.segments = Timers(), Value(), Map()
        self.seen: list[int] = []
        self.label = 0

    def watermark_ms(self) -> int:
        return max(self.seen) // MS_US - self.lateness_us // MS_US if self.seen else 0

    def step(self, events: pa.Table | None) -> list[pa.Table]:
        watermark_ms = self.watermark_ms()
        clock = SimpleNamespace(getCurrentWatermarkInMs=lambda: watermark_ms)
        frames: list[pd.DataFrame] = []
        if events is not None:
            block, _ = take_in(raw_block(events), self.plan.intake)
            rows = iter([pd.DataFrame({"data": [to_bytes(block)]})])
            frames += open_bucket(self.settings, self.label, self.timers, self.head, self.segments).take(rows, clock)
            self.seen += micros(events)
        for due in sorted(ms for ms in self.timers if ms <= watermark_ms):
            info = SimpleNamespace(getExpiryTimeInMs=lambda due=due: due)
            frames += open_bucket(self.settings, self.label, self.timers, self.head, self.segments).wake(clock, info)
            self.timers.remove(due)
        found = [frame[frame[COUNTERS].isna()].drop(columns=COUNTERS) for frame in frames]
        return [pa.Table.from_pandas(frame, schema=self.plan.output_schema) for frame in found if len(frame)]


def table(rows: list[tuple[int, str]]) -> pa.Table:
    """Events (microseconds, kind) of one user."""
    return pa.table(
        {
            "user": pa.array(["u"] * len(rows)),
            "ts": pa.array([1_700_000_000 * SECOND_US + us for us, _ in rows], pa.int64()).cast(
                pa.timestamp("us", "UTC")
            ),
            "kind": pa.array([kind for _, kind in rows]),
            "amount": pa.array(range(len(rows)), pa.int32()),
        }
    )


@budgeted()
@given(
    # Steps of half a millisecond: the watermark is in whole ones.
    gaps=st.lists(st.tuples(st.sampled_from([0, 500, 1000, 2500]), st.sampled_from("ABC")), min_size=1, max_size=30),
    borders=st.lists(st.integers(0, 30), max_size=4),
    window_us=st.sampled_from([1000, 5000, 20_000]),
    lateness_us=st.sampled_from([0, 2000]),
    disorder=st.randoms(use_true_random=False),
    own_watermark=st.booleans(),
    strategy=st.sampled_from(["any", "next", "contiguous"]),
)
def test_micro_batches_return_the_rows_of_one_batch_of_the_events_in_time(
    gaps: list[tuple[int, str]],
    borders: list[int],
    window_us: int,
    lateness_us: int,
    disorder: Any,
    own_watermark: bool,
    strategy: str,
) -> None:
    rows, us = [], 0
    for gap, kind in gaps:
        us += gap
        rows.append((us, kind))
    rows.sort(key=lambda row: row[0] + disorder.randrange(3000))
    plan = make_plan(strategy, window_us=window_us, lateness_us=lateness_us)
    stream = Stream(plan, lateness_us // MS_US if own_watermark else None, lateness_us)
    events, in_time, found = table(rows), [], []
    for start, stop in pairwise([0, *sorted(min(b, len(rows)) for b in borders), len(rows)]):
        batch = events.slice(start, stop - start)
        in_time += [start + i for i, us in enumerate(micros(batch)) if us > stream.watermark_ms() * MS_US]
        found += stream.step(batch if batch.num_rows else None)
    found += stream.step(None)
    expected = expected_rows(events.take(in_time), plan, final_watermark_us(events, lateness_us))
    assert table_rows(pa.concat_tables([plan.output_schema.empty_table(), *found])) == expected


def test_a_bucket_decides_what_the_next_watermark_will_have_passed() -> None:
    rows = [(0, "A"), (1000, "B"), (2000, "C"), (30_000_000, "A")]
    at_once, waiting = (Stream(make_plan(), delay_ms, 0) for delay_ms in (0, None))
    assert [sum(t.num_rows for t in stream.step(table(rows))) for stream in (at_once, waiting)] == [1, 0]
    assert [sum(t.num_rows for t in stream.step(None)) for stream in (at_once, waiting)] == [0, 1]
    # Only what is still in the window was written.
    assert at_once.segments.written < waiting.segments.written


def test_an_event_in_the_watermarks_own_millisecond_is_in_time() -> None:
    stream = Stream(make_plan(), 0, 0)
    found = stream.step(table([(100, "A"), (900, "C")]))
    found += stream.step(table([(500, "B"), (5000, "A")]))
    assert sum(t.num_rows for t in found) == 1


@pytest.mark.parametrize("delay_ms", [2, None])
def test_an_event_within_the_allowed_lateness_is_in_time(delay_ms: int | None) -> None:
    stream = Stream(make_plan(lateness_us=2000), delay_ms, 2000)
    found = stream.step(table([(0, "A"), (2500, "C")]))
    found += stream.step(table([(1500, "B"), (9000, "A")])) + stream.step(None)
    assert sum(t.num_rows for t in found) == 1


def test_a_quiet_bucket_advances_as_soon_as_the_watermark_does() -> None:
    stream = Stream(make_plan(), None, 0)
    assert stream.step(table([(0, "A"), (1000, "B"), (1500, "C")])) == []
    stream.seen.append(1_700_000_000 * SECOND_US + 2000)  # an event of another bucket
    assert sum(t.num_rows for t in stream.step(None)) == 1


def test_an_event_as_old_as_the_window_allows_is_kept() -> None:
    stream = Stream(make_plan(window_us=1000), 0, 0)
    found = stream.step(table([(0, "B"), (4002, "A"), (4500, "B"), (5000, "A")]))
    found += stream.step(table([(5001, "C"), (9000, "A")]))
    assert sum(t.num_rows for t in found) == 1


def test_a_late_event_is_counted_and_dropped() -> None:
    stream = Stream(make_plan(), 0, 0)
    stream.step(table([(0, "A"), (5000, "C")]))
    assert stream.step(table([(5000, "B"), (2000, "B")])) == []
    assert open_sealed(stream.head.held[1])["late"] == 2


def saved(n_batches: int = 3) -> Stream:
    stream = Stream(make_plan(window_us=30 * SECOND_US), None, 0)
    for us in range(n_batches):
        stream.step(table([(us * MS_US, "ABA"[us])]))
    assert len(stream.segments) == n_batches
    return stream


def alter(stream: Stream) -> None:
    (number, row), *_ = stream.segments.items()
    stream.segments[number] = (row[0][:-9] + bytes([row[0][-9] ^ 1]) + row[0][-8:],)


def remove(stream: Stream) -> None:
    del stream.segments[next(iter(stream.segments))]


def swap(stream: Stream) -> None:
    first, second = list(stream.segments)[:2]
    stream.segments[first], stream.segments[second] = stream.segments[second], stream.segments[first]


def take_an_older_operator(stream: Stream) -> None:
    stream.head.held = (stream.head.held[0], saved(n_batches=2).head.held[1])


def take_the_place_of_another_bucket(stream: Stream) -> None:
    stream.label = 5


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (alter, "its segments are not those"),
        (remove, "it has 2 segments, and 3 were written"),
        (swap, "its segments are not those"),
        (take_an_older_operator, "its head is that of another bucket or micro-batch"),
        (take_the_place_of_another_bucket, "its head is that of another bucket or micro-batch"),
    ],
)
def test_damaged_state_names_its_bucket(damage: Callable[[Stream], None], said: str) -> None:
    stream = saved()
    damage(stream)
    with pytest.raises(StateError, match=f"the saved state of bucket {stream.label} is damaged: {said}"):
        stream.step(table([(3000, "C")]))


def test_state_without_digests_is_refused_by_its_version() -> None:
    stream = saved()
    stream.head.held = ('{"n_buckets": 1, "segments": [0], "timer_ms": null}', b'{"version": 1}')
    with pytest.raises(EventideError, match="the saved state of bucket 0 has version 1"):
        stream.step(table([(3000, "C")]))
