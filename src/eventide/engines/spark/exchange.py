"""Events to blocks by bucket: rows `(bucket int, data binary)`, a few large ones instead of many small ones.

In: a DataFrame, or Parquet files that the tasks read themselves. Out: the DataFrame that `batch.run` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from eventide.engines.file_versions import Version, check_versions
from eventide.engines.intake import near_rows, take_in
from eventide.engines.parquet import read_piece, to_microseconds
from eventide.engines.raw_columns import WANTED, wanted_columns
from eventide.engines.spark.time_zone import in_utc
from eventide.engines.spark.workers import settled
from eventide.engines.stored_filters import stored_filters
from eventide.families.registry import family_of
from eventide.plan.physical import Intake, Physical, Piece
from eventide.runtime.block import MASK, TS, cut, to_bytes
from eventide.runtime.combining import Smaller
from eventide.runtime.costs import cost
from eventide.runtime.near import Near
from eventide.runtime.protocol import Spec

BLOCK_SCHEMA = "bucket int, data binary"
ROWS_PER_CUT = 500_000
MAX_BLOCK_BYTES = 64 << 20
# The same as `WANTED`, in a form that Catalyst leaves alone. It makes `c` of `CASE WHEN c THEN 1 ELSE 0 END <> 0`, and
# would push that into files: see `plan.wanted`. Of `(a OR n) AND (b OR n)` it makes `n OR (a AND b)`, and then pushes
# nothing into files if they cannot use `b`.
WANTED_OPAQUE = f"greatest({MASK}, CAST({TS} IS NULL AS BIGINT)) <> 0"

Batches = Iterator[pa.RecordBatch]
Blocks = Iterator[tuple[int, pa.Table]]


@dataclass(frozen=True, slots=True)
class Reading:
    """How tasks read files: what they take as codes, and the versions of the files that are meant."""

    coded: tuple[str, ...] = ()
    versions: tuple[Version, ...] = ()
    near: Near | None = None  # what events are left out by


PLAIN = Reading()


@dataclass(frozen=True, slots=True)
class Cutter:
    """What a task needs to make blocks; `labels[i]` is written in place of bucket i when given.

    With a spec, less may be sent in place of events: see `Family.combining`.
    """

    intake: Intake
    n_buckets: int
    labels: tuple[int, ...] | None = None
    spec: Spec | None = None
    most_combined: float = 0.0  # the cost of that name

    def rows_of(self, batches: Batches) -> Batches:
        """Block rows of the batches that Spark gives a task."""
        yield from self.rows(pa.Table.from_batches([batch]) for batch in batches)

    def rows(self, raw: Iterable[pa.Table]) -> Batches:
        """Block rows of raw tables."""
        for bucket, block in self.blocks(raw):
            label = bucket if self.labels is None else self.labels[bucket]
            yield from block_rows(label, block)

    def blocks(self, raw: Iterable[pa.Table]) -> Blocks:
        """Blocks by bucket of raw tables, cut together up to `ROWS_PER_CUT` events at a time."""
        combining = None if self.spec is None else family_of(self.spec).combining(self.spec)
        smaller = Smaller(combining, self.most_combined)
        waiting: list[pa.Table] = []
        n_waiting = 0
        for table in raw:
            block = self._take_in(table)
            waiting.append(block)
            n_waiting += block.num_rows
            if n_waiting >= ROWS_PER_CUT:
                yield from self._cut(smaller(pa.concat_tables(waiting)))
                waiting, n_waiting = [], 0
        if waiting:
            yield from self._cut(smaller(pa.concat_tables(waiting)))

    def _cut(self, block: pa.Table) -> Blocks:
        yield from cut(block, self.intake.layout, self.n_buckets)

    def _take_in(self, table: pa.Table) -> pa.Table:
        return take_in(table, self.intake)[0]


def block_row(label: int, data: bytes) -> pa.RecordBatch:
    """One block as a batch of one row."""
    return pa.RecordBatch.from_arrays(
        [pa.array([label], pa.int32()), pa.array([data], pa.binary())], names=["bucket", "data"]
    )


def block_rows(label: int, block: pa.Table) -> Batches:
    """A block as batches of one row each, none of them too large."""
    for piece in block_pieces(block):
        yield block_row(label, to_bytes(piece))


def block_pieces(block: pa.Table) -> Iterator[pa.Table]:
    """Slices of a block that fit into a row."""
    n_pieces = -(-block.nbytes // MAX_BLOCK_BYTES)
    size = -(-block.num_rows // max(n_pieces, 1)) or 1
    for start in range(0, block.num_rows, size):
        yield block.slice(start, size)


def select_events(
    df: DataFrame, physical: Physical, *, extra: Mapping[str, str] | None = None, keep: str | None = None
) -> DataFrame:
    """The block's columns, evaluated by Catalyst; events that no step wants are left out there.

    Events without a time are kept: `take_in` reports or counts them. `extra` are more columns, as name and SQL
    text; `keep` is one more reason to keep an event, over these columns, and Spark then pushes nothing into files.
    """
    items = {column.name: column.spark for column in physical.select} | dict(extra or {})
    needs_mask = not physical.intake.keep_all
    with in_utc(df.sparkSession, items.values()):
        if keep is None:
            filters = stored_filters(physical, "spark")
            needs_mask &= physical.wanted is None or not physical.wanted.is_exact
            df = df.filter(" AND ".join(f"({text})" for text in filters)) if filters else df
        selected = df.select(*(sf.expr(text).alias(name) for name, text in items.items()))
    if not needs_mask:
        return selected
    return selected.filter(WANTED_OPAQUE if keep is None else f"{WANTED} OR {keep}")


# What a task does with the tables of raw columns that it reads, and its number.
Work: TypeAlias = Callable[[Iterable[pa.Table], int], Batches]
# All tasks of an input at their work; text: the schema of what comes out.
Events: TypeAlias = Callable[[Work, "str | StructType"], DataFrame]
# The block's columns of the events of a DataFrame.
Select: TypeAlias = Callable[[DataFrame, Physical], DataFrame]


def from_dataframe(df: DataFrame, physical: Physical, select: Select = select_events) -> Events:
    """The events of a batch DataFrame; all its tasks have the number 0."""

    def tasks(work: Work, schema: str | StructType) -> DataFrame:
        def run(batches: Batches) -> Batches:
            return work((pa.Table.from_batches([batch]) for batch in batches), 0)

        return select(df, physical).mapInArrow(settled(run), schema)

    return tasks


def from_paths(
    spark: SparkSession, shares: Sequence[Sequence[Piece]], physical: Physical, how: Reading = PLAIN
) -> Events:
    """The events of Parquet files, read by the tasks themselves; Spark distributes only the numbers of the tasks.

    Ask `can_read_directly` first. The tasks must agree on what is `coded`, as their blocks come together.
    """
    read = reader(physical, how)

    def tasks(work: Work, schema: str | StructType) -> DataFrame:
        def run(batches: Batches) -> Batches:
            for task in (task for batch in batches for task in batch.column(0).to_pylist()):
                yield from work(read(shares[task]), task)

        # A range has one number in each of its partitions, without an exchange.
        return spark.range(0, len(shares), 1, max(len(shares), 1)).mapInArrow(settled(run), schema)

    return tasks


def blocks_by_key(events: Events, physical: Physical, n_buckets: int) -> DataFrame:
    """The blocks of events, or of less in their place, by bucket of the partition columns: what `batch.run` takes."""
    cutter = Cutter(physical.intake, n_buckets, spec=physical.spec, most_combined=cost("most_combined"))
    return events(lambda tables, _: cutter.rows(tables), BLOCK_SCHEMA)


def reader(
    physical: Physical, how: Reading, *, use_threads: bool = False
) -> Callable[[Iterable[Piece]], Iterator[pa.Table]]:
    """For a task: the block's columns of pieces of files."""
    names, versions = list(physical.reads), dict(how.versions)

    def read(pieces: Iterable[Piece]) -> Iterator[pa.Table]:
        for piece in pieces:
            for table in read_piece(piece, names, how.coded, ROWS_PER_CUT, use_threads=use_threads):
                raw = wanted_columns(to_microseconds(table), physical, ("UTC", 1))
                yield raw if how.near is None else near_rows(raw, how.near, physical.intake)
            if piece[0] in versions:
                check_versions([(piece[0], versions[piece[0]])])

    return read
