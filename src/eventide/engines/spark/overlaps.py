"""Events in slices of time that overlap by a window, a task each: for patterns where keys do not share the work out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from eventide.engines.computed import add_computed
from eventide.engines.distribution import Choice
from eventide.engines.intake import microseconds, take_in
from eventide.engines.overlaps import most_slices
from eventide.engines.parquet import Piece
from eventide.engines.spark.batch import finisher, project, read_blocks
from eventide.engines.spark.exchange import (
    BLOCK_SCHEMA,
    PLAIN,
    Batches,
    Reading,
    block_pieces,
    block_row,
    reader,
    select_events,
)
from eventide.engines.spark.parallelism import count_buckets
from eventide.engines.spark.ship import ensure_shipped
from eventide.engines.spark.workers import settled
from eventide.families.registry import make_operator
from eventide.families.time_slices import Part, around, make_parts, overlap_us, run_part
from eventide.plan.physical import Physical
from eventide.runtime.block import TS, concatenate, from_bytes, to_bytes, within

_ACCURACY = 1000  # of the quantiles that cut a DataFrame's events


def run_paths(
    spark: SparkSession,
    choice: Choice,
    shares: Sequence[Sequence[Piece]],
    physical: Physical,
    how: Reading = PLAIN,
) -> DataFrame:
    """The result rows of Parquet files; `shares` are read where events are exchanged."""
    ensure_shipped(spark)
    parts, intake = choice.parts, physical.intake
    read = reader(physical, how)
    if not choice.shares:

        def make_blocks(batches: Batches) -> Batches:
            for task in (task for batch in batches for task in batch.column(0).to_pylist()):
                yield from _block_rows((take_in(table, intake)[0] for table in read(shares[task])), parts)

        blocks = spark.range(0, len(shares), 1, max(len(shares), 1)).mapInArrow(settled(make_blocks), BLOCK_SCHEMA)
        return _match_exchanged(blocks, parts, physical)
    match, schema = _matcher(physical)

    def read_and_match(batches: Batches) -> Batches:
        for task in (task for batch in batches for task in batch.column(0).to_pylist()):
            yield from match((take_in(table, intake)[0] for table in read(choice.shares[task])), parts[task])

    return project(spark.range(0, len(parts), 1, len(parts)).mapInArrow(settled(read_and_match), schema), physical)


def run_frame(df: DataFrame, physical: Physical) -> DataFrame | None:
    """The result rows of a batch DataFrame; None where its events are too few or too close for slices."""
    spark = df.sparkSession
    ensure_shipped(spark)
    bounds = _bounds(df, physical)
    parts = make_parts(physical.spec, bounds, _reader(df, physical, bounds)) if bounds else []
    if len(parts) < 2:
        return None
    return _match_exchanged(_exchanged(df, physical, parts), parts, physical)


def _bounds(df: DataFrame, physical: Physical) -> tuple[int, ...]:
    """Instants between which about as many events lie each: reads the events' times, once."""
    n_slices, shared_us = count_buckets(df.sparkSession), overlap_us(physical.spec)
    assert shared_us is not None
    time = sf.col(TS)
    shares = [i / n_slices for i in range(1, n_slices)]
    times = select_events(df, physical).filter(time.isNotNull()).select(time)
    found = times.select(sf.min(time), sf.max(time), sf.percentile_approx(time, shares, _ACCURACY)).toArrow()
    (row,) = found.to_pylist()
    ends, cuts = [row[name] for name in found.column_names[:2]], row[found.column_names[2]]
    if ends[0] is None or not cuts:
        return ()
    times_us = microseconds(pa.chunked_array([pa.array([*ends, *cuts], found.schema.field(0).type)]), physical.intake)
    first_us, last_us, *cuts_us = times_us.to_pylist()
    n_fitting = most_slices(n_slices, last_us - first_us, shared_us)
    kept = [cuts_us[i * n_slices // n_fitting - 1] for i in range(1, n_fitting)]
    return tuple(sorted({us for us in kept if us > first_us}))


def _reader(df: DataFrame, physical: Physical, bounds: Sequence[int]) -> Callable[[int, int], pa.Table]:
    """The events around the bounds, as far as they are looked at for borders: one job reads them all."""
    times = [each for bound in bounds if (each := around(physical.spec, bound)) is not None]
    regions = [_Region(*each) for each in times]
    held: dict[_Region, list[pa.Table]] = {region: [] for region in regions}
    if regions:
        rows = _exchanged(df, physical, regions).toArrow()
        for number, data in zip(rows.column("bucket").to_pylist(), rows.column("data"), strict=True):
            held[regions[number]].append(from_bytes(data.as_buffer()))

    def read(from_us: int, until_us: int) -> pa.Table:
        blocks = held[_Region(from_us, until_us)]
        return concatenate(blocks) if blocks else pa.table({TS: pa.array([], pa.int64())})

    return read


@dataclass(frozen=True, slots=True)
class _Region:
    """The instants from one up to another."""

    from_us: int
    until_us: int

    def cut(self, block: pa.Table) -> pa.Table:
        return within(block, self.from_us, self.until_us)


def _exchanged(df: DataFrame, physical: Physical, parts: Sequence[Part | _Region]) -> DataFrame:
    """The parts' events, as rows of blocks with the part's number."""
    intake = physical.intake

    def make_blocks(batches: Batches) -> Batches:
        tables = (pa.Table.from_batches([batch]) for batch in batches)
        yield from _block_rows((take_in(table, intake)[0] for table in tables), parts)

    return select_events(df, physical).mapInArrow(settled(make_blocks), BLOCK_SCHEMA)


def _block_rows(blocks: Iterable[pa.Table], parts: Sequence[Part | _Region]) -> Batches:
    """Every part's events of the blocks; an event that several look at stands in several."""
    for block in blocks:
        for number, part in enumerate(parts):
            mine = part.cut(block)
            if mine.num_rows:
                yield from (block_row(number, to_bytes(piece)) for piece in block_pieces(mine))


def _match_exchanged(blocks: DataFrame, parts: Sequence[Part], physical: Physical) -> DataFrame:
    match, schema = _matcher(physical)

    def match_blocks(batches: Batches) -> Batches:
        held: dict[int, list[pa.Table]] = {}
        for batch in batches:
            for number, block in zip(batch.column("bucket").to_pylist(), read_blocks(iter([batch])), strict=True):
                held.setdefault(number, []).append(block)
        for number, mine in held.items():
            yield from match(mine, parts[number])

    return project(blocks.repartitionById(len(parts), "bucket").mapInArrow(settled(match_blocks), schema), physical)


def _matcher(physical: Physical) -> tuple[Callable[[Iterable[pa.Table], Part], Batches], StructType]:
    """For a task: the rows that a slice decides, of blocks that hold its events and those it looks back on."""
    finish, schema = finisher(physical)
    spec = physical.spec

    def match(blocks: Iterable[pa.Table], part: Part) -> Batches:
        mine = [cut for block in blocks if (cut := part.cut(block)).num_rows]
        if mine:
            yield from finish(run_part(make_operator(spec, compute=add_computed), concatenate(mine), part))

    return match, schema
