"""Benchmark 'stream': the pattern of 'sequence' on a stream of files, 500,000 events per micro-batch.

Peer: one state per key in `transformWithStateInPandas`, as a user would write it. Besides speed, the bytes of
state that each batch writes.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.chain import count_chains
from benchmarks.limits import scan
from benchmarks.memory import descendants, resident_bytes
from benchmarks.registry import Context, Outcome, Run, benchmark
from benchmarks.sequence import CHAIN, COLUMNS, N_KEYS, TYPED, outcome_of_frame, query
from benchmarks.session import start_session
from eventide.engines.spark.tally import Batch
from eventide.generate import generate

BATCH_EVENTS = 500_000
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@benchmark(
    "stream",
    events=10_000_000,
    summary="The pattern of `sequence` in Structured Streaming: a Parquet file of 500,000 events per "
    "micro-batch, `availableNow`, checkpoint and Parquet sink on the local disk. Seconds from start to end.",
)
def stream(context: Context) -> Path:
    return stream_files(context)


def stream_files(context: Context) -> Path:
    """A folder of Parquet files, one a micro-batch, made once."""
    return context.cached(f"stream-{context.events}", lambda path: write_files(path, context.events))


def write_files(
    folder: Path, events: int, typed: dict[str, Any] = TYPED, change: Callable[[pa.Table], pa.Table] = lambda t: t
) -> None:
    """Write a folder of files with `BATCH_EVENTS` events each, in time order by name; all or nothing."""
    partial = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    partial.mkdir()
    try:
        whole = generate("typed", events=events, output=partial / "all.parquet", row_group_events=BATCH_EVENTS, **typed)
        file = pq.ParquetFile(whole)
        for idx in range(file.num_row_groups):
            pq.write_table(change(file.read_row_group(idx)), partial / f"{idx:05d}.parquet")
            # The file source takes files in the order of their modification times.
            time.sleep(0.02)
        whole.unlink()
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@stream.limit("Numba kernel")
def numba_kernel(folder: Path, context: Context) -> Run:
    files = sorted(folder.glob("*.parquet"))

    def run() -> Outcome:
        chunks: list[pa.RecordBatch] = []
        for path in files:
            chunks += pq.read_table(path, columns=list(COLUMNS), read_dictionary=["kind"]).to_batches()
        return Outcome(*count_chains(chunks, CHAIN, n_keys=N_KEYS))

    return run


@stream.limit("PyArrow scan")
def _pyarrow_scan(folder: Path, context: Context) -> Run:
    return scan(sorted(folder.glob("*.parquet")), COLUMNS, dictionaries=["kind"])


@stream.subject("Eventide stream")
def _eventide(folder: Path, context: Context) -> Run:
    pattern = query(allowed_lateness="0 seconds")
    return streaming(folder, context, pattern.run)


@stream.peer("PySpark state per key")
def _state_per_key(folder: Path, context: Context) -> Run:
    def matches(events: Any) -> Any:
        return (
            events.select(*COLUMNS)
            .groupBy("key")
            .transformWithStateInPandas(
                statefulProcessor=_processor(),
                outputStructType="a_ts timestamp, c_ts timestamp",
                outputMode="Append",
                timeMode="None",
            )
        )

    return streaming(folder, context, matches)


def _processor() -> Any:
    """The peer's processor; a class made here, since PySpark is imported only when a variant needs it."""
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class PendingRuns(StatefulProcessor):
        """Keeps a key's unfinished runs in a list state: (start, value of A, time of B or -1, done or -1).

        Files arrive in time order, so a batch only has to be sorted within itself.
        """

        def init(self, handle: Any) -> None:
            self._runs = handle.getListState("runs", "a_us long, a_value double, b_us long, done_us long")

        def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Any:  # noqa: N802, N803
            events = pd.concat(list(rows)).sort_values("ts")
            times = events["ts"].to_numpy().astype("datetime64[us]").astype("int64").tolist()
            runs = list(self._runs.get())
            found: list[tuple[int, int]] = []
            for t, kind, value in zip(times, events["kind"].tolist(), events["value"].tolist(), strict=True):
                runs = advance_runs(runs, found, t, kind, value)
            self._runs.put(runs) if runs else self._runs.clear()
            if found:
                starts, ends = zip(*found, strict=True)
                yield pd.DataFrame({"a_ts": pd.to_datetime(starts, unit="us"), "c_ts": pd.to_datetime(ends, unit="us")})

        def close(self) -> None:
            pass

    return PendingRuns()


def advance_runs(runs: list, found: list[tuple[int, int]], t: int, kind: str, value: float) -> list:
    """The runs of one key after one event, in plain Python; matches go to `found`."""
    if kind == "A" and value < CHAIN.a_below:
        return [*runs, (t, value, -1, -1)]
    is_b = kind == "B" and value > CHAIN.b_above
    if not is_b and not (kind == "C" and value < CHAIN.c_below):
        return runs
    kept = []
    for run in runs:
        a_us, a_value, b_us, done_us = run
        # A run that was extended stays for events tied with the one that extended it.
        if t - a_us >= CHAIN.window_us or (done_us >= 0 and done_us != t):
            continue
        if is_b and b_us < 0 and a_us < t and value > a_value:
            kept += [(a_us, a_value, -1, t), (a_us, a_value, t, -1)]
        elif not is_b and 0 <= b_us < t:
            found.append((a_us, t))
            kept.append((a_us, a_value, b_us, t))
        else:
            kept.append(run)
    return kept


def streaming(folder: Path, context: Context, matches: Callable[[Any], Any]) -> Run:
    """Run `matches` over the files as a stream, with a new checkpoint and sink every time."""
    spark = stream_session()
    schema = spark.read.parquet(str(folder)).schema

    def stream(source: Path, work: Path) -> tuple[Any, float, dict[int, int]]:
        events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
        writer = matches(events).writeStream.format("parquet").outputMode("append")
        writer = writer.option("checkpointLocation", str(work / "checkpoint")).trigger(availableNow=True)
        begin = time.perf_counter()
        started = writer.start(str(work / "sink"))
        memory = _memory_by_batch(started)
        started.awaitTermination()
        return started, time.perf_counter() - begin, memory

    def run() -> Outcome:
        work = context.cache / f"stream-run-{uuid.uuid4().hex}"
        try:
            # Spark ends Python workers that idle for a minute, as they do here between rounds and never on a
            # running stream: the first file alone, untimed, starts them again for every variant.
            first = work / "first"
            first.mkdir(parents=True)
            (first / "0.parquet").symlink_to(min(folder.glob("*.parquet")).resolve())
            stream(first, work / "warm")
            started, seconds, memory = stream(folder, work)
            outcome = outcome_of_frame(spark.read.parquet(str(work / "sink")))
            table = batch_table(started.recentProgress, work / "checkpoint", memory)
            return Outcome(outcome.count, outcome.checksum, {"state by batch": table}, seconds)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    return run


def _memory_by_batch(started: Any) -> dict[int, int]:
    """Resident bytes of this process and all below it, JVM and workers, at about the end of each batch."""
    found: dict[int, int] = {}
    while started.isActive:
        last = started.lastProgress
        if last is not None:
            found[last["batchId"]] = resident_bytes(descendants(os.getpid()))
        started.awaitTermination(0.5)
    return found


def stream_session() -> Any:
    """A session for streams, one state task a core."""
    return start_session(
        **{
            "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
            "spark.sql.streaming.numRecentProgressUpdates": "1000",
            # One state task a core: each has a fixed cost in every micro-batch, for all variants alike.
            "spark.sql.shuffle.partitions": str(len(os.sched_getaffinity(0))),
            # Watermarks need TIMESTAMP; times without a zone in Parquet would be read as TIMESTAMP_NTZ.
            "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
        }
    )


def batch_table(progress: list[Any], checkpoint: Path, memory: dict[int, int]) -> list[dict[str, Any]]:
    """A row per micro-batch: events, seconds, rows and bytes of state, bytes of state changes written, memory.

    What batch n changed is committed as the changelog of version n + 1. Snapshots, made now and then in the
    background, are not counted.
    """
    written: dict[int, int] = {}
    for file in (checkpoint / "state").rglob("*.changelog"):
        batch = int(file.stem.split("_")[0]) - 1
        written[batch] = written.get(batch, 0) + file.stat().st_size
    return [
        {
            "batch": p["batchId"],
            "events": p["numInputRows"],
            "seconds": round(p["batchDuration"] / 1000, 3),
            "state rows": sum(o["numRowsTotal"] for o in p["stateOperators"]),
            "state KiB": _held_kib(p),
            "state KiB written": round(written.get(p["batchId"], 0) / 1024),
            "resident MiB": round(memory[p["batchId"]] / 2**20) if p["batchId"] in memory else "",
        }
        for p in progress
    ]


def _held_kib(progress: Any) -> int | str:
    """What the buckets' states hold after a batch, as Eventide's tasks count it; a peer's do not."""
    calls = Batch.of(progress).calls.values()
    return round(sum(call.state_bytes for call in calls) / 1024) if calls else ""
