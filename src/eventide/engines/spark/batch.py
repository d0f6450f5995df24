"""Blocks by bucket to result rows: one task per bucket runs the operator over all its blocks."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from eventide.engines.computed import add_computed
from eventide.engines.spark.exchange import Batches, blocks_from_dataframe
from eventide.engines.spark.parallelism import count_buckets
from eventide.engines.spark.ship import ensure_shipped
from eventide.engines.spark.types import arrow_schema, conform, spark_schema
from eventide.operators.block import MIN_US, from_bytes
from eventide.operators.factory import make_operator
from eventide.plan.physical import Physical


def run(blocks: DataFrame, physical: Physical, spark: SparkSession, n_buckets: int | None = None) -> DataFrame:
    """The result rows of blocks `(bucket, data)`; `n_buckets` as it was when they were cut.

    `repartitionById` sends each bucket to a task of its own; hashing would send two buckets to one task and
    none to another.
    """
    ensure_shipped(spark)
    n_buckets = n_buckets or count_buckets(spark)
    if physical.output_schema is None:
        raise ValueError("the plan has no output schema")
    computed, spec = physical.computed, physical.spec
    fields = [*physical.output_schema, *(pa.field(column.name, column.dtype) for column in computed)]
    rows_schema = spark_schema(pa.schema(fields))
    target = arrow_schema(rows_schema)

    def match(batches: Batches) -> Batches:
        operator = make_operator(spec, compute=add_computed)
        for block in _blocks(batches):
            for rows in operator.process(block, MIN_US):
                yield conform(add_computed(rows, computed), target)
        for rows in operator.finish():
            yield conform(add_computed(rows, computed), target)

    rows = blocks.repartitionById(n_buckets, "bucket").mapInArrow(match, rows_schema)
    return project(rows, physical)


def run_dataframe(df: DataFrame, physical: Physical, n_buckets: int | None = None) -> DataFrame:
    """The result rows of a batch DataFrame of events."""
    spark = df.sparkSession
    ensure_shipped(spark)
    n_buckets = n_buckets or count_buckets(spark)
    return run(blocks_from_dataframe(df, physical, n_buckets), physical, spark, n_buckets)


def project(rows: DataFrame, physical: Physical) -> DataFrame:
    """The user's columns over the operator's rows."""
    return rows.select(*(sf.expr(column.spark).alias(column.name) for column in physical.project))


def _blocks(batches: Batches) -> Iterator[pa.Table]:
    for batch in batches:
        for data in batch.column("data"):
            yield from_bytes(data.as_buffer())
