"""A stream of events to a stream of result rows: blocks by bucket, one operator state per bucket.

stream -> watermark -> select, filter -> mapInArrow: blocks -> groupBy(bucket).transformWithState -> counters -> project
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import StructType

from eventide.engines.spark.batch import project, rows_schema
from eventide.engines.spark.bucket import Work, make_processor
from eventide.engines.spark.checkpoints import Made, remember
from eventide.engines.spark.counters import EVENT_TIME, OBSERVED, unique, with_counters, without_counters
from eventide.engines.spark.exchange import BLOCK_SCHEMA, Batches, Cutter, block_row, select_events
from eventide.engines.spark.following import follows_operator
from eventide.engines.spark.listener import watch
from eventide.engines.spark.parallelism import bucket_labels
from eventide.engines.spark.ship import ensure_shipped
from eventide.engines.spark.types import arrow_schema
from eventide.engines.spark.workers import settled
from eventide.errors import InputError, UnsupportedError
from eventide.families.registry import family_of
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.physical import Physical
from eventide.plan.streams import for_stream
from eventide.runtime.block import TS
from eventide.runtime.quoting import backticked
from eventide.runtime.times import UNIT_US

TIME = "__eventide_time"
WATERMARK_KEY = "spark.watermarkDelayMs"

# Committing changes instead of whole files took a quarter off a micro-batch in the benchmark "stream".
_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def run(df: DataFrame, physical: Physical, n_buckets: int | None = None) -> DataFrame:
    """The streaming result of a streaming DataFrame of events.

    - Without a watermark of the user's on the time column, one with the query's allowed lateness is set.
    - `detected_at` is the result's event time, so windows over the result work. Spark takes only TIMESTAMP as
      event time: with an integer, date or TIMESTAMP_NTZ time column the result has none, nor has MATCH_RECOGNIZE's.
    - `n_buckets` (default: `spark.sql.shuffle.partitions`, which it should be a multiple of) is part of the
      checkpoint; so is the query.
    - Sets the RocksDB state store, which transformWithState needs, and its changelogs where the user has not. A
      query reads the setting when it starts. The Avro state encoding is left alone: Spark refuses it in a query
      that also aggregates, and our state has its own version inside.
    """
    physical = for_stream(physical)
    follows = follows_operator(df)
    if follows and family_of(physical.spec).follows_time(physical.spec):
        message = "EMIT EVERY needs a stream as it is read: behind another aggregation or query, time comes in steps"
        raise UnsupportedError(message, hint="leave out EMIT EVERY, or write the other result and read it as a stream")
    n_buckets = prepared(df.sparkSession, n_buckets)
    schema = rows_schema(physical)
    has_event_time = EVENT_TIME in schema.names and schema[EVENT_TIME].dataType.typeName() == "timestamp"
    stream, time_column, delay_ms = with_watermark(df, physical)
    # Catalyst moves a filter below the watermark unless it reads the watermark's column, and then events that
    # no step wants would not advance the watermark. The comparison is never true, and never folded away.
    keep = f"{TIME} < TIMESTAMP '0001-01-01'"
    events = select_events(stream, physical, extra={TIME: backticked(time_column)}, keep=keep).drop(TIME)
    blocks = blocks_by_bucket(events, Cutter(physical.intake, n_buckets, bucket_labels(n_buckets)))
    target = arrow_schema(schema)
    work = Work(physical.spec, n_buckets, target, delay_ms, tuple(physical.computed), follows)
    dropped = lateness_text(physical, delay_ms) if family_of(physical.spec).drops_late else None
    made = Made(physical.spec.query, physical.spec.facts, n_buckets, dropped)
    rows = through_buckets(blocks, make_processor(work), schema, made, EVENT_TIME if has_event_time else "")
    return project(rows, physical)


def prepared(spark: SparkSession, n_buckets: int | None) -> int:
    """The number of buckets of a stream, in a session that is ready for its state."""
    ensure_shipped(spark)
    for name, value in _SETTINGS.items():
        # What a query reads when it starts, where the user has not set it.
        if spark.conf.get(name, None) is None:
            spark.conf.set(name, value)
    return n_buckets or int(spark.conf.get("spark.sql.shuffle.partitions"))


def blocks_by_bucket(events: DataFrame, cutter: Cutter) -> DataFrame:
    """Rows of blocks, for `through_buckets`."""

    def make_blocks(batches: Batches) -> Batches:
        # Wakes the bucket that every bucket count has, so that a changed count is found in the first batch.
        yield block_row(0, b"")
        yield from cutter.rows_of(batches)

    return events.mapInArrow(settled(make_blocks), BLOCK_SCHEMA)


def through_buckets(
    blocks: DataFrame, processor: StatefulProcessor, schema: StructType, made: Made, event_time: str = ""
) -> DataFrame:
    """The result rows of what a processor returns; what it counted, and what made it, is found by the metric's name."""
    rows = blocks.groupBy("bucket").transformWithStateInPandas(
        processor,
        outputStructType=with_counters(schema),
        outputMode="Append",
        timeMode="EventTime",
        eventTimeColumnName=event_time,
    )
    name = unique(OBSERVED)
    remember(name, made)
    watch(rows.sparkSession)
    return without_counters(rows, name)


def lateness_text(physical: Physical, delay_ms: int | None) -> str:
    """How long the stream waits for late events."""
    if delay_ms is None:
        return "the watermark is the one that the DataFrame came with"
    if not delay_ms:
        return "allowed_lateness is 0"
    return f"allowed_lateness is {write_length(Length(physical.allowed_lateness_us))}"


def with_watermark(df: DataFrame, physical: Physical) -> tuple[DataFrame, str, int | None]:
    """The stream with a watermark, the column that carries it, and its delay in milliseconds.

    No delay for a watermark of the user's: behind a union or a join it is the slowest of several.
    """
    fields = {field.name: field for field in df.schema.fields}
    column = physical.intake.ts_column
    is_time = column in fields and fields[column].dataType.typeName() == "timestamp"
    carriers = [name for name, field in fields.items() if WATERMARK_KEY in (field.metadata or {})]
    if TIME in carriers:
        return df, TIME, None
    if carriers:
        if is_time and column not in carriers:
            raise InputError(
                f"the stream has a watermark on '{carriers[0]}', but the query's time is '{column}'",
                hint=f"set the watermark on '{column}', or none: then allowed_lateness decides",
            )
        return df, column if is_time else carriers[0], None
    delay_ms = -(-physical.allowed_lateness_us // 1000)
    if not is_time:
        df, column = df.withColumn(TIME, sf.expr(timestamp_text(physical))), TIME
    return df.withWatermark(column, f"{delay_ms} milliseconds"), column, delay_ms


def timestamp_text(physical: Physical) -> str:
    """Any other time column as TIMESTAMP, by the same rule as in `take_in`: no time zone is involved."""
    text = next(column.spark for column in physical.select if column.name == TS)
    time_type = physical.intake.time_type
    if time_type.unit is not None:
        # A time out of range becomes NULL here, and an error that names the column in `take_in`.
        return f"timestamp_micros(try_multiply(cast({text} AS BIGINT), {UNIT_US[time_type.unit]}L))"
    if pa.types.is_date(time_type.arrow):
        return f"timestamp_micros(unix_date({text}) * 86400000000L)"
    since_epoch = f"CAST({text} - TIMESTAMP_NTZ '1970-01-01' AS INTERVAL SECOND)"
    return f"timestamp_micros(CAST(CAST({since_epoch} AS DECIMAL(20, 6)) * 1000000 AS BIGINT))"
