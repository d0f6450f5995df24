"""The time at which an interval was decided is the event time of a stream of intervals."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import eventide as ev
from tests.families.allen.test_derived import events, stream_of
from tests.families.allen.test_spark import run_stream

pytestmark = pytest.mark.spark


def hot(of: Any, **options: Any) -> Any:
    return ev.intervals.homogeneous(of, "hot", within="6 seconds", partition_by="room", **options)


def test_windows_over_a_stream_of_intervals_count_those_of_a_batch(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as sf

    table = events()
    intervals = hot(stream_of(spark, tmp_path / "in", table, 3))
    assert "spark.watermarkDelayMs" in intervals.schema["detected_at"].metadata
    windows = intervals.groupBy(sf.window("detected_at", "30 seconds")).count()
    rows = run_stream(windows.selectExpr("window.start AS start", "window.end AS end", "count"), tmp_path)
    # A window leaves when the watermark has passed it.
    last = max(table.column("ts").to_pylist())
    batch = [row["detected_at"] for row in hot(table, detected_at=True).to_pylist()]
    starts = Counter(at.replace(second=at.second // 30 * 30, microsecond=0) for at in batch)
    expected = {start: n for start, n in starts.items() if (last - start).total_seconds() >= 30}
    assert {row["start"]: row["count"] for row in rows} == expected
    assert len(expected) > 3
