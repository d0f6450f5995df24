"""A stream of events to a stream of result rows: blocks by bucket, one operator state per bucket.

    stream -> watermark -> select, filter -> mapInArrow: blocks -> groupBy(bucket).transformWithState -> project
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from eventide.engines.spark.batch import project
from eventide.engines.spark.exchange import BLOCK_SCHEMA, Batches, Cutter, block_row, select_events
from eventide.engines.spark.labels import bucket_labels
from eventide.engines.spark.processor import BucketProcessor
from eventide.engines.spark.ship import ensure_shipped
from eventide.engines.spark.types import arrow_schema, spark_schema
from eventide.errors import UnsupportedError
from eventide.operators.block import TS
from eventide.operators.times import UNIT_US
from eventide.plan.physical import Physical

DETECTED_AT = "detected_at"
_TIME = "__eventide_time"
_WATERMARK_KEY = "spark.watermarkDelayMs"

_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.encodingFormat": "avro",
}


def run(df: DataFrame, physical: Physical, n_buckets: int | None = None) -> DataFrame:
    """The streaming result of a streaming DataFrame of events.

    - Without a watermark of the user's on the time column, one with the query's allowed lateness is set.
    - `detected_at` is the result's event time, so windows over the result work. With an integer or date time
      column it has that type and cannot be; aggregating the result by time then needs the user's own watermark.
    - `n_buckets` (default: `spark.sql.shuffle.partitions`, which it should be a multiple of) is part of the
      checkpoint; so is the query.
    - Sets two things in the session where the user has not: the RocksDB state store, which transformWithState
      needs, and the Avro state encoding, which lets state schemas evolve. A query reads them when it starts.
    """
    if physical.spec.window_us is None:
        raise UnsupportedError(
            "a stream cannot run this query: without a WITHIN clause every event stays relevant for ever",
            hint="add a WITHIN clause, such as WITHIN 1 hour, or run the query on bounded input",
        )
    if physical.output_schema is None:
        raise ValueError("the plan has no output schema")
    spark = df.sparkSession
    ensure_shipped(spark)
    _configure(spark)
    n_buckets = n_buckets or int(spark.conf.get("spark.sql.shuffle.partitions"))
    rows_schema = spark_schema(physical.output_schema)
    processor = BucketProcessor(physical.spec, n_buckets, arrow_schema(rows_schema))
    has_event_time = pa.types.is_timestamp(physical.output_schema.field(DETECTED_AT).type)
    rows = (
        _blocks(_with_watermark(df, physical), physical, n_buckets)
        .groupBy("bucket")
        .transformWithStateInPandas(
            processor,
            outputStructType=rows_schema,
            outputMode="Append",
            timeMode="EventTime",
            eventTimeColumnName=DETECTED_AT if has_event_time else "",
        )
    )
    return project(rows, physical)


def _configure(spark: SparkSession) -> None:
    for key, value in _SETTINGS.items():
        if spark.conf.get(key, None) is None:
            spark.conf.set(key, value)


def _with_watermark(df: DataFrame, physical: Physical) -> DataFrame:
    fields = {field.name: field for field in df.schema.fields}
    if any(_WATERMARK_KEY in (field.metadata or {}) for field in fields.values()):
        return df
    delay = f"{-(-physical.allowed_lateness_us // 1000)} milliseconds"
    field = fields.get(physical.intake.ts_column)
    if field is not None and field.dataType.typeName() in ("timestamp", "timestamp_ntz"):
        return df.withWatermark(field.name, delay)
    return df.withColumn(_TIME, _as_timestamp(physical)).withWatermark(_TIME, delay)
