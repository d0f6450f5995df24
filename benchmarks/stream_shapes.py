"""Benchmarks of streams of other shapes than 'stream': many keys, one hot key, a longer window watched batch by batch.

The embedded engine over the same files says what the rows must be.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.plot import Line, line_chart
from benchmarks.registry import ROOT, Benchmark, Context, Outcome, Run, benchmark
from benchmarks.sequence import QUERY, TYPED, outcome_of_table, query
from benchmarks.stream import stream_files, streaming, write_files

MANY_KEYS = 100_000
PLOT = ROOT / "docs" / "images" / "stream-state.svg"


@benchmark(
    "stream_many_keys",
    events=10_000_000,
    summary=f"The stream of `stream`, but over {MANY_KEYS:,} keys: 500,000 events per micro-batch. WITHIN is 1,500 "
    "seconds here, a hundred times as long, so that a key has as many events in it.",
)
def many_keys(context: Context) -> Path:
    typed = {**TYPED, "keys": MANY_KEYS}
    return context.cached(f"stream-keys-{context.events}", lambda path: write_files(path, context.events, typed))


@benchmark(
    "stream_hot_key",
    events=10_000_000,
    summary="The stream of `stream`, but half of all events have one key. One of the two buckets then has three "
    "quarters of the events.",
)
def hot_key(context: Context) -> Path:
    return context.cached(f"stream-hot-{context.events}", lambda path: write_files(path, context.events, change=_heat))


def _heat(events: pa.Table) -> pa.Table:
    """Every second event of the same key."""
    keys = events.column("key").to_numpy().copy()
    keys[::2] = 0
    return events.set_column(events.schema.get_field_index("key"), "key", pa.array(keys))


@benchmark(
    "stream_state",
    events=10_000_000,
    summary="The stream of `stream` WITHIN 1 minute, which is 60,000 events of the 500,000 of a micro-batch: what the "
    "state holds, what each batch writes, and the memory of all processes, batch by batch.",
)
def state(context: Context) -> Path:
    return stream_files(context)


def _within(seconds: int) -> Any:
    return query(QUERY.replace("WITHIN 15 seconds", f"WITHIN {seconds} seconds"), allowed_lateness="0 seconds")


def _add_variants(
    shape: Benchmark, seconds: int, finish: Callable[[Outcome], Outcome] = lambda outcome: outcome
) -> None:
    @shape.subject("Eventide stream")
    def _stream(folder: Path, context: Context) -> Run:
        run = streaming(folder, context, _within(seconds).run)
        return lambda: finish(run())

    @shape.limit("Eventide local", note="the same files, embedded")
    def _local(folder: Path, context: Context) -> Run:
        pattern = _within(seconds)
        return lambda: outcome_of_table(pattern.run(str(folder)))


def _draw(outcome: Outcome) -> Outcome:
    """The table as a picture for the docs; the last batch only closes the stream."""
    rows = [row for row in outcome.details["state by batch"] if row["events"]]
    lines = [
        Line("memory of all processes", "MiB", [row["resident MiB"] or np.nan for row in rows]),
        Line("state", "KiB", [row["state KiB"] for row in rows]),
        Line("state written", "KiB", [row["state KiB written"] for row in rows]),
        Line("time", "seconds", [row["seconds"] for row in rows]),
    ]
    PLOT.parent.mkdir(exist_ok=True)
    PLOT.write_text(line_chart(lines, "micro-batches of 500,000 events"), encoding="utf-8")
    return outcome


_add_variants(many_keys, 1500)
_add_variants(hot_key, 15)
_add_variants(state, 60, _draw)
