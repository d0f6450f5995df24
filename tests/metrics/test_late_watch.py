"""Late events that a stream drops are told once, with what to do."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

import eventide as ev
from eventide.engines.spark.checkpoints import Made, remember
from eventide.engines.spark.listener import LateWatch
from tests.metrics.reports import call, progress

NAME = "eventide_buckets_77"


def told(watch: LateWatch, caplog: pytest.LogCaptureFixture, *reports: dict[str, Any]) -> list[str]:
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="eventide"):
        for report in reports:
            watch.onQueryProgress(SimpleNamespace(progress=report))
    return [record.getMessage() for record in caplog.records]


def test_the_first_late_events_of_a_stream_are_told_and_no_others(caplog: pytest.LogCaptureFixture) -> None:
    remember(NAME, Made("PATTERN A", (), 4, "allowed_lateness is 0"))
    watch = LateWatch()
    late = call(1, 10, late_events=2), call(2, 5, late_events=1)
    assert told(watch, caplog, progress(0, call(0, 10)), progress(1) | {"durationMs": {}}) == []
    (message,) = told(watch, caplog, progress(3, *late), progress(4, *late))
    assert "stream orders: 3 events of batch 3" in message and "allowed_lateness is 0" in message
    assert "q.late(events)" in message and "ev.metrics" in message
    assert len(told(watch, caplog, progress(5, *late, run="another"))) == 1


def test_late_events_that_are_returned_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    remember(NAME, Made("PATTERN A", (), 4, None))
    assert told(LateWatch(), caplog, progress(0, call(1, 10, late_events=2))) == []


def test_a_live_query_tells_late_events_once(caplog: pytest.LogCaptureFixture) -> None:
    query = ev.query("DEFINE A AS x, B AS y PATTERN A meets B WITHIN 1 hour", ts_unit="s", allowed_lateness="2 seconds")
    live = query.live([[{"ts": ts, "x": True, "y": False}] for ts in (1, 9, 2, 3, 12)])
    live._tuner.block_events = 1
    with caplog.at_level(logging.WARNING, logger="eventide"):
        list(live)
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith("1 events came after") and "allowed_lateness is 2 seconds" in message
    assert live.metrics()["late_events"] == 2
