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
from tests.engines.plans import table_rows

SCHEMA = "user string, ts timestamp, kind string, amount int"


def write_files(folder: Path, events: pa.Table, n_files: int, seed: int | None = None, first: int = 0) -> None:
    """The events as files in their order; with a seed, borders are drawn at random."""
    folder.mkdir(parents=True, exist_ok=True)
    n = events.num_rows
    borders = [n * i // n_files for i in range(1, n_files)]
    if seed is not None:
        borders = sorted(random.Random(seed).sample(range(1, n), n_files - 1))
    for i, (start, stop) in enumerate(zip([0, *borders], [*borders, n], strict=True), start=first):
        path = folder / f"{i:03}.parquet"
        pq.write_table(events.slice(start, stop - start), path)
        # The file source reads the oldest file first.
        os.utime(path, (1_600_000_000 + i, 1_600_000_000 + i))


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

    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(base / "in"))
    result = after(stream.run(before(source), physical, n_buckets))
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
