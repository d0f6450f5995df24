"""Benchmarks of windowed aggregation on Spark: a path, a DataFrame and a stream, each beside Spark's `window()`."""

from __future__ import annotations

import shutil
import time
import uuid
from pathlib import Path
from typing import Any

from benchmarks.registry import Context, Outcome, Run, benchmark
from benchmarks.sequence import typed_file
from benchmarks.session import start_session
from benchmarks.stream import stream_files, stream_session

SIZE, SLIDE = "60 seconds", "10 seconds"
HOP = f"""
FROM events GROUP BY key WITHIN {SIZE} SLIDE {SLIDE}
RETURN key, count(*) AS n, sum(value) AS total, min(value) AS least, max(value) AS most
"""


@benchmark(
    "windows-spark",
    events=10_000_000,
    summary=f"Count, sum, least and greatest value per key in windows of {SIZE} every {SLIDE}, over one Parquet file "
    "in time order with 1,000 keys. Result: the windows, and the number of events in all of them.",
)
def windows_spark(context: Context) -> Path:
    return typed_file(context)


@benchmark(
    "windows-stream",
    events=10_000_000,
    summary="The windows of `windows-spark` in Structured Streaming: a Parquet file of 500,000 events per micro-batch, "
    "`availableNow`. Seconds from start to end.",
)
def windows_stream(context: Context) -> Path:
    return stream_files(context)


def query(**options: Any) -> Any:
    import eventide as ev

    return ev.query(HOP, ts="ts", **options)


def _windows(events: Any) -> Any:
    """What a user of Spark would write."""
    from pyspark.sql import functions as sf

    made = events.groupBy("key", sf.window("ts", SIZE, SLIDE)).agg(
        sf.count("*").alias("n"),
        sf.sum("value").alias("total"),
        sf.min("value").alias("least"),
        sf.max("value").alias("most"),
    )
    return made.select("key", "n", "total", "least", "most", "window.start", "window.end")


def _outcome(rows: Any) -> Outcome:
    """The number of windows, and of the events in them; reads every column of every row."""
    texts = ["count(*) AS n", "sum(n) AS events"]
    texts += [f"max({name})" for name in rows.columns if name != "n"]
    (row,) = rows.selectExpr(*texts).collect()
    return Outcome(row["n"], row["events"])


@windows_spark.subject("Eventide Spark, path")
def _path(path: Path, context: Context) -> Run:
    hop, spark = query(), start_session()
    return lambda: _outcome(hop.run(str(path), engine="spark", spark=spark))


@windows_spark.subject("Eventide Spark, DataFrame")
def _frame(path: Path, context: Context) -> Run:
    hop, spark = query(), start_session()
    return lambda: _outcome(hop.run(spark.read.parquet(str(path))))


@windows_spark.peer("Spark window()")
def _spark_window(path: Path, context: Context) -> Run:
    spark = start_session()
    return lambda: _outcome(_windows(spark.read.parquet(str(path))))


@windows_stream.subject("Eventide stream")
def _eventide_stream(folder: Path, context: Context) -> Run:
    return _streaming(folder, context, query(allowed_lateness="1 second").run)


@windows_stream.peer("Spark window() stream")
def _window_stream(folder: Path, context: Context) -> Run:
    return _streaming(folder, context, lambda events: _windows(events.withWatermark("ts", "1 second")))


def _streaming(folder: Path, context: Context, rows_of: Any) -> Run:
    """Over the files as a stream to a Parquet sink, with a new checkpoint every time."""
    spark = stream_session()
    schema = spark.read.parquet(str(folder)).schema

    def stream(source: Path, work: Path) -> float:
        events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
        writer = rows_of(events).writeStream.format("parquet").outputMode("append")
        writer = writer.option("checkpointLocation", str(work / "checkpoint")).trigger(availableNow=True)
        begin = time.perf_counter()
        writer.start(str(work / "sink")).awaitTermination()
        return time.perf_counter() - begin

    def run() -> Outcome:
        work = context.cache / f"windows-run-{uuid.uuid4().hex}"
        try:
            # Spark ends Python workers that idle: the first file alone, untimed, starts them again for every variant.
            first = work / "first"
            first.mkdir(parents=True)
            (first / "0.parquet").symlink_to(min(folder.glob("*.parquet")).resolve())
            stream(first, work / "warm")
            seconds = stream(folder, work)
            found = _outcome(spark.read.parquet(str(work / "sink")))
            return Outcome(found.count, found.checksum, seconds=seconds)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    return run
