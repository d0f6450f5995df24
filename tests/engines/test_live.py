"""Live input in this process: the rows of a bounded run, whatever the blocks; and how size and workers are chosen."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as ev
from eventide.engines.local.live import Live
from eventide.engines.local.tuning import SIZES, Tuner, assign
from tests.budget import QUICK, budgeted

QUERIES = {
    "situations": "DEFINE A AS x > 3, B AS y PATTERN A overlaps|meets|during|before B WITHIN 20 seconds "
    "RETURN key, start(A) AS a, count(B.*) AS n",
    "events": "DEFINE Low AS x < 3, High AS x > 5 PATTERN SEQ(Low L, High H) WHERE [key] WITHIN 9 seconds "
    "RETURN key, H.x",
    "trends": "DEFINE Low AS x < 3 PATTERN Low L+ GROUP BY key WITHIN 5 seconds RETURN key, COUNT(*) AS n",
}
EVENTS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None]), st.integers(0, 8), st.booleans()), max_size=40
)


def rows_of(tables: Any) -> list[tuple[tuple[str, Any], ...]]:
    rows = [tuple(sorted(row.items())) for table in tables for row in table.to_pylist()]
    return sorted(rows, key=repr)


def make_events(drawn: list[tuple[int, str | None, int, bool]]) -> pa.Table:
    times, now = [], 0
    for gap, *_ in drawn:
        now += gap
        times.append(now)
    columns = list(zip(*drawn, strict=True)) or [(), (), (), ()]
    return pa.table(
        {
            "ts": pa.array(times, pa.int64()),
            "key": pa.array(columns[1], pa.string()),
            "x": pa.array(columns[2], pa.int64()),
            "y": pa.array(columns[3], pa.bool_()),
        }
    )


@pytest.mark.parametrize("family", QUERIES)
@budgeted(**QUICK)
@given(EVENTS, st.lists(st.integers(1, 9), min_size=1), st.integers(1, 3), st.booleans())
def test_live_rows_are_those_of_a_bounded_run(
    family: str, drawn: list[Any], cuts: list[int], n_workers: int, has_keys: bool
) -> None:
    events = make_events(drawn)
    keys = {"partition_by": "key"} if has_keys and family == "situations" else {}
    text = QUERIES[family] if keys or family != "situations" else QUERIES[family].replace("RETURN key, ", "RETURN ")
    query = ev.query(text, ts_unit="s", **keys)

    def blocks() -> Iterator[pa.Table]:
        start, i = 0, 0
        while start < events.num_rows:
            size = cuts[i % len(cuts)]
            yield events.slice(start, size)
            start, i = start + size, i + 1

    live = query.live(blocks(), max_workers=n_workers, tune_every=1e-6)
    live._tuner.block_events, live._tuner.workers = 4, n_workers
    assert rows_of(live) == rows_of([query.run(events)])
    assert live.metrics()["events"] == events.num_rows


def test_events_may_be_late_by_the_allowed_lateness_and_no_more() -> None:
    query = ev.query("DEFINE A AS x, B AS y PATTERN A meets B WITHIN 1 hour", ts_unit="s", allowed_lateness="2 seconds")
    rows = [
        {"ts": 1, "x": True, "y": False},
        {"ts": 5, "x": False, "y": True},
        {"ts": 4, "x": True, "y": False},
        {"ts": 1, "x": False, "y": False},
        {"ts": 9, "x": False, "y": False},
    ]
    live = query.live([[row] for row in rows])
    live._tuner.block_events = 1
    assert [row["A_start"] for table in live for row in table.to_pylist()] == [1]
    assert live.metrics()["late_events"] == 1


def test_a_queue_is_read_until_none_and_rows_come_before_it_ends() -> None:
    waiting: queue.Queue[Any] = queue.Queue()
    query = ev.query("DEFINE A AS x, B AS y PATTERN A meets B WITHIN 1 hour", ts_unit="s")
    live = iter(query.live(waiting))
    for ts in (1, 2, 3):
        waiting.put([{"ts": ts, "x": ts == 1, "y": ts == 2}])
    assert next(live).column("detected_at").to_pylist() == [2]
    waiting.put(None)
    assert list(live) == []


def test_an_error_of_the_source_reaches_the_reader_and_its_thread_ends() -> None:
    def broken() -> Iterator[Any]:
        yield [{"ts": 1, "x": True, "y": False}]
        raise OSError("the line is dead")

    query = ev.query("DEFINE A AS x, B AS y PATTERN A meets B", ts_unit="s")
    with pytest.raises(OSError, match="the line is dead"):
        list(query.live(broken()))


def test_a_reader_that_stops_early_stops_the_source() -> None:
    def endless() -> Iterator[Any]:
        ts = 0
        while True:
            ts += 1
            yield [{"ts": ts, "x": ts % 2 == 0, "y": ts % 2 == 1}]

    live: Live = ev.query("DEFINE A AS x, B AS y PATTERN A meets B WITHIN 9 seconds", ts_unit="s").live(endless())
    rows = iter(live)
    next(rows)
    rows.close()  # type: ignore[attr-defined]
    assert live._reader is not None
    live._reader.join(timeout=10)
    assert not live._reader.is_alive()


def test_what_the_end_would_close_is_refused() -> None:
    query = ev.query("DEFINE A AS x, B AS y PATTERN A meets B", ts_unit="s", close_at_end=True)
    with pytest.raises(ev.InputError, match="close_at_end is for bounded input"):
        list(query.live([[{"ts": 1, "x": True, "y": False}]]))


def test_a_block_with_other_columns_is_refused() -> None:
    query = ev.query("DEFINE A AS x, B AS y PATTERN A meets B", ts_unit="s")
    with pytest.raises(ev.InputError, match="a block has other columns than the first one"):
        list(query.live([[{"ts": 1, "x": True, "y": False}], [{"ts": 2, "z": 1}]]))


@pytest.mark.parametrize(
    ("rate", "seconds_per_event", "block_events", "workers"),
    [(1_000, 1e-6, 32, 1), (100_000, 1e-6, 2048, 1), (100_000, 3e-5, 2048, 4), (100_000, 1e-3, 2048, 8)],
)
def test_size_follows_the_rate_and_workers_follow_the_work(
    rate: int, seconds_per_event: float, block_events: int, workers: int
) -> None:
    tuner = Tuner(blocks_per_second=50, most_workers=8)
    tuner.start(0.0)
    for _ in range(50):
        tuner.saw_input(rate // 50)
        tuner.saw_block(500, 500 * seconds_per_event)
    assert tuner.is_due(1.0)
    decision = tuner.decide(1.0)
    assert (decision.block_events, decision.workers) == (block_events, workers)
    assert decision.block_events in SIZES
    assert not tuner.is_due(1.5)


def test_what_waits_is_worked_off_in_larger_blocks() -> None:
    """The source has given all it has: blocks for a rate of nothing would take for ever. There is time for twenty."""
    tuner = Tuner(blocks_per_second=50, most_workers=2)
    tuner.start(0.0)
    for _ in range(20):
        tuner.saw_block(32, 0.05)
    decision = tuner.decide(1.0, waiting=100_000)
    assert (decision.events_per_second, decision.block_events) == (0.0, 4096)
    tuner.saw_block(4096, 0.01)
    assert tuner.decide(2.0, waiting=0).block_events == 32


def test_buckets_move_from_a_worker_with_too_much() -> None:
    loads = [100, 1, 100, 1, 1, 1]
    workers = assign(loads, 2)
    assert {workers[0], workers[2]} == {0, 1}


def test_decisions_and_the_state_are_metrics() -> None:
    def steady() -> Iterator[Any]:
        for ts in range(60):
            time.sleep(0.002)
            yield [{"ts": 100 * ts + i, "x": i % 7 == 0, "y": i % 5 == 0} for i in range(100)]

    live = ev.query("DEFINE A AS x, B AS y PATTERN A before B WITHIN 9 seconds", ts_unit="s").live(
        steady(), tune_every=0.02
    )
    n = sum(table.num_rows for table in live)
    metrics = live.metrics()
    assert metrics["matches"] == n > 0
    assert metrics["decisions"] and metrics["decisions"][-1].block_events == metrics["block_events"]
    assert metrics["state_bytes"] >= 0 and metrics["blocks"] > 1
