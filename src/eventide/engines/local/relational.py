"""A pattern as joins in this process: DuckDB runs the statement, and spills to disk by itself where memory ends."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from eventide.engines.intake import take_in
from eventide.engines.lengths import as_type, with_lengths
from eventide.engines.local.memory import collect
from eventide.engines.local.run import ROWS_PER_READ, Run
from eventide.engines.local.sources import Source, reason
from eventide.engines.raw_columns import WANTED
from eventide.errors import InputError
from eventide.lang.tree import Strategy
from eventide.plan.physical import Physical
from eventide.plan.relational.dialects import DUCKDB
from eventide.plan.relational.map_pattern import Asked, Mapped
from eventide.plan.relational.steps import Steps
from eventide.runtime.block import MAX_US
from eventide.runtime.quoting import quoted
from eventide.runtime.times import UNIT_US

TABLE = "eventide_events"
SAMPLE_ROWS = 100_000
FEWEST_STEPS = 3  # of a pattern whose joins may come in several orders


def run(mapped: Mapped, asked: Asked, source: Source) -> tuple[pa.Table, Run]:
    """All rows as one table."""
    seen = Run(events=source.n_rows)
    schema: list[pa.Schema] = []
    batches = collect(run_batches(mapped, asked, source, seen, schema))
    return pa.Table.from_batches(batches, schema[0]), seen


def run_batches(
    mapped: Mapped, asked: Asked, source: Source, seen: Run, schema: list[pa.Schema] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows in batches; `schema` gets theirs."""
    physical = asked.physical
    source.hold()
    _check_times(physical, source)
    statement = f"WITH {TABLE} AS (SELECT * FROM {source.sql}) SELECT * FROM ({mapped.statement})"
    try:
        reader = source.connection.sql(statement).to_arrow_reader(ROWS_PER_READ)
        empty = _typed(pa.Table.from_batches([], reader.schema), physical, source)
        if schema is not None:
            schema.append(empty.schema)
        for batch in reader:
            table = _typed(with_lengths(pa.Table.from_batches([batch])), physical, source)
            seen.matches += table.num_rows
            yield from table.combine_chunks().to_batches()
        source.check_unchanged()
    except duckdb.OutOfRangeException as error:
        hint = "leave out plan='joins': the operator says which number it is"
        raise InputError(f"a number leaves the range of its type: {reason(error)}", hint=hint) from error
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise InputError(f"the events cannot be read: {reason(error)}") from error


def count_events(asked: Asked, source: Source) -> dict[str, float]:
    """How many events each symbol has, in the first ones; nothing where the order of joins is settled anyway."""
    names = [name for name, symbol in asked.plan.symbols.items() if not symbol.negated]
    if len(names) < FEWEST_STEPS or asked.plan.strategy is Strategy.NEXT or source.once:
        return {}
    conditions = Steps(asked.plan, DUCKDB, {}).conditions
    counts = ", ".join(f"count(*) FILTER ({' AND '.join(conditions[name])})" for name in names)
    sample = f"SELECT * FROM {source.sql} LIMIT {SAMPLE_ROWS}"
    try:
        (row,) = source.connection.sql(f"SELECT {counts} FROM ({sample})").fetchall()
    except duckdb.Error:
        # The statement itself will say what is wrong.
        return {}
    return dict(zip(names, map(float, row), strict=True))


def _check_times(physical: Physical, source: Source) -> None:
    """What a matcher would say of events without a time, or with one that is too fine."""
    ts = quoted(physical.intake.ts_column)
    kind = source.schema.field(physical.intake.ts_column).type
    bad = f"{ts} IS NULL"
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        bad += f" OR epoch_ns({ts}) % 1000 <> 0"
    if physical.intake.time_type.unit is not None:
        most = MAX_US // UNIT_US[physical.intake.time_type.unit]
        bad += f" OR {ts} > {most} OR {ts} < -{most}"
    items = ", ".join(f"{column.duckdb} AS {column.name}" for column in physical.select)
    wanted = "" if physical.intake.keep_all else f" WHERE {WANTED}"
    try:
        raw = source.connection.sql(
            f"SELECT * FROM (SELECT {items} FROM {source.sql} WHERE {bad}){wanted}"
        ).to_arrow_table()
    except (duckdb.Error, pa.ArrowException) as error:
        raise InputError(f"the events cannot be read: {reason(error)}") from error
    take_in(with_lengths(raw), physical.intake)


def _typed(table: pa.Table, physical: Physical, source: Source) -> pa.Table:
    """The rows in the types in which the user has the columns."""
    arrays = []
    for column, array in zip(physical.project, table.itercolumns(), strict=True):
        wanted = column.dtype
        if column.origin is not None:
            # Times that are computed are in microseconds.
            wanted = source.given_type(column.origin) or source.schema.field(column.origin).type
        arrays.append(array if wanted is None else as_type(array, wanted))
    return pa.Table.from_arrays(arrays, names=[column.name for column in physical.project])
