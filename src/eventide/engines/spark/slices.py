"""Events to blocks by way of time: tasks that have all events of a slice of time put smaller blocks in their place.

Out come the rows `(bucket, data)` that `batch.run` takes: blocks of events, and what stands for others. Situations are
matched by time, too: a stretch of it needs few of the events that slices leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from eventide.engines.distribution import KEYS, OVERLAPS, RANGES, Choice, Range, hot, top_share
from eventide.engines.intake import microseconds, take_in
from eventide.engines.spark import batch
from eventide.engines.spark.exchange import BLOCK_SCHEMA, PLAIN, Batches, Reading, block_row, reader, select_events
from eventide.engines.spark.parallelism import count_buckets
from eventide.engines.spark.workers import settled
from eventide.families.registry import family_of
from eventide.families.time_slices import overlap_us
from eventide.plan.physical import Physical
from eventide.runtime.block import TS, concatenate, cut, from_bytes, numpy_int64, to_bytes

FEW_BYTES = 32 << 20  # of input: below, one task is done before others have begun
SAMPLE_ROWS = 100_000
_ACCURACY = 1000  # of the quantiles that cut a DataFrame's events

Combine = Callable[[Iterable[pa.Table], Sequence[Range] | None], Iterable[pa.RecordBatch]]


def choose_for_frame(frame: DataFrame, physical: Physical, n_buckets: int) -> Choice:
    """The distribution of a query over a batch DataFrame; where keys are many, a sample of its first rows decides."""
    why_not, shared_us = family_of(physical.spec).needs_events(physical.spec), overlap_us(physical.spec)
    if why_not is not None and shared_us is None:
        return Choice(KEYS, why_not)
    if n_buckets < 2:
        return Choice(KEYS, "there is one core")
    size = _size_bytes(frame)
    if size is not None and size < FEW_BYTES:
        return Choice(KEYS, "the events are few")
    keys = physical.intake.layout.distribution
    if not keys:
        way = RANGES if shared_us is None else OVERLAPS
        return _with_bounds(frame, physical, Choice(way, "all events belong together; events are exchanged by time"))
    if why_not is not None:
        # A look at the keys would be a job, for patterns that most often have many.
        return Choice(KEYS, why_not)
    sample = select_events(frame, physical).select(*keys).limit(SAMPLE_ROWS).toArrow()
    why = hot(top_share(sample, keys), n_buckets) if sample.num_rows else None
    if why is None:
        return Choice(KEYS, "no key is hot in a sample of the first events")
    return _with_bounds(frame, physical, Choice(RANGES, f"{why}; events are exchanged by time"))


def _with_bounds(frame: DataFrame, physical: Physical, choice: Choice) -> Choice:
    """The choice with the bounds of slices and of what is matched apart; reads the events' times, once."""
    family = family_of(physical.spec)
    combiner = family.combiner(physical.spec)
    if not family.has_stretches:
        return choice
    assert combiner is not None
    n_slices, time = count_buckets(frame.sparkSession), sf.col(TS)
    events = select_events(frame, physical).filter(time.isNotNull())
    shares = [i / n_slices for i in range(1, n_slices)]
    found = events.select(
        sf.count(time), sf.min(time), sf.max(time), sf.percentile_approx(time, shares, _ACCURACY)
    ).toArrow()
    n_events, first, last, cuts = (found.column(i)[0] for i in range(4))
    if not n_events.as_py():
        return Choice(KEYS, "there are no events")
    times = pa.chunked_array([pa.array([each.as_py() for each in (first, last, *cuts)], first.type)])
    first_us, last_us, *cuts_us = microseconds(times, physical.intake).to_pylist()
    sample = take_in(events.limit(SAMPLE_ROWS).toArrow(), physical.intake)[0]
    n_left = int(n_events.as_py() * (1.0 - combiner.frequent_share(sample)))
    n_stretches = family.count_stretches(physical.spec, n_left, n_slices, last_us - first_us)
    kept = [cuts_us[i * n_slices // n_stretches - 1] for i in range(1, n_stretches)]
    bounds, stretched = (tuple(sorted({us for us in each if us > first_us})) for each in (cuts_us, kept))
    return replace(choice, bounds=bounds, stretches=stretched)


def _size_bytes(frame: DataFrame) -> int | None:
    """What Spark takes the input for; None where it does not say, as on Connect."""
    plan = getattr(frame, "_jdf", None)
    return None if plan is None else int(str(plan.queryExecution().optimizedPlan().stats().sizeInBytes()))


def slices_from_dataframe(df: DataFrame, choice: Choice, physical: Physical, n_buckets: int) -> DataFrame:
    """The blocks of a batch DataFrame, whose rows are exchanged by time first."""
    combine, intake = _combiner(physical, n_buckets, choice), physical.intake
    if choice.bounds:

        def make_blocks(batches: Batches) -> Batches:
            for each in batches:
                block, _ = take_in(pa.Table.from_batches([each]), intake)
                for number, part in cut_by_time(block, choice.bounds):
                    yield block_row(number, to_bytes(part))

        return _combine_exchanged(
            select_events(df, physical).mapInArrow(settled(make_blocks), BLOCK_SCHEMA), choice, combine
        )

    def make_slices(batches: Batches) -> Batches:
        yield from combine((pa.Table.from_batches([each]) for each in batches), ())

    # Spark looks for the ranges when the query runs. Rows with one time are in one range.
    events = select_events(df, physical).repartitionByRange(count_buckets(df.sparkSession), sf.col(TS))
    return events.mapInArrow(settled(make_slices), BLOCK_SCHEMA)


def slices_from_paths(
    spark: SparkSession,
    choice: Choice,
    shares: Sequence[Sequence[tuple[str, int, int]]],
    physical: Physical,
    n_buckets: int,
    how: Reading = PLAIN,
) -> DataFrame:
    """The blocks of Parquet files, read by the tasks themselves; `shares` are read where events are exchanged."""
    combine, read = _combiner(physical, n_buckets, choice), reader(physical, how)
    if choice.way == RANGES:
        return _combine_exchanged(_exchange(spark, choice.bounds, shares, physical, read), choice, combine)

    def read_slices(batches: Batches) -> Batches:
        for task in (task for each in batches for task in each.column(0).to_pylist()):
            yield from combine(read(choice.shares[task]), choice.shared[task])

    return spark.range(0, len(choice.shares), 1, len(choice.shares)).mapInArrow(settled(read_slices), BLOCK_SCHEMA)


def _combine_exchanged(events: DataFrame, choice: Choice, combine: Combine) -> DataFrame:
    """The blocks of events that come by range of time."""

    def make_slices(batches: Batches) -> Batches:
        blocks = (from_bytes(data.as_buffer()) for each in batches for data in each.column("data"))
        yield from combine(blocks, None)

    return events.repartitionById(len(choice.bounds) + 1, "bucket").mapInArrow(settled(make_slices), BLOCK_SCHEMA)


def _combiner(physical: Physical, n_buckets: int, choice: Choice) -> Combine:
    """For a task: the block rows of all events of a slice, raw or, without a word on shared times, blocks already."""
    spec, intake = physical.spec, physical.intake
    family = family_of(spec)
    parts = family.stretches(choice.stretches) if choice.stretches else ()

    def share_out(block: pa.Table) -> Iterable[tuple[int, pa.Table]]:
        """To tasks by key; or by the stretch of time that needs the events, some to several."""
        if not parts:
            return cut(block, intake.layout, n_buckets)
        return ((i, mine) for i, part in enumerate(parts) if (mine := part.cut(block, spec)).num_rows)

    def combine(tables: Iterable[pa.Table], shared: Sequence[Range] | None) -> Iterable[pa.RecordBatch]:
        combiner = family.combiner(spec)
        assert combiner is not None
        blocks = list(tables) if shared is None else [take_in(table, intake)[0] for table in tables]
        if not blocks:
            return
        for block in combiner.combine(concatenate(blocks).combine_chunks(), shared or ()):
            for bucket, part in share_out(block):
                yield block_row(bucket, to_bytes(part))

    return combine


def match_slices(blocks: DataFrame, choice: Choice, physical: Physical, n_buckets: int) -> DataFrame:
    """The result rows of what the slices have left: by key, or by stretch of time, in its order."""
    spec = physical.spec
    parts = family_of(spec).stretches(choice.stretches) if choice.stretches else ()
    if not parts:
        return batch.run(blocks, physical, blocks.sparkSession, n_buckets)
    finish, schema = batch.finisher(physical)

    def match(batches: Batches) -> Batches:
        held: dict[int, list[pa.Table]] = {}
        for each in batches:
            for number, data in zip(each.column("bucket").to_pylist(), each.column("data"), strict=True):
                held.setdefault(number, []).append(from_bytes(data.as_buffer()))
        for number, mine in sorted(held.items()):
            yield from finish(parts[number].match(concatenate(mine), spec))

    return batch.project(blocks.repartitionById(len(parts), "bucket").mapInArrow(settled(match), schema), physical)


def _exchange(
    spark: SparkSession,
    bounds: Sequence[int],
    shares: Sequence[Sequence[tuple[str, int, int]]],
    physical: Physical,
    read: Callable[[Iterable[tuple[str, int, int]]], Iterable[pa.Table]],
) -> DataFrame:
    """Blocks by range of time."""
    intake = physical.intake

    def make_blocks(batches: Batches) -> Batches:
        for task in (task for each in batches for task in each.column(0).to_pylist()):
            for table in read(shares[task]):
                block, _ = take_in(table, intake)
                for number, part in cut_by_time(block, bounds):
                    yield block_row(number, to_bytes(part))

    return spark.range(0, len(shares), 1, max(len(shares), 1)).mapInArrow(settled(make_blocks), BLOCK_SCHEMA)


def cut_by_time(block: pa.Table, bounds: Sequence[int]) -> Iterable[tuple[int, pa.Table]]:
    """The block's rows by range of time: range k begins with `bounds[k - 1]`.

    >>> block = pa.table({"ts": [30, 10, 20]})
    >>> [(number, part["ts"].to_pylist()) for number, part in cut_by_time(block, [20])]
    [(0, [10]), (1, [30, 20])]
    """
    number = np.searchsorted(np.array(bounds, dtype=np.int64), numpy_int64(block.column(TS)), side="right")
    for each in np.unique(number).tolist():
        yield each, block.filter(pa.array(number == each))
