"""Bounded input on this machine: SQL to blocks, blocks to the operator, rows to the user's columns.

Input that does not fit into `memory_limit_bytes` is cut by partition into files and worked off file by file.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from eventide.engines.computed import add_computed
from eventide.engines.database import connect
from eventide.engines.intake import microseconds, no_time, take_in
from eventide.engines.lengths import as_type, with_lengths
from eventide.engines.local.absent_types import seen_bits, warn_of_absent
from eventide.engines.local.ahead import read_ahead
from eventide.engines.local.memory import collect
from eventide.engines.local.plausible_times import Times, warn_of_unit
from eventide.engines.local.slices import run_parts
from eventide.engines.local.sources import Source, reason
from eventide.engines.parquet import is_in_time_order, read_piece
from eventide.engines.raw_columns import WANTED, coded_for, raw_columns
from eventide.engines.row_limit import limited
from eventide.engines.stored_filters import pieces_of, stored_filters
from eventide.errors import EventideError, InputError, OutputError
from eventide.families.registry import family_of, make_operator
from eventide.plan.choose import parts_for_threads
from eventide.plan.ending import with_end, with_origin
from eventide.plan.physical import Physical, SqlColumn
from eventide.runtime.block import MASK, MIN_US, TS, concatenate, cut
from eventide.runtime.protocol import Operator, Results, Spec
from eventide.runtime.quoting import quoted

ROWS_PER_READ = 1 << 20
_WIDTH_BYTES = 16  # of a value, on average: numbers have 8 or less, strings more


@dataclass(slots=True)
class Run:
    """What a run saw."""

    events: int | None = None  # unknown where the input cannot be counted without reading it
    relevant_events: int = 0
    dropped_events: int = 0
    matches: int = 0
    spilled_bytes: int = 0
    overflows: int | None = None  # only aggregates over trends have some
    learned: object | None = None  # what the operator found out about its input
    bits: int = 0  # the steps that some event was wanted for
    times: Times = field(default_factory=Times)

    def metrics(self) -> dict[str, int]:
        """The counters by name."""
        counters = [name for name in self.__slots__ if name not in ("learned", "bits", "times")]
        return {name: value for name in counters if (value := getattr(self, name)) is not None}

    def count(self, operator: Operator) -> None:
        """Add what the operator has counted; called when it has finished."""
        n_overflows = operator.overflows()
        if n_overflows is not None:
            self.overflows = (self.overflows or 0) + n_overflows

    def watch(self, spec: Spec, operator: Operator) -> Operator:
        """Keep what the operator learns."""
        self.learned = family_of(spec).learned(operator)
        return operator


def run(physical: Physical, source: Source, memory_limit_bytes: int | None = None) -> tuple[pa.Table, Run]:
    """All rows as one table, or an error where they do not fit into memory."""
    seen = Run(events=source.n_rows)
    batches = collect(run_batches(physical, source, seen, memory_limit_bytes))
    schema = result_schema(physical, source)
    return pa.Table.from_batches(batches, schema), seen


def result_schema(physical: Physical, source: Source) -> pa.Schema:
    """The schema of the user's rows."""
    assert physical.output_schema is not None
    empty = add_computed(pa.RecordBatch.from_pylist([], schema=physical.output_schema), physical.computed)
    return project_rows(source, physical, empty).schema


def run_batches(
    physical: Physical, source: Source, seen: Run, memory_limit_bytes: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows in batches, in bounded memory however many there are."""
    limit = memory_limit_bytes or default_memory_limit()
    if physical.align_to_first:
        source.hold()
        physical = with_origin(physical, _extreme_us("min", physical, source) or 0)
    physical = _until_latest(physical, source)
    files = source.files_for(physical.reads)
    if files and physical.windows_close and is_in_time_order(files, physical.intake.ts_column):
        pieces = read_ahead(_read_files(physical, source, coded_for(physical, files), ROWS_PER_READ))
        found = _run_in_pieces(physical, source, seen, pieces, in_time_order=True)
    elif physical.holds_aggregates:
        found = _run_in_pieces(physical, source, seen, _read(physical, source, limit), in_time_order=False)
    else:
        found = _runread_blocks(physical, read_blocks(physical, source, seen, limit), seen)
    for matches in limited(found, physical):
        seen.matches += matches.num_rows
        yield project_rows(source, physical, add_computed(matches, physical.computed))


def _runread_blocks(physical: Physical, blocks: Iterator[pa.Table], seen: Run) -> Results:
    n_threads = os.cpu_count() or 1
    for block in blocks:
        parts = parts_for_threads(physical.spec, block, n_threads)
        if len(parts) > 1:
            yield from run_parts(physical.spec, block, parts)
        else:
            yield from _run_whole(physical, block, seen, n_threads)


def _until_latest(physical: Physical, source: Source) -> Physical:
    """The plan with the time of the latest event as the end of time, where it asks for that."""
    if not physical.needs_end:
        return physical
    source.hold()
    end_us = _extreme_us("max", physical, source)
    return physical if end_us is None else with_end(physical, end_us)


def _run_whole(physical: Physical, block: pa.Table, seen: Run, n_threads: int) -> Results:
    operator = seen.watch(physical.spec, make_operator(physical.spec, n_threads, add_computed))
    for _ in operator.process(block, MIN_US):
        raise AssertionError("nothing is decided before the first event")
    yield from operator.finish()
    seen.count(operator)


def _run_in_pieces(
    physical: Physical, source: Source, seen: Run, pieces: Iterator[pa.Table], *, in_time_order: bool
) -> Results:
    """A piece of the input after the other: what is held follows the windows that are open, or are aggregates."""
    operator = seen.watch(physical.spec, make_operator(physical.spec, os.cpu_count() or 1, add_computed))
    for raw in pieces:
        block = _take_in(raw, physical, seen)
        if block.num_rows:
            # Events with the newest time may go on in the next piece.
            yield from operator.process(block, pc.max(block.column(TS)).as_py() - 1 if in_time_order else MIN_US)
    warn_of_absent(physical, source, seen.bits)
    warn_of_unit(physical.intake, seen.times)
    yield from operator.finish()
    seen.count(operator)


def _take_in(raw: pa.Table, physical: Physical, seen: Run) -> pa.Table:
    """The block of a piece, counted."""
    intake = replace(physical.intake, keep_all=True) if physical.passes_over else physical.intake
    block, n_bad = take_in(raw, intake)
    seen.dropped_events += n_bad
    seen.relevant_events += block.num_rows
    if physical.types:
        seen.bits |= seen_bits(block)
    seen.times.see(block)
    if physical.passes_over and not physical.intake.keep_all:
        seen.relevant_events -= pc.sum(pc.equal(block.column(MASK), 0)).as_py() or 0
    return block


def _extreme_us(function: str, physical: Physical, source: Source) -> int | None:
    """The time of the first ("min") or the last event ("max") of all, in microseconds; None where there is none."""
    try:
        raw = source.connection.sql(
            f"SELECT {function}({quoted(physical.intake.ts_column)}) AS ts FROM {source.sql}"
        ).to_arrow_table()
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise InputError(f"the events cannot be read: {reason(error)}") from error
    extreme: int | None = microseconds(raw.column(0), physical.intake)[0].as_py()
    return extreme


def default_memory_limit() -> int:
    """Half of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]?)(I?)B", re.ASCII | re.IGNORECASE)


def size_bytes(limit: object) -> int:
    """A memory limit in bytes.

    >>> size_bytes("512MB"), size_bytes("1.5 GiB"), size_bytes(64)
    (512000000, 1610612736, 64)
    """
    written = _SIZE.fullmatch(limit.strip()) if isinstance(limit, str) else None
    size = limit if isinstance(limit, int) and not isinstance(limit, bool) else 0
    if written is not None:
        number, prefix, binary = written.groups()
        size = int(float(number) * (1024 if binary else 1000) ** " KMGT".index(prefix.upper() or " "))
    if size < 1:
        raise EventideError(f"memory_limit={limit!r} is not a size", hint="a number of bytes, or text such as '2GB'")
    return size


def read_blocks(physical: Physical, source: Source, seen: Run, limit: int) -> Iterator[pa.Table]:
    """Blocks that together hold every relevant event, each partition wholly in one of them."""
    intake = physical.intake
    held: list[pa.Table] = []
    held_bytes = 0
    with tempfile.TemporaryDirectory(prefix="eventide-") as folder:
        spill: _Spill | None = None
        pieces = _read(physical, source, limit)
        for raw in pieces:
            if raw.column(TS).null_count and not (intake.drop_bad_events or intake.identifying or source.once):
                pieces.close()  # a connection has one open result
                raise no_time(intake, _bad_rows(physical, source))
            block = _take_in(raw, physical, seen)
            held.append(block)
            held_bytes += block.nbytes
            # The operator needs about as much again for its sorted arrays.
            if held_bytes * 3 > limit and intake.layout.distribution:
                n_buckets = max(8, _estimate_bytes(seen, held_bytes) * 4 // limit)
                spill = spill or _Spill(Path(folder), physical, int(n_buckets))
                _write_down(spill, held)
                held, held_bytes = [], 0
        warn_of_absent(physical, source, seen.bits)
        warn_of_unit(intake, seen.times)
        if spill is None:
            if held:
                yield concatenate(held)
            return
        if held:
            _write_down(spill, held)
        seen.spilled_bytes = spill.close()
        yield from spill.blocks()


def _write_down(spill: _Spill, held: list[pa.Table]) -> None:
    try:
        spill.write(concatenate(held))
    except OSError as error:
        why = os.strerror(error.errno) if error.errno is not None else reason(error)
        hint = "name a folder on a larger disk with TMPDIR=..., or raise memory_limit"
        raise OutputError(f"events that do not fit into memory cannot be kept on disk: {why}", hint=hint) from error


def _bad_rows(physical: Physical, source: Source) -> str:
    """Which events have no time, where nothing else of them is read: the first one's row, and how many follow."""
    numbered = f"SELECT {quoted(physical.intake.ts_column)} IS NULL AS bad, row_number() OVER () AS n FROM {source.sql}"
    ((row, n_bad),) = source.connection.sql(f"SELECT min(n), count(*) FROM ({numbered}) WHERE bad").fetchall()
    more = f", and in {n_bad - 1:,} more" if n_bad > 1 else ""
    return f"in row {row:,} of the input{more}"


def _estimate_bytes(seen: Run, held_bytes: int) -> int:
    """The size of all blocks: as if every event were relevant where their number is known."""
    if seen.events is None:
        return held_bytes * 16
    return held_bytes * max(1, seen.events // max(1, seen.relevant_events))


class _Spill:
    """Blocks cut by partition into one Arrow file per bucket."""

    def __init__(self, folder: Path, physical: Physical, n_buckets: int) -> None:
        self._layout = physical.intake.layout
        self._paths = [folder / f"{bucket}.arrows" for bucket in range(n_buckets)]
        self._writers: list[pa.ipc.RecordBatchStreamWriter | None] = [None] * n_buckets

    def write(self, block: pa.Table) -> None:
        for bucket, part in cut(block, self._layout, len(self._paths)):
            writer = self._writers[bucket]
            if writer is None:
                writer = self._writers[bucket] = pa.ipc.new_stream(self._paths[bucket], part.schema)
            writer.write_table(part)

    def close(self) -> int:
        for writer in self._writers:
            if writer is not None:
                writer.close()
        return sum(path.stat().st_size for path in self._paths if path.exists())

    def blocks(self) -> Iterator[pa.Table]:
        for path in self._paths:
            if path.exists():
                with pa.memory_map(str(path)) as data:
                    yield pa.ipc.open_stream(data).read_all()
                path.unlink()


def _read(physical: Physical, source: Source, limit: int) -> Generator[pa.Table]:
    """The selected columns, what no step wants left out by DuckDB already; in pieces where all may not fit."""
    fits = source.n_rows is not None and source.n_rows * len(physical.select) * _WIDTH_BYTES * 3 <= limit
    coded = coded_for(physical, source.files_for(physical.reads))
    if coded:
        yield from _read_files(physical, source, coded, sys.maxsize if fits else ROWS_PER_READ)
        return
    sql = _statement(physical, source)
    try:
        if fits:
            yield with_lengths(source.connection.sql(sql).to_arrow_table())
        else:
            for batch in source.connection.sql(sql).to_arrow_reader(ROWS_PER_READ):
                yield with_lengths(pa.Table.from_batches([batch]))
        source.check_unchanged()
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise InputError(f"the events cannot be read: {reason(error)}") from error


def _statement(physical: Physical, source: Source) -> str:
    """The SELECT of all events that matter."""
    items = ", ".join(f"{_duckdb(column)} AS {column.name}" for column in physical.select)
    sql, needs_mask = f"SELECT {items} FROM {source.sql}", not physical.intake.keep_all
    # Only files have statistics; the mask costs DuckDB less than the same conditions handed to an Arrow table.
    filters = stored_filters(physical, "duckdb") if source.files else []
    if filters:
        sql += " WHERE " + " AND ".join(f"({text})" for text in filters)
        needs_mask &= physical.wanted is None or not physical.wanted.is_exact
    return f"SELECT * FROM ({sql}) WHERE {WANTED}" if needs_mask else sql


def _read_files(physical: Physical, source: Source, coded: list[str], n_at_once: int) -> Iterator[pa.Table]:
    """The same, with conditions on strings evaluated for each distinct string only."""
    names = physical.reads
    try:
        for file in source.files:
            for piece in pieces_of(file, physical):
                for table in read_piece(piece, names, coded, n_at_once, use_threads=True):
                    yield raw_columns(table, physical, ("UTC", None))
        source.check_unchanged()
    except (duckdb.Error, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"the events cannot be read: {reason(error)}") from error


def _duckdb(column: SqlColumn) -> str:
    assert column.duckdb is not None
    return column.duckdb


def project_rows(source: Source, physical: Physical, matches: pa.RecordBatch) -> pa.RecordBatch:
    """The operator's columns to the user's, in the types in which the user has them."""
    table = _evaluate(physical, matches)
    arrays = []
    for column, array in zip(physical.project, table.itercolumns(), strict=True):
        wanted = column.dtype if column.origin is None else source.given_type(column.origin)
        arrays.append(array if wanted is None else as_type(array, wanted))
    names = [column.name for column in physical.project]
    joined = [pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type) for array in arrays]
    return pa.RecordBatch.from_arrays(joined, names=names)


def _evaluate(physical: Physical, matches: pa.RecordBatch) -> pa.Table:
    """Plain columns are taken as they are, without asking DuckDB."""
    table = pa.Table.from_batches([matches])
    plain = {f'"{name}"': name for name in matches.schema.names}
    if physical.having is None and all(column.duckdb in plain for column in physical.project):
        return pa.Table.from_arrays(
            [table.column(plain[_duckdb(column)]) for column in physical.project],
            names=[column.name for column in physical.project],
        )
    items = ", ".join(f"{_duckdb(column)} AS r{i}" for i, column in enumerate(physical.project))
    where = "" if physical.having is None else f" WHERE {_duckdb(physical.having)}"
    connection = connect()
    connection.register("matches", table)
    try:
        return connection.sql(f"SELECT {items} FROM matches{where}").to_arrow_table()
    except duckdb.Error as error:
        raise InputError(f"a result cannot be computed: {reason(error)}") from error
