"""Benchmark 'kafka': the pattern of 'sequence' on a stream of JSON records, 500,000 per micro-batch, broker included.

Limit besides the kernel: the same source into nothing. The broker is Apache Kafka of the tests, on the same machine.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.registry import Context, Outcome, Run, UnavailableError, benchmark
from benchmarks.sequence import outcome_of_frame, query
from benchmarks.session import start_session
from benchmarks.stream import BATCH_EVENTS, batch_table, numba_kernel, stream_files

SCHEMA = "ts timestamp, key int, kind string, value double"
# The partitions of a topic are not read at the same pace to the event.
LATENESS = "5 seconds"


@benchmark(
    "kafka",
    events=5_000_000,
    summary="The pattern of `sequence` on JSON records of a Kafka topic with a partition per core, 500,000 records "
    "per micro-batch, `availableNow`, broker on the same machine, Parquet sink. Seconds from start to end.",
)
def kafka(context: Context) -> Path:
    return stream_files(context)


kafka.limit("Numba kernel", note="from Parquet files")(numba_kernel)


@kafka.limit("Spark reads and parses", note="no pattern, no result")
def _nothing(folder: Path, context: Context) -> Run:
    return _streaming(folder, context, lambda events: events, sink="noop")


@kafka.subject("Eventide from Kafka")
def _eventide(folder: Path, context: Context) -> Run:
    return _streaming(folder, context, query(allowed_lateness=LATENESS).run, sink="parquet")


def _streaming(folder: Path, context: Context, matches: Callable[[Any], Any], sink: str) -> Run:
    """A broker with the records; `matches` over them as a stream, with a new checkpoint and sink every time."""
    try:
        from tests.kafka.broker import Broker, session_settings
    except ImportError as error:
        raise UnavailableError(f"the tests' broker cannot be used: {error}") from None
    import eventide as ev

    cores = len(os.sched_getaffinity(0))
    spark = start_session(
        **session_settings(),
        **{"spark.sql.shuffle.partitions": str(cores), "spark.sql.streaming.numRecentProgressUpdates": "1000"},
    )
    broker = Broker(java=("java", "-Xmx1g"))
    # Never left: the broker ends with this process, which the harness ends.
    broker.__enter__()
    files = sorted(folder.glob("*.parquet"))
    _fill(spark, broker, "first", files[:1], cores)
    _fill(spark, broker, "events", files, cores)

    def stream(topic: str, work: Path) -> tuple[Any, float]:
        source = ev.kafka.read(spark, broker.servers, topic, schema=SCHEMA, max_events_per_batch=BATCH_EVENTS)
        writer = matches(source.events).writeStream.format(sink).outputMode("append")
        writer = writer.option("checkpointLocation", str(work / "checkpoint")).trigger(availableNow=True)
        writer = writer.option("path", str(work / "sink"))
        begin = time.perf_counter()
        started = writer.start()
        started.awaitTermination()
        return started, time.perf_counter() - begin

    def run() -> Outcome:
        work = context.cache / f"kafka-run-{uuid.uuid4().hex}"
        try:
            # As in the benchmark 'stream': Python workers that idled are started again, untimed.
            stream("first", work / "warm")
            started, seconds = stream("events", work)
            if sink == "noop":
                return Outcome(seconds=seconds)
            outcome = outcome_of_frame(spark.read.parquet(str(work / "sink")))
            table = batch_table(started.recentProgress, work / "checkpoint", {})
            return Outcome(outcome.count, outcome.checksum, {"seconds by batch": table}, seconds)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    return run


def _fill(spark: Any, broker: Any, topic: str, files: list[Path], partitions: int) -> None:
    """The events in the order of time, and one long after them that moves the watermark past them."""
    from pyspark.sql import functions as sf

    broker.create_topic(topic, partitions=partitions)
    names = ["ts", "key", "kind", "value"]
    for path in files:
        events = spark.read.parquet(str(path)).select(sf.col("ts").cast("timestamp"), *names[1:]).coalesce(1)
        if path == files[-1]:
            end = events.agg((sf.max("ts") + sf.expr("INTERVAL 1 HOUR")).alias("ts")).selectExpr("*", "0", "'D'", "0D")
            events = events.union(end).coalesce(1)
        records = events.select(
            sf.expr(f"key % {partitions}").alias("partition"),
            sf.to_json(sf.struct(*names), {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"}).alias("value"),
        )
        options = {"kafka.bootstrap.servers": broker.servers, "topic": topic, "kafka.linger.ms": "20"}
        records.write.format("kafka").options(**options, **{"kafka.batch.size": "262144"}).save()
