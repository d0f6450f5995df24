"""Events and rules to what the rules find, on Spark.

stream: (events -> blocks by bucket) + (changes of rules, for every bucket) -> transformWithState -> counters
batch: events -> blocks by bucket -> a task per bucket runs every rule
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from eventide.engines.intake import microseconds, no_time
from eventide.engines.rule_files import Rules
from eventide.engines.rule_rows import PROBLEM, ROW, RULE, found_schema, problem_row, readable
from eventide.engines.rules import DETECTED_AT, MATCH_ID, Rule, Shared, plan_rule
from eventide.engines.rules_run import check_rules, run_bounded
from eventide.engines.spark.batch import read_blocks
from eventide.engines.spark.bucket import make_processor
from eventide.engines.spark.checkpoints import Made
from eventide.engines.spark.counters import INTAKE, intake_counters, unique
from eventide.engines.spark.exchange import BLOCK_SCHEMA, Batches, Blocks, Cutter
from eventide.engines.spark.latest import latest_us
from eventide.engines.spark.parallelism import bucket_labels, count_buckets, is_local
from eventide.engines.spark.rules_bucket import RuleBucket, RuleWork
from eventide.engines.spark.rules_source import failures_of, rule_changes
from eventide.engines.spark.ship import ensure_shipped
from eventide.engines.spark.stream import blocks_by_bucket, lateness_text, prepared, through_buckets, with_watermark
from eventide.engines.spark.types import arrow_schema, conform, spark_schema
from eventide.engines.spark.workers import settled
from eventide.families.registry import family_of
from eventide.runtime.block import concatenate, cut_by
from eventide.runtime.quoting import backticked

# What cannot change under a checkpoint; the rules themselves can.
FIXED = ("partition_by", "ts", "ts_unit", "sequence", "type")


@dataclass(frozen=True, slots=True)
class EventCutter(Cutter):
    """Cuts events with all their columns."""

    keys: tuple[str, ...] = ()

    @classmethod
    def of(cls, shared: Shared, n_buckets: int, labels: tuple[int, ...] | None = None) -> EventCutter:
        return cls(shared.base.intake, n_buckets, labels, keys=shared.partition_by)

    def _take_in(self, table: pa.Table) -> pa.Table:
        """Bad events are the stream's, not a rule's: they stop it, or are dropped."""
        intake = self.intake
        times = table.column(intake.ts_column)
        if times.null_count:
            if not intake.drop_bad_events:
                bad = table.filter(times.is_null())
                which = ", ".join(f"{name} = {bad.column(name)[0].as_py()!r}" for _, name in intake.names)
                raise no_time(intake, f"in the event with {which}" if which else "in an event")
            table = table.filter(times.is_valid())
        microseconds(table.column(intake.ts_column), intake)
        return table

    def _cut(self, block: pa.Table) -> Blocks:
        yield from cut_by(block, self.keys, self.n_buckets)


def run_stream(df: DataFrame, path: str, rules: Rules, shared: Shared, n_buckets: int | None) -> DataFrame:
    """What the rules at a path find in a stream, for as long as it runs; `rules` are those that are there now."""
    spark = df.sparkSession
    _warm(rules, shared, spark)
    n_buckets = prepared(spark, n_buckets if shared.partition_by else 1)
    labels = bucket_labels(n_buckets)
    if shared.base.intake.drop_bad_events:
        df = df.observe(unique(INTAKE), *intake_counters(shared.base.intake))
    stream, _, delay_ms = with_watermark(df, shared.base)
    events = stream.select(*map(backticked, df.columns))
    failures, tell = failures_of(spark)
    rows = (
        blocks_by_bucket(events, EventCutter.of(shared, n_buckets, labels))
        .withColumn("changes", sf.lit(None).cast("string"))
        .unionByName(rule_changes(spark, path, labels, failures))
    )
    processor = make_processor(RuleWork(shared, n_buckets, delay_ms), RuleBucket, tell)
    given = {"partition_by": shared.partition_by, "ts": shared.ts, **dict(shared.given)}
    facts = tuple((f"option {name}", str(given.get(name))) for name in FIXED)
    made = Made("RULES", facts, n_buckets, lateness_text(shared.base, delay_ms))
    return through_buckets(rows, processor, spark_schema(found_schema(shared)), made)


def run_batch(df: DataFrame, rules: Rules, shared: Shared, n_buckets: int | None) -> DataFrame:
    """What the rules find in a batch DataFrame."""
    spark = df.sparkSession
    ensure_shipped(spark)
    n_buckets = (n_buckets or count_buckets(spark)) if shared.partition_by else 1
    cutter = EventCutter.of(shared, n_buckets)
    schema = found_schema(shared)
    rows_schema = spark_schema(schema)
    target = arrow_schema(rows_schema)

    def match(batches: Batches) -> Batches:
        tables = list(read_blocks(batches))
        if tables:
            for rows in run_bounded(concatenate(tables), runnable, shared, end_us):
                yield conform(rows, target)

    wrong = _warm(rules, shared, spark)
    runnable = {name: written for name, written in rules.items() if name not in wrong}
    needs_end = any(plan_rule(written, shared).physical.needs_end for written in runnable.values())
    end_us = latest_us(df, shared.base.intake) if needs_end else None
    blocks = df.mapInArrow(settled(cutter.rows_of), BLOCK_SCHEMA)
    found = blocks.repartitionById(n_buckets, "bucket").mapInArrow(settled(match), rows_schema)
    if not wrong:
        return found
    problems = [conform(problem_row(name, problem, schema), target) for name, problem in wrong.items()]
    return found.unionByName(spark.createDataFrame(pa.Table.from_batches(problems)))


def _warm(rules: Rules, shared: Shared, spark: SparkSession) -> dict[str, str]:
    """What is wrong with which rule; the others are compiled once where the tasks share this machine's cache."""
    wrong = check_rules(rules, shared)
    for written in (written for name, written in rules.items() if name not in wrong and is_local(spark)):
        spec = plan_rule(written, shared).physical.spec
        family_of(spec).warm(spec)
    return wrong


def typed_frame(found: DataFrame, name: str, rule: Rule) -> DataFrame:
    """The rows of one rule with the types of its columns."""
    schema = spark_schema(pa.schema(readable(rule.fields)))
    mine = found.where((sf.col(RULE) == sf.lit(name)) & sf.col(PROBLEM).isNull())
    parsed = mine.select(sf.from_json(ROW, schema).alias(ROW), DETECTED_AT, MATCH_ID)
    more = [column for column, has in ((DETECTED_AT, rule.has_time), (MATCH_ID, rule.has_id)) if has]
    return parsed.select(f"{ROW}.*", *(column for column in more if column not in schema.names))
