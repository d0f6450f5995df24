"""A bucket of rules in micro-batches; plain objects play Spark's part: rows, state, timers and watermark."""

from __future__ import annotations

import json
import pickle
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa

from eventide.engines.rules import Shared, share
from eventide.runtime.block import to_bytes
from tests.spark_state import Map, Timers, Value

START_US = 1_700_000_000_000_000
MS_US = 1000
SCHEMA = pa.schema(
    [("user", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("kind", pa.string()), ("amount", pa.int32())]
)
OPTIONS = {"ts": "ts", "type": "kind", "partition_by": ["user"]}


def table(rows: list[tuple[int, str]], user: str = "u") -> pa.Table:
    """Events (milliseconds, kind); an event's amount is its place in the list."""
    times = pa.array([START_US + ms * MS_US for ms, _ in rows], pa.int64()).cast(SCHEMA.field("ts").type)
    columns = [[user] * len(rows), times, [kind for _, kind in rows], pa.array(range(len(rows)), pa.int32())]
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=SCHEMA)


class Stream:
    """One bucket; each `step` is a micro-batch. The watermark is of the events of all batches before it."""

    def __init__(self, *, delay_ms: int | None = 0, label: int = 0, schema: pa.Schema = SCHEMA, **options: Any) -> None:
        self.delay_ms, self.label = delay_ms, label
        self.configure(schema, **options)
        self.tell: Any = lambda failures: self.told.extend(failures)
        self.timers, self.head, self.rules, self.segments = Timers(), Value(), Map(), Map()
        self.newest_ms: int | None = None
        self.counters: list[str] = []
        self.told: list[dict[str, Any]] = []  # what reached the driver in the last micro-batch

    def configure(self, schema: pa.Schema = SCHEMA, n_buckets: int = 1, **options: Any) -> None:
        """What a start of the stream sets anew."""
        self.share(share(schema, OPTIONS | options), n_buckets)

    def share(self, shared: Shared, n_buckets: int = 1) -> None:
        from eventide.engines.spark.rules_bucket import RuleBucket, RuleWork

        self.settings = pickle.dumps((RuleBucket, RuleWork(shared, n_buckets, self.delay_ms)))

    def step(self, events: pa.Table | None = None, **changes: str | dict[str, Any] | None) -> list[dict[str, Any]]:
        """The rows of a micro-batch; changes are texts or definitions by the rules' names, None removes."""
        watermark_ms = 0 if self.newest_ms is None else self.newest_ms - (self.delay_ms or 0)
        clock = SimpleNamespace(getCurrentWatermarkInMs=lambda: watermark_ms)
        frames: list[pd.DataFrame] = []
        self.told = []
        self.rules.touched, self.segments.touched = set(), set()
        written = {
            name: {"query": change, "options": None} if isinstance(change, str) else change
            for name, change in changes.items()
        }
        inputs = [(None, json.dumps(written))] if written else []
        if events is not None:
            # Rules and events come in any order.
            inputs.insert(0, (to_bytes(events), None))
            times = events.column("ts").cast(pa.int64()).to_pylist()
            self.newest_ms = max([us // MS_US for us in times] + ([self.newest_ms] if self.newest_ms else []))
        if inputs:
            frame = pd.DataFrame(inputs, columns=["data", "changes"])
            frames += self._bucket().take(iter([frame]), clock)
        for due in sorted(ms for ms in self.timers if ms <= watermark_ms):
            info = SimpleNamespace(getExpiryTimeInMs=lambda due=due: due)
            frames += self._bucket().wake(clock, info)
            self.timers.remove(due)
        return self._rows(frames)

    def _bucket(self) -> Any:
        from eventide.engines.spark.bucket import open_bucket

        return open_bucket(self.settings, self.label, self.timers, self.head, self.rules, self.segments, self.tell)

    def _rows(self, frames: list[pd.DataFrame]) -> list[dict[str, Any]]:
        rows = [row for frame in frames for row in pa.Table.from_pandas(frame).to_pylist()]
        self.counters = [row["__eventide_counters"] for row in rows if row["__eventide_counters"] is not None]
        return [row for row in rows if row["__eventide_counters"] is None]


def pairs(rows: list[dict[str, Any]]) -> list[tuple[str, list[Any]]]:
    """Rule and values of each row, sorted; of a problem its first line."""
    return sorted(
        (row["rule"], [row["problem"].splitlines()[0]] if row["problem"] else list(json.loads(row["row"]).values()))
        for row in rows
    )
