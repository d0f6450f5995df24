"""Progress of micro-batches, as Spark reports it, to what a stream has counted: in all, by rule, and in the last one.

Numbers that add up do so from the first progress seen. Open runs and state are those of the latest call for each
bucket: a bucket without events is not called, and its state stays as it is.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from eventide.engines.spark.counters import INTAKE, OBSERVED, SOURCE, Counters

BATCHES_KEPT = 500
# One bucket with more than half of the events, of so many buckets and events, is a hot key and no accident.
HOT_SHARE, HOT_BUCKETS, HOT_EVENTS = 0.5, 4, 1000

_WARNED: set[str | None] = set()  # runs of streams: one word about each
_log = logging.getLogger("eventide.metrics")


@dataclass(slots=True)
class Batch:
    """One micro-batch."""

    batch_id: int
    started_at: datetime | None
    watermark: datetime | None
    batch_us: int
    input_rows: int
    dropped_events: int
    bad_records: int
    counted: Counters = field(default_factory=Counters)
    rules: dict[str, Counters] = field(default_factory=dict)
    calls: dict[tuple[str, str | None, int], Counters] = field(default_factory=dict)  # the last of each bucket and rule
    events_by_bucket: dict[tuple[str, int], int] = field(default_factory=dict)
    us_by_bucket: dict[tuple[str, int], int] = field(default_factory=dict)
    late_by_operator: dict[str, int] = field(default_factory=dict)  # by the name of its observed metric

    @classmethod
    def of(cls, progress: Mapping[str, Any]) -> Batch:
        """The batch of a `StreamingQueryProgress`, or of its JSON."""
        durations, times = progress["durationMs"] or {}, progress["eventTime"] or {}
        observed = {name: _fields(metric) for name, metric in (progress["observedMetrics"] or {}).items()}
        batch = cls(
            batch_id=int(progress["batchId"]),
            started_at=_time(progress["timestamp"]),
            watermark=_time(times.get("watermark")),
            batch_us=1000 * int(durations.get("triggerExecution", 0)),
            input_rows=int(progress["numInputRows"] or 0),
            dropped_events=_sum(observed, INTAKE, "dropped_events"),
            bad_records=_sum(observed, SOURCE, "bad_records"),
        )
        for name, metric in observed.items():
            if name.startswith(OBSERVED):
                for text in metric["counters"]:
                    batch._count(name, Counters.parse(text))
        return batch

    def _count(self, name: str, counters: Counters) -> None:
        self.counted.add(counters)
        if counters.rule is not None:
            self.rules.setdefault(counters.rule, Counters()).add(counters)
        # A bucket is called twice when a timer expires after its events; its calls come in order.
        self.calls[name, counters.rule, counters.bucket] = counters
        place = name, counters.bucket
        self.events_by_bucket[place] = self.events_by_bucket.get(place, 0) + counters.events
        self.us_by_bucket[place] = self.us_by_bucket.get(place, 0) + counters.task_us
        self.late_by_operator[name] = self.late_by_operator.get(name, 0) + counters.late_events

    @property
    def n_buckets(self) -> int:
        """How many buckets had events."""
        return sum(n > 0 for n in self.events_by_bucket.values())

    def numbers(self) -> dict[str, Any]:
        """As users see it."""
        return {
            "batch_id": self.batch_id,
            "started_at": self.started_at,
            "watermark": self.watermark,
            "batch_us": self.batch_us,
            "input_rows": self.input_rows,
            "dropped_events": self.dropped_events,
            "bad_records": self.bad_records,
            **self.counted.added(),
            "buckets": self.n_buckets,
            "largest_bucket_events": _largest_share(self.events_by_bucket),
            "largest_bucket_time": _largest_share(self.us_by_bucket),
            "rules": {rule: counted.added() for rule, counted in self.rules.items()},
        }


class Tally:
    """What one stream has counted; `add` takes its progress."""

    def __init__(self, query_id: str, name: str | None = None) -> None:
        self.query_id = query_id
        self.name = name
        self.is_running = True
        self.n_batches = 0
        self.batch_us = self.input_rows = self.dropped_events = self.bad_records = 0
        self.watermark: datetime | None = None
        self.counted = Counters()
        self.rules: dict[str, Counters] = {}
        self.batches: deque[dict[str, Any]] = deque(maxlen=BATCHES_KEPT)  # as users see them
        self._calls: dict[tuple[str, str | None, int], Counters] = {}
        self._run_id: str | None = None

    def add(self, progress: Mapping[str, Any]) -> None:
        """Count a micro-batch; Spark also reports that it waits for events, which counts for nothing."""
        run_id = str(progress["runId"])
        if run_id != self._run_id:
            # A restart calls a bucket anew before anything is known of it.
            self._run_id = run_id
            self._calls.clear()
        if "addBatch" not in (progress["durationMs"] or {}):
            return
        batch = Batch.of(progress)
        self.n_batches += 1
        self.batch_us += batch.batch_us
        self.input_rows += batch.input_rows
        self.dropped_events += batch.dropped_events
        self.bad_records += batch.bad_records
        self.watermark = batch.watermark or self.watermark
        self.counted.add(batch.counted)
        for rule, counted in batch.rules.items():
            self.rules.setdefault(rule, Counters()).add(counted)
        self._calls |= batch.calls
        self._warn(batch)
        self.batches.append(batch.numbers())

    def held(self, rule: str | None = None) -> tuple[int, int]:
        """Open runs and bytes of state; of one rule, or of all."""
        calls = [each for each in self._calls.values() if rule is None or each.rule == rule]
        return sum(each.open_runs for each in calls), sum(each.state_bytes for each in calls)

    def numbers(self) -> dict[str, Any]:
        """As users see it."""
        return {
            "query": self.name or self.query_id,
            "id": self.query_id,
            "batches": self.n_batches,
            "watermark": self.watermark,
            "batch_us": self.batch_us,
            "input_rows": self.input_rows,
            "dropped_events": self.dropped_events,
            "bad_records": self.bad_records,
            **self.counted.added(),
            **_held(self.held()),
            "last_batch": self.batches[-1] if self.batches else None,
            "rules": {rule: {**counted.added(), **_held(self.held(rule))} for rule, counted in self.rules.items()},
        }

    def _warn(self, batch: Batch) -> None:
        share = _largest_share(batch.events_by_bucket)
        is_hot = share > HOT_SHARE and batch.n_buckets >= HOT_BUCKETS and batch.counted.events >= HOT_EVENTS
        if is_hot and self._run_id not in _WARNED:
            _WARNED.add(self._run_id)
            _log.warning(
                "stream %s: one of %d buckets has %.0f%% of the events of batch %d. A key is hot: one task works on "
                "all of its events, while the others continue. Partition by one more column; docs/metrics.md has more.",
                self.name or self.query_id,
                batch.n_buckets,
                100 * share,
                batch.batch_id,
            )


def _held(both: tuple[int, int]) -> dict[str, int]:
    return {"open_runs": both[0], "state_bytes": both[1]}


def _largest_share(by_bucket: Mapping[Any, int]) -> float:
    total = sum(by_bucket.values())
    return max(by_bucket.values()) / total if total else 0.0


def _sum(observed: Mapping[str, Any], prefix: str, counter: str) -> int:
    return sum(int(metric[counter]) for name, metric in observed.items() if name.startswith(prefix))


def _fields(metric: Any) -> Mapping[str, Any]:
    """A metric's counters by name; Connect sends the values, and their names in a schema."""
    row: Mapping[str, Any] = metric.asDict() if hasattr(metric, "asDict") else metric
    if row.keys() == {"values", "schema"}:
        return {field["name"]: value for field, value in zip(row["schema"]["fields"], row["values"], strict=True)}
    return row


def _time(text: str | None) -> datetime | None:
    """Spark's text of a time; its watermark begins at the epoch, before anything is known."""
    if text is None:
        return None
    time = datetime.fromisoformat(text).astimezone(UTC)
    return time if time.timestamp() > 0 else None
