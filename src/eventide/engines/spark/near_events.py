"""Events near those of a needed step, found by a job of their own before the run: see `plan.reduce`.

In: a batch DataFrame, or Parquet files that tasks read. Out: what the second read leaves events out by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from eventide.engines.intake import take_in
from eventide.engines.spark.exchange import Batches, Reading, from_paths, select_events
from eventide.engines.spark.frame_input import FrameInput
from eventide.engines.spark.time_zone import in_utc
from eventide.engines.stored_filters import range_text
from eventide.errors import is_of_spark
from eventide.plan.physical import Physical, Piece
from eventide.plan.reduce import Reduction, Sample, is_asked_for, is_possible, of_step, reduce_by
from eventide.runtime.block import MASK, TS, numpy_int64
from eventide.runtime.costs import cost
from eventide.runtime.hashes import hash_rows
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.near import Near
from eventide.runtime.times import UNIT_US

_NEAR = "__eventide_near"
_SAMPLE_ROWS = 20_000
_RANGES = 8
_DAY_US = 86_400_000_000
_PLAIN_NODES = {"Project", "Filter", "Union", "SubqueryAlias"}
_FIXED_LEAVES = {"LocalRelation", "LogicalRDD", "InMemoryRelation"}


def near_in_files(
    spark: SparkSession, shares: Sequence[Sequence[Piece]], physical: Physical, reduction: Reduction, how: Reading
) -> Near | None:
    """Near the events of the step in Parquet files; None where these are too many."""
    plan, bit, most = of_step(physical, reduction.step), reduction.step.bit, int(cost("most_near"))
    names = plan.intake.layout.partition

    def find(tables: Iterable[pa.Table], _: int) -> Batches:
        n_found = 0
        for table in tables:
            block = take_in(table, plan.intake)[0]
            block = block.filter(pc.not_equal(pc.bit_wise_and(block.column(MASK), bit), 0))
            hashes = hash_rows(block, names).view(np.int64)
            yield pa.RecordBatch.from_arrays(
                [pa.array(hashes), pa.array(numpy_int64(block.column(TS)))], names=["hash", "ts"]
            )
            n_found += block.num_rows
            if n_found > most:
                return

    try:
        rows = from_paths(spark, shares, plan, replace(how, coded=()))(find, "hash long, ts long").toArrow()
    except Exception as error:
        # Whatever is wrong with the events is told when they are matched.
        if not is_of_spark(error):
            raise
        return None
    if rows.num_rows > most:
        return None
    hashes = numpy_int64(rows.column("hash")).view(np.uint64)
    return Near.to(hashes, numpy_int64(rows.column("ts")), reduction.reach_us)


@dataclass(frozen=True, eq=False)
class NearInFrame:
    """The stretches of time near the events of a step, each with a partition, as Spark hashes both."""

    text: str  # the hash of an event, in Spark's SQL
    hashes: IntArray
    ranges: str  # that a time is near some event, whatever its partition
    told: str

    def select(self, df: DataFrame, physical: Physical) -> DataFrame:
        """As `select_events`, of what is near."""
        spark = df.sparkSession
        time = next(column.spark for column in physical.select if column.name == TS)
        df = df.filter(f"{self.ranges} OR {time} IS NULL") if self.ranges else df
        hashes = spark.createDataFrame(pa.table({_NEAR: self.hashes}))
        with in_utc(spark, [self.text]):
            events = select_events(df, physical, extra={_NEAR: self.text})
        return events.join(sf.broadcast(hashes), _NEAR, "left_semi").drop(_NEAR)


def near_in_frame(df: DataFrame, physical: Physical, given: FrameInput) -> NearInFrame | None:
    """Near the events of a rare step in a DataFrame; None where none is rare, or a second read might differ."""
    if not is_possible(physical) or not _can_be_read_twice(df):
        return None
    if not is_asked_for() and given.why_few() is not None:
        return None
    width = _width(physical)
    try:
        with in_utc(df.sparkSession, [width.hash_text()]):
            sample = _sample(df, physical, width.hash_text())
            reduction = reduce_by(physical, sample[0])
            found = None if reduction is None else _find(df, physical, reduction, width)
    except Exception as error:
        # Whatever is wrong with the events is told when they are matched.
        if not is_of_spark(error):
            raise
        return None
    if found is None or reduction is None:
        return None
    hashes, times_us = found
    is_kept = np.isin(sample[1], hashes)
    if not is_asked_for() and np.count_nonzero(is_kept) > cost("most_kept") * max(1, is_kept.size):
        return None
    # Hashes of Spark's stand for the partitions below; times alone make the ranges.
    near = Near.to(np.zeros(times_us.size, np.uint64), times_us, reduction.reach_us)
    time, intake = next(column.spark for column in physical.select if column.name == TS), physical.intake
    ranges = [range_text(time, *ends, intake.time_type, "spark") for ends in near.ranges_us(_RANGES)]
    text = f"({' OR '.join(ranges)})" if ranges and all(ranges) else ""
    return NearInFrame(width.hash_text(), hashes, text, reduction.told(times_us.size))


@dataclass(frozen=True, slots=True)
class _Width:
    """Stretches of time in the unit of the time column, as Spark computes them."""

    number: str  # the time as a whole number
    unit_us: int
    length: int  # of a stretch, in that unit
    keys: tuple[str, ...]
    start: str = ""  # the first instant of a stretch, where Spark has a faster way to find it

    def hash_text(self, move: int | None = None) -> str:
        """The hash of a partition and of a stretch, or of a neighbour of the stretch."""
        start = f"{self.number} - pmod({self.number}, {self.length}L) + {move or 0} * {self.length}L"
        return f"xxhash64({', '.join([*self.keys, self.start if move is None and self.start else start])})"


def _width(physical: Physical) -> _Width:
    assert physical.needed is not None
    columns = {column.name: column.spark for column in physical.select}
    keys = tuple(columns[name] for name in physical.intake.layout.partition)
    time, time_type = columns[TS], physical.intake.time_type
    number, unit_us, start = f"unix_micros(CAST({time} AS TIMESTAMP))", 1, ""
    if time_type.unit is not None:
        number, unit_us = f"CAST({time} AS BIGINT)", UNIT_US[time_type.unit]
    elif pa.types.is_date(time_type.arrow):
        number, unit_us = f"CAST(unix_date({time}) AS BIGINT)", _DAY_US
    elif time_type.arrow.tz is None:
        # The cast above makes objects of Java's for each event.
        start = f"window({time}, '{physical.needed.reach_us} microseconds').start"
    return _Width(number, unit_us, -(-physical.needed.reach_us // unit_us), keys, start)


def _sample(df: DataFrame, physical: Physical, text: str) -> tuple[Sample, IntArray]:
    """The masks of the first rows, and the hashes of those that are wanted."""
    mask = next(column.spark for column in physical.select if column.name == MASK)
    rows = df.limit(_SAMPLE_ROWS).select(sf.expr(mask).alias(MASK), sf.expr(text).alias(_NEAR)).toArrow()
    masks, hashes = numpy_int64(rows.column(MASK)), numpy_int64(rows.column(_NEAR))
    is_wanted = np.ones(masks.size, np.bool_) if physical.intake.keep_all else masks != 0
    return Sample(masks.size, masks[is_wanted]), hashes[is_wanted]


def _find(df: DataFrame, physical: Physical, reduction: Reduction, width: _Width) -> tuple[IntArray, IntArray] | None:
    """The hashes of all stretches near events of the step, and the times of these; None where these are too many."""
    most = int(cost("most_near"))
    extra = {f"h{move + 1}": width.hash_text(move) for move in (-1, 0, 1)} | {"number": width.number}
    rows = select_events(df, of_step(physical, reduction.step), extra=extra)
    if not reduction.step.wanted.is_exact:
        rows = rows.filter(f"greatest({MASK} & {reduction.step.bit}L, CAST({TS} IS NULL AS BIGINT)) <> 0")
    rows = rows.select(*extra)
    # A limit that something follows is taken in all tasks at once.
    found: Any = rows.limit(most + 1).agg(sf.collect_list(sf.struct(*extra)).alias("found")).toArrow()
    listed = found.column("found").combine_chunks().flatten()
    times = listed.field("number")
    if len(times) > most or (times.null_count and not physical.intake.drop_bad_events):
        return None
    listed = listed.filter(pc.is_valid(times))
    hashes = np.unique(np.concatenate([np.asarray(listed.field(name)) for name in ("h0", "h1", "h2")]))
    return hashes, np.asarray(listed.field("number")).astype(np.int64) * width.unit_us


def _can_be_read_twice(df: DataFrame) -> bool:
    """Whether a DataFrame is files or rows in memory, with nothing behind them that costs much or may change.

    A result is computed when it is asked for, and its input may be another by then: only what cannot change is read
    ahead. Spark Connect does not say what a DataFrame is made of.
    """
    frame = getattr(df, "_jdf", None)
    return frame is not None and _is_fixed(frame.queryExecution().optimizedPlan())


def _is_fixed(plan: Any) -> bool:
    name = plan.getClass().getSimpleName()
    if name == "LogicalRelation":
        return bool(plan.relation().getClass().getSimpleName() == "HadoopFsRelation")
    if name in _FIXED_LEAVES:
        return True
    children = plan.children()
    is_plain = name in _PLAIN_NODES and plan.deterministic()
    return is_plain and all(_is_fixed(children.apply(i)) for i in range(children.size()))
