"""Counters of a stream: a row per bucket and rule that goes with the result rows, and never reaches the user.

Tasks put it behind a bucket's rows; Spark collects them as an observed metric, which is part of each micro-batch's
progress, and filters them away.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructType

from eventide.plan.physical import Intake
from eventide.runtime.interval_columns import START
from eventide.runtime.quoting import backticked

COUNTERS = "__eventide_counters"
# Names of observed metrics. Plans are put together, and Spark wants a name once in a plan: see `unique`.
OBSERVED = "eventide_buckets"
INTAKE = "eventide_intake"
SOURCE = "eventide_source"
EVENT_TIME = "detected_at"


@dataclass(slots=True)
class Counters:
    """What one call for a bucket did: numbers of this call, but `open_runs` and `state_bytes` are those after it."""

    bucket: int = -1  # all buckets
    events: int = 0  # that came to the bucket, late ones among them
    late_events: int = 0
    matches: int = 0
    open_runs: int = 0
    state_bytes: int = 0
    kernel_us: int = 0
    task_us: int = 0
    problems: int = 0  # rows that say what is wrong with the rule
    rule: str | None = None

    def text(self) -> str:
        """Numbers, then the rule: as text it costs a third of a row with names.

        >>> Counters(3, 10, 1, 2, 4, 900, 50, 80, rule="fraud").text()
        '3 10 1 2 4 900 50 80 0 fraud'
        """
        return " ".join(str(value) for value in astuple(self) if value is not None)

    @classmethod
    def parse(cls, text: str) -> Counters:
        """What `text` gave.

        >>> Counters.parse("3 10 1 2 4 900 50 80 0 two words").rule
        'two words'
        """
        numbers = text.split(" ", _N_NUMBERS)
        rule = numbers.pop() if len(numbers) > _N_NUMBERS else None
        bucket, events, late, matches, runs, size, kernel_us, task_us, problems = map(int, numbers)
        return cls(bucket, events, late, matches, runs, size, kernel_us, task_us, problems, rule)

    def add(self, other: Counters) -> None:
        """Count what other calls did, too."""
        for name in _ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def added(self) -> dict[str, int]:
        """The numbers that add up."""
        return {name: getattr(self, name) for name in _ADDED}


_N_NUMBERS = len(fields(Counters)) - 1
_ADDED = ("events", "late_events", "matches", "kernel_us", "task_us", "problems")


def with_counters(rows: StructType) -> StructType:
    """The schema of what tasks return: result rows, and the counters' column."""
    return StructType([*rows.fields]).add(COUNTERS, StringType())


def result_rows(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Result rows with the counters' column, which is NULL."""
    return rows.append_column(COUNTERS, pa.nulls(rows.num_rows, pa.string()))


def counter_rows(counters: Iterable[Counters], schema: pa.Schema, watermark_us: int) -> pa.RecordBatch:
    """Rows of the schema, that of the results, with counters only.

    Spark refuses a row whose event time is not later than the watermark, by a millisecond, or NULL.
    """
    texts = [each.text() for each in counters]
    columns = [pa.nulls(len(texts), field.type) for field in schema]
    times = schema.get_field_index(EVENT_TIME)
    if times >= 0 and pa.types.is_timestamp(schema.field(times).type) and schema.field(times).type.tz is not None:
        columns[times] = pa.array([max(watermark_us, 0) + 1000] * len(texts), pa.int64()).cast(schema.field(times).type)
    names = [*schema.names, COUNTERS]
    return pa.RecordBatch.from_arrays([*columns, pa.array(texts, pa.string())], names=names)


def without_counters(rows: DataFrame, name: str) -> DataFrame:
    """The result rows of what tasks returned; the counters go to the progress of each micro-batch, under the name."""
    observed = rows.observe(name, sf.collect_list(COUNTERS).alias("counters"))
    return observed.filter(f"{COUNTERS} IS NULL").drop(COUNTERS)


def intake_counters(intake: Intake) -> list[Column]:
    """How many rows come, and how many are no events: they have no time, or are intervals that end too early."""
    end = sf.col(backticked(intake.ts_column))
    has_start = intake.intervals is not None and intake.intervals.has_start
    is_bad = ~sf.coalesce(sf.col(START) <= end, sf.lit(False)) if has_start else end.isNull()
    return [sf.count(sf.lit(1)).alias("events"), sf.count_if(is_bad).alias("dropped_events")]


def unique(name: str) -> str:
    """A name for an observed metric that no other has."""
    return f"{name}_{uuid.uuid4().hex[:12]}"


def observed(rows: DataFrame, metric: str, n_last: int = 0) -> DataFrame:
    """The same rows; each micro-batch's progress has their number as `rows`, and the last ones, as JSON, as `last`."""
    counters = [sf.count(sf.lit(1)).alias("rows")]
    if n_last:
        text = sf.to_json(sf.struct("*"), {"ignoreNullFields": "false"})
        order = sf.col(EVENT_TIME) if EVENT_TIME in rows.columns else text
        counters.append(sf.max_by(text, order, n_last).alias("last"))
    return rows.observe(metric, *counters)
