"""Blocks by bucket to rows: a task per bucket runs the operator over all its blocks; few events need one task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from eventide.engines.computed import add_computed
from eventide.engines.spark.exchange import (
    PLAIN,
    Batches,
    Cutter,
    Reading,
    blocks_by_key,
    from_dataframe,
    reader,
)
from eventide.engines.spark.parallelism import count_buckets, threads_of_one_task
from eventide.engines.spark.ship import ensure_shipped
from eventide.engines.spark.time_zone import in_utc
from eventide.engines.spark.types import arrow_schema, conform, spark_schema
from eventide.engines.spark.workers import settled
from eventide.families.registry import make_operator
from eventide.plan.physical import Physical, Piece
from eventide.runtime.block import MIN_US, from_bytes
from eventide.runtime.protocol import Results
from eventide.runtime.quoting import backticked


def run(blocks: DataFrame, physical: Physical, spark: SparkSession, n_buckets: int | None = None) -> DataFrame:
    """The result rows of blocks `(bucket, data)`; `n_buckets` as it was when they were cut.

    `repartitionById` sends each bucket to a task of its own; hashing would send two buckets to one task and
    none to another.
    """
    ensure_shipped(spark)
    n_buckets = n_buckets or count_buckets(spark)
    match, schema = matcher(physical)
    rows = blocks.repartitionById(n_buckets, "bucket").mapInArrow(
        settled(lambda batches: match(read_blocks(batches))), schema
    )
    return project(rows, physical)


def run_pieces(
    pieces: Sequence[Piece],
    physical: Physical,
    spark: SparkSession,
    how: Reading = PLAIN,
) -> DataFrame:
    """The result rows of few events in Parquet files: one task reads and matches them, without an exchange."""
    ensure_shipped(spark)
    n_threads = threads_of_one_task(spark)
    match, schema = matcher(physical, n_threads)
    cutter = Cutter(physical.intake, n_buckets=1)
    read = reader(physical, how, use_threads=n_threads > 1)

    def read_and_match(batches: Batches) -> Batches:
        # The one row that comes says nothing: the work need not wait until Spark has made it.
        yield from match(block for _, block in cutter.blocks(read(pieces)))
        for _ in batches:
            pass

    return project(spark.range(0, 1, 1, 1).mapInArrow(settled(read_and_match), schema), physical)


def matcher(physical: Physical, n_threads: int = 1) -> tuple[Callable[[Iterable[pa.Table]], Batches], StructType]:
    """For a task: the operator's rows of a bucket's blocks; and their schema."""
    finish, schema = finisher(physical)
    spec = physical.spec

    def match(blocks: Iterable[pa.Table]) -> Batches:
        operator = make_operator(spec, n_threads, add_computed)
        for block in blocks:
            yield from finish(operator.process(block, MIN_US))
        yield from finish(operator.finish())

    return match, schema


def finisher(physical: Physical) -> tuple[Callable[[Results], Batches], StructType]:
    """For a task: an operator's rows with the computed columns, as Spark takes them; and their schema."""
    computed, schema = physical.computed, rows_schema(physical)
    target = arrow_schema(schema)
    return lambda results: (conform(add_computed(rows, computed), target) for rows in results), schema


def rows_schema(physical: Physical) -> StructType:
    """Of the rows that tasks return: the operator's, and the computed columns."""
    if physical.output_schema is None:
        raise ValueError("the plan has no output schema")
    computed = [pa.field(column.name, column.dtype) for column in physical.computed]
    return spark_schema(pa.schema([*physical.output_schema, *computed]))


def run_dataframe(df: DataFrame, physical: Physical, n_buckets: int | None = None) -> DataFrame:
    """The result rows of a batch DataFrame of events."""
    spark = df.sparkSession
    ensure_shipped(spark)
    n_buckets = n_buckets or count_buckets(spark)
    return run(blocks_by_key(from_dataframe(df, physical), physical, n_buckets), physical, spark, n_buckets)


def project(rows: DataFrame, physical: Physical) -> DataFrame:
    """The user's columns over the operator's rows."""
    # Texts go to the JVM in one call, columns in several each.
    texts = [f"({column.spark}) AS {backticked(column.name)}" for column in physical.project]
    with in_utc(rows.sparkSession, texts):
        if physical.having is not None:
            rows = rows.where(physical.having.spark)
        return rows.selectExpr(*texts)


def read_blocks(batches: Batches) -> Iterator[pa.Table]:
    for batch in batches:
        for data in batch.column("data"):
            yield from_bytes(data.as_buffer())
