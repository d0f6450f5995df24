"""Progress as Spark reports it, for tests without Spark."""

from __future__ import annotations

from typing import Any

from eventide.engines.spark.counters import Counters


def call(bucket: int, events: int = 0, *, rule: str | None = None, **counted: int) -> str:
    """What a task says of one call for a bucket."""
    zero = {"late_events": 0, "matches": 0, "open_runs": 0, "state_bytes": 0, "kernel_us": 0, "task_us": 0}
    zero["problems"] = 0
    return Counters(bucket=bucket, events=events, rule=rule, **(zero | counted)).text()


def progress(batch_id: int, *calls: str, run: str = "run", **changed: Any) -> dict[str, Any]:
    """One micro-batch of half a second; `changed` are keys of the report."""
    return {
        "id": "0a1b",
        "runId": run,
        "name": "orders",
        "timestamp": f"2026-01-01T00:00:{batch_id:02}.000Z",
        "batchId": batch_id,
        "durationMs": {"addBatch": 400, "triggerExecution": 500},
        "eventTime": {"watermark": f"2026-01-01T00:00:{batch_id:02}.500Z"},
        "numInputRows": 10,
        "observedMetrics": {"eventide_buckets_77": {"counters": list(calls)}},
    } | changed
