"""Running streams over files, one file a micro-batch, for the stream tests."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eventide.plan.physical import Physical
from eventide.runtime.costs import costing
from tests.engines.plans import table_rows

SCHEMA = "user string, ts timestamp, kind string, amount int"


def write_files(folder: Path, events: pa.Table, n_files: int, seed: int | None = None, first: int = 0) -> None:
    """The events as files in their order; with a seed, borders are drawn at random."""
    n = events.num_rows
    borders = [n * i // n_files for i in range(1, n_files)]
    if seed is not None:
        borders = sorted(random.Random(seed).sample(range(1, n), n_files - 1))
    for i, (start, stop) in enumerate(zip([0, *borders], [*borders, n], strict=True), start=first):
        write_batch(events.slice(start, stop - start), folder, i)


def write_batch(table: pa.Table, folder: Path, number: int) -> None:
    """One file of the source."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:04}.parquet"
    pq.write_table(table, path)
    # The file source reads the oldest file first.
    os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))


def read_batches(spark: Any, folder: Path, schema: Any = None) -> Any:
    """A stream of the files that lie in the folder, one a micro-batch; they say what its schema is."""
    schema = schema or spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def collect(result: Any, base: Path, spark: Any, out: str = "out") -> pa.Table:
    """Run a streaming result to the end of its input and read what its sink holds."""
    writer = result.writeStream.format("parquet").option("checkpointLocation", str(base / f"{out}_checkpoint"))
    query = writer.trigger(availableNow=True).start(str(base / out))
    try:
        assert query.awaitTermination(120)
    finally:
        query.stop()
    return spark.read.schema(result.schema).parquet(str(base / out)).toArrow()


def both_readings(folder: Path, table: pa.Table, rows_per_group: int, run: Callable[[Path], Any]) -> list[pa.Table]:
    """What `run` finds in a file: once tasks read it by its row groups, then one task reads all of it."""
    path = folder / "events.parquet"
    pq.write_table(table, path, row_group_size=rows_per_group)
    found = []
    for few_rows in (0, 10**9):
        with costing(few_rows=few_rows):
            found.append(run(path).toArrow())
    return found


def start(
    spark: Any,
    base: Path,
    physical: Physical,
    *,
    n_buckets: int | None = None,
    before: Callable[[Any], Any] = lambda df: df,
    after: Callable[[Any], Any] = lambda df: df,
) -> Any:
    """Start the query over `base/in`, to `base/out`, with the checkpoint `base/checkpoint`."""
    from eventide.engines.spark import stream

    result = after(stream.run(before(read_batches(spark, base / "in", SCHEMA)), physical, n_buckets))
    return (
        result.writeStream.format("parquet")
        .option("path", str(base / "out"))
        .option("checkpointLocation", str(base / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )


def finish(spark: Any, base: Path, physical: Physical, **options: Any) -> list[tuple[object, ...]]:
    """Run to the end of the files there are; the rows in the sink."""
    start(spark, base, physical, **options).awaitTermination()
    return rows_in(spark, base)


def rows_in(spark: Any, base: Path) -> list[tuple[object, ...]]:
    """What the sink's log says it holds."""
    return table_rows(spark.read.parquet(str(base / "out")).toArrow())
