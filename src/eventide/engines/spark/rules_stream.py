"""Events and rules to what the rules find, on Spark.

stream: (events -> blocks by bucket) + (changes of rules, for every bucket) -> transformWithState -> counters
batch: events -> blocks by bucket -> a task per bucket runs every rule
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from eventide.engines.intake import microseconds, no_time
from eventide.engines.rule_files import Rules
from eventide.engines.rule_rows import PROBLEM, ROW, RULE, found_schema, problem_row, readable
from eventide.engines.rules import DETECTED_AT, MATCH_ID, Rule, Shared, plan_rule
from eventide.engines.rules_run import check_rules, run_bounded
from eventide.engines.spark.counters import INTAKE, unique, with_counters
from eventide.engines.spark.exchange import BLOCK_SCHEMA, ROWS_PER_CUT, Batches, block_pieces, block_row
from eventide.engines.spark.labels import bucket_labels
from eventide.engines.spark.latest import latest_us
from eventide.engines.spark.made import Made
from eventide.engines.spark.parallelism import count_buckets, is_local
from eventide.engines.spark.rules_bucket import make_processor
from eventide.engines.spark.rules_failures import failures_of
from eventide.engines.spark.rules_source import rule_changes
from eventide.engines.spark.ship import ensure_shipped
from eventide.engines.spark.stream import counted, lateness_text, set_state_store, with_watermark
from eventide.engines.spark.types import arrow_schema, conform, spark_schema
from eventide.engines.spark.workers import settled
from eventide.families.registry import family_of
from eventide.runtime.block import concatenate, cut_by, from_bytes, to_bytes

# What cannot change under a checkpoint; the rules themselves can.
FIXED = ("partition_by", "ts", "ts_unit", "sequence", "type")


@dataclass(frozen=True, slots=True)
class EventCutter:
    """What a task needs to cut events with all their columns by bucket; `labels[i]` is written for bucket i."""

    shared: Shared
    labels: tuple[int, ...]

    def rows(self, batches: Batches) -> Batches:
        """Block rows, cut together up to `ROWS_PER_CUT` events at a time."""
        waiting: list[pa.Table] = []
        n_waiting = 0
        for batch in batches:
            waiting.append(self._checked(pa.Table.from_batches([batch])))
            n_waiting += batch.num_rows
            if n_waiting >= ROWS_PER_CUT:
                yield from self._cut(waiting)
                waiting, n_waiting = [], 0
        yield from self._cut(waiting)

    def _checked(self, events: pa.Table) -> pa.Table:
        """Bad events are the stream's, not a rule's: they stop it, or are dropped."""
        intake = self.shared.base.intake
        times = events.column(self.shared.ts)
        if times.null_count:
            if not intake.drop_bad_events:
                which = [
                    f"{name} = {events.filter(times.is_null()).column(name)[0].as_py()!r}" for _, name in intake.names
                ]
                raise no_time(intake, f"in the event with {', '.join(which)}" if which else "in an event")
            events = events.filter(times.is_valid())
        microseconds(events.column(self.shared.ts), intake)
        return events

    def _cut(self, tables: list[pa.Table]) -> Batches:
        if not tables:
            return
        for bucket, part in cut_by(pa.concat_tables(tables), self.shared.partition_by, len(self.labels)):
            for piece in block_pieces(part):
                yield block_row(self.labels[bucket], to_bytes(piece))


def run_stream(df: DataFrame, path: str, shared: Shared, n_buckets: int | None) -> DataFrame:
    """What the rules at a path find in a stream, for as long as it runs."""
    spark = df.sparkSession
    ensure_shipped(spark)
    set_state_store(spark)
    n_buckets = (n_buckets or int(spark.conf.get("spark.sql.shuffle.partitions"))) if shared.partition_by else 1
    labels = bucket_labels(n_buckets)
    if shared.base.intake.drop_bad_events:
        is_bad = sf.col(_quoted(shared.ts)).isNull()
        df = df.observe(
            unique(INTAKE), sf.count(sf.lit(1)).alias("events"), sf.count_if(is_bad).alias("dropped_events")
        )
    stream, _, delay_ms = with_watermark(df, shared.base)
    cutter = EventCutter(shared, labels)
    failures, tell = failures_of(spark)

    def make_blocks(batches: Batches) -> Batches:
        # Wakes the bucket that every bucket count has, so that a changed count is found in the first batch.
        yield block_row(0, b"")
        yield from cutter.rows(batches)

    blocks = stream.select(*map(_quoted, df.columns)).mapInArrow(settled(make_blocks), BLOCK_SCHEMA)
    rows = (
        blocks.withColumn("changes", sf.lit(None).cast("string"))
        .unionByName(rule_changes(spark, path, labels, failures))
        .groupBy("bucket")
        .transformWithStateInPandas(
            make_processor(shared, n_buckets, delay_ms, tell),
            outputStructType=with_counters(spark_schema(found_schema(shared))),
            outputMode="Append",
            timeMode="EventTime",
        )
    )
    given = {"partition_by": shared.partition_by, "ts": shared.ts, **dict(shared.given)}
    facts = tuple((f"option {name}", str(given.get(name))) for name in FIXED)
    return counted(rows, Made("RULES", facts, n_buckets, lateness_text(shared.base, delay_ms)))


def run_batch(df: DataFrame, rules: Rules, shared: Shared, n_buckets: int | None) -> DataFrame:
    """What the rules find in a batch DataFrame."""
    spark = df.sparkSession
    ensure_shipped(spark)
    n_buckets = (n_buckets or count_buckets(spark)) if shared.partition_by else 1
    cutter = EventCutter(shared, tuple(range(n_buckets)))
    schema = found_schema(shared)
    rows_schema = spark_schema(schema)
    target = arrow_schema(rows_schema)

    def match(batches: Batches) -> Batches:
        tables = [from_bytes(data.as_buffer()) for batch in batches for data in batch.column("data")]
        if tables:
            for rows in run_bounded(concatenate(tables), runnable, shared, end_us):
                yield conform(rows, target)

    wrong = check_rules(rules, shared)
    runnable = {name: written for name, written in rules.items() if name not in wrong}
    needs_end = any(plan_rule(written, shared).physical.needs_end for written in runnable.values())
    end_us = latest_us(df, shared.base.intake) if needs_end else None
    blocks = df.mapInArrow(settled(cutter.rows), BLOCK_SCHEMA)
    found = blocks.repartitionById(n_buckets, "bucket").mapInArrow(settled(match), rows_schema)
    if not wrong:
        return found
    problems = [conform(problem_row(name, problem, schema), target) for name, problem in wrong.items()]
    return found.unionByName(spark.createDataFrame(pa.Table.from_batches(problems)))


def warm_rules(rules: Mapping[str, Rule], spark: SparkSession) -> None:
    """Compile once where the tasks share this machine's cache."""
    if is_local(spark):
        for rule in rules.values():
            family_of(rule.physical.spec).warm(rule.physical.spec)


def typed_frame(found: DataFrame, name: str, rule: Rule) -> DataFrame:
    """The rows of one rule with the types of its columns."""
    schema = spark_schema(pa.schema(readable(rule.fields)))
    mine = found.where((sf.col(RULE) == sf.lit(name)) & sf.col(PROBLEM).isNull())
    parsed = mine.select(sf.from_json(ROW, schema).alias(ROW), DETECTED_AT, MATCH_ID)
    more = [column for column, has in ((DETECTED_AT, rule.has_time), (MATCH_ID, rule.has_id)) if has]
    return parsed.select(f"{ROW}.*", *(column for column in more if column not in schema.names))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
