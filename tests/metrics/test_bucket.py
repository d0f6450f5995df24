"""What a task says behind the rows of a bucket, with a state store of plain dicts."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from eventide.engines.spark.bucket import Work, make_processor
from eventide.engines.spark.counters import COUNTERS, Counters, counter_rows, with_counters
from eventide.engines.spark.types import arrow_schema, spark_schema
from eventide.runtime.block import to_bytes
from tests.engines.plans import SECOND_US, make_plan
from tests.micro_batches import Stream

SCHEMA = pa.schema(
    [("user", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("kind", pa.string()), ("amount", pa.int32())]
)


class Store:
    """A value, a map and timers, as Spark gives them to a processor."""

    def __init__(self) -> None:
        self.value: Any = None
        self.segments: dict[Any, Any] = {}
        self.watermark_ms = 0
        self.getValue = self.segments.__getitem__
        self.removeKey = self.segments.pop
        self.updateValue = self.segments.__setitem__

    def getValueState(self, *_: str) -> Store:  # noqa: N802
        return self

    def getMapState(self, *_: str) -> Store:  # noqa: N802
        return self

    def get(self) -> Any:
        return self.value

    def update(self, value: Any) -> None:
        self.value = value

    def registerTimer(self, ms: int) -> None:  # noqa: N802
        self.timer_ms = ms

    def deleteTimer(self, ms: int) -> None:  # noqa: N802
        del self.timer_ms

    def getCurrentWatermarkInMs(self) -> int:  # noqa: N802
        return self.watermark_ms


class Bucket:
    """One bucket of a three-step pattern within 20 seconds; calls as Spark makes them."""

    def __init__(self, delay_ms: int | None = 0) -> None:
        self.store = Store()
        plan = make_plan()
        self._stream = Stream(plan)
        self.schema = arrow_schema(spark_schema(plan.output_schema))
        self._processor = make_processor(Work(plan.spec, 1, self.schema, delay_ms))
        self._processor.init(self.store)

    def take(self, *events: tuple[int, str], watermark: int = 0) -> tuple[pd.DataFrame, list[Counters]]:
        """The rows of events (second, kind) and what stands behind them."""
        rows = [{"user": "u", "ts": second * SECOND_US, "kind": kind, "amount": 1} for second, kind in events]
        block = self._stream._block(pa.Table.from_pylist(rows, schema=SCHEMA))
        self.store.watermark_ms = 1000 * watermark
        frame = pd.DataFrame({"data": [b"", to_bytes(block)] if rows else [b""]})
        frames = list(self._processor.handleInputRows((7,), iter([frame]), self.store))
        made = pd.concat(frames) if frames else pd.DataFrame()
        texts = made[COUNTERS].dropna().tolist()
        return made[made[COUNTERS].isna()], [Counters.parse(text) for text in texts]


def test_a_call_tells_its_events_matches_open_runs_and_state() -> None:
    bucket = Bucket()
    rows, (counters,) = bucket.take((1, "A"), (2, "B"), (3, "A"), (4, "C"))
    assert (counters.bucket, counters.events, counters.late_events, counters.matches) == (7, 4, 0, len(rows))
    assert counters.matches == 1
    assert counters.open_runs == 2
    held = len(bucket.store.value[0]) + len(bucket.store.value[1])
    assert counters.state_bytes == held + sum(len(data) for (data,) in bucket.store.segments.values())
    assert 0 < counters.kernel_us <= counters.task_us
    assert counters.rule is None


def test_late_events_are_those_of_the_call() -> None:
    bucket = Bucket()
    bucket.take((10, "A"))
    _, (counters,) = bucket.take((1, "A"), (2, "A"), (12, "A"), watermark=10)
    assert (counters.events, counters.late_events, counters.open_runs) == (3, 2, 2)
    _, (counters,) = bucket.take((3, "A"), watermark=12)
    assert counters.late_events == 1


def test_a_call_without_events_tells_what_is_left() -> None:
    bucket = Bucket(delay_ms=None)
    rows, (counters,) = bucket.take((1, "A"), (2, "B"), (3, "C"))
    assert (len(rows), counters.matches) == (0, 0)
    rows, (counters,) = bucket.take(watermark=5)
    assert (len(rows), counters.matches, counters.events, counters.open_runs) == (1, 1, 0, 1)
    _, (counters,) = bucket.take(watermark=100)
    assert counters.open_runs == 0


def test_the_row_with_counters_comes_after_the_watermark_and_has_no_values() -> None:
    bucket = Bucket()
    counters = Counters(7, 1, 0, 0, 0, 0, 0, 0)
    for watermark_us, wanted in ((-(2**62), 1000), (5_000_000, 5_001_000)):
        (row,) = counter_rows([counters], bucket.schema, watermark_us).to_pylist()
        assert row.pop(COUNTERS) == counters.text()
        assert pa.scalar(row.pop("detected_at"), pa.timestamp("us", "UTC")).value == wanted
        assert set(row.values()) == {None}


def test_a_result_without_event_time_gets_none() -> None:
    schema = pa.schema([("detected_at", pa.int64()), ("x", pa.string())])
    (row,) = counter_rows([Counters(7, 1, 0, 0, 0, 0, 0, 0)], schema, 5).to_pylist()
    assert (row["detected_at"], row["x"]) == (None, None)
    assert with_counters(spark_schema(schema)).names == ["detected_at", "x", COUNTERS]
