"""The generators by name, and the two ways to run one: to a Parquet file, or to an Arrow table in memory.

A new generator is a file with `SCHEMA`, `Parameters` and `blocks`, and one line in `GENERATORS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eventide.errors import InputError, did_you_mean
from eventide.generate import activity, cars, checks, cluster, situations, stocks, traffic, transport, typed
from eventide.generate.parameters import check_whole
from eventide.runtime.whole_files import check_place, file_path, whole_file


@dataclass(frozen=True)
class Generator:
    """What a generator's file offers: the schema, the parameters' class, and the events in blocks.

    Parameters that decide the columns have a `schema` of their own; the one here is that of the defaults.
    """

    schema: pa.Schema
    parameters: Callable[..., Any]
    blocks: Callable[[Any, int, int], Iterator[pa.RecordBatch]]


GENERATORS: dict[str, Generator] = {
    "activity": Generator(activity.SCHEMA, activity.Parameters, activity.blocks),
    "cars": Generator(cars.SCHEMA, cars.Parameters, cars.blocks),
    "checks": Generator(checks.SCHEMA, checks.Parameters, checks.blocks),
    "cluster": Generator(cluster.SCHEMA, cluster.Parameters, cluster.blocks),
    "situations": Generator(situations.SCHEMA, situations.Parameters, situations.blocks),
    "stocks": Generator(stocks.SCHEMA, stocks.Parameters, stocks.blocks),
    "traffic": Generator(traffic.SCHEMA, traffic.Parameters, traffic.blocks),
    "transport": Generator(transport.SCHEMA, transport.Parameters, transport.blocks),
    "typed": Generator(typed.SCHEMA, typed.Parameters, typed.blocks),
}


def generate(
    name: str,
    *,
    events: int,
    output: str | os.PathLike[str],
    seed: int = 0,
    row_group_events: int = 1 << 19,
    **parameters: object,
) -> Path:
    """Write `events` events of the generator `name` to a Parquet file, all of it or nothing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = generate("typed", events=1000, output=f"{folder}/events.parquet", keys=10)
    ...     pq.read_metadata(path).num_rows
    1000
    """
    check_whole("row_group_events", row_group_events, minimum=1)
    schema, batches = _open(name, events, seed, parameters)
    output = file_path("output", output)
    check_place(output, (".parquet",))
    # Times rise in small steps: as differences they are smaller than plain and faster to read.
    times = [field.name for field in schema if pa.types.is_timestamp(field.type)]
    options = {
        "use_dictionary": [name for name in schema.names if name not in times],
        "column_encoding": dict.fromkeys(times, "DELTA_BINARY_PACKED"),
    }
    with whole_file(output) as partial, pq.ParquetWriter(partial, schema, **options) as writer:
        for table in _regroup(batches, schema, row_group_events):
            writer.write_table(table, row_group_size=row_group_events)
    return output


def sample(name: str, events: int, seed: int = 0, **parameters: object) -> pa.Table:
    """The events of the generator `name` as an Arrow table: the rows that `generate` writes.

    >>> sample("stocks", 3).column_names
    ['ts', 'symbol', 'sector', 'price', 'volume']
    """
    schema, batches = _open(name, events, seed, parameters)
    return pa.Table.from_batches(batches, schema)


def _open(
    name: str, events: int, seed: int, parameters: dict[str, object]
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    if not isinstance(name, str):
        raise InputError(f"name is that of a generator, found {type(name).__name__}", hint=did_you_mean("", GENERATORS))
    generator = GENERATORS.get(name)
    if generator is None:
        raise InputError(f"unknown generator '{name}'", hint=did_you_mean(name, GENERATORS))
    check_whole("events", events, minimum=0)
    check_whole("seed", seed, minimum=0)
    known = [field.name for field in fields(generator.parameters)]  # type: ignore[arg-type]
    for parameter in parameters:
        if parameter not in known:
            hint = did_you_mean(parameter, known)
            raise InputError(f"generator '{name}' has no parameter '{parameter}'", hint=hint)
    chosen = generator.parameters(**parameters)
    return getattr(chosen, "schema", generator.schema), generator.blocks(chosen, events, seed)


def _regroup(batches: Iterator[pa.RecordBatch], schema: pa.Schema, row_group_events: int) -> Iterator[pa.Table]:
    """Tables of exactly `row_group_events` rows, the last one shorter; holds one table and one batch."""
    held: list[pa.RecordBatch] = []
    n_held = 0
    for batch in batches:
        while n_held + batch.num_rows >= row_group_events:
            n_taken = row_group_events - n_held
            yield pa.Table.from_batches([*held, batch.slice(0, n_taken)], schema)
            batch, held, n_held = batch.slice(n_taken), [], 0
        if batch.num_rows:
            held.append(batch)
            n_held += batch.num_rows
    if held:
        yield pa.Table.from_batches(held, schema)
