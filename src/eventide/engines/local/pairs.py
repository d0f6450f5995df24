"""Several tables in this process, as one input: the rows of one after those of another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from eventide.engines.database import connect
from eventide.engines.local.sources import Source, attach
from eventide.plan.physical import Input, Physical

Plan = Callable[..., Physical]  # of the schemas


def open_inputs(tables: Mapping[str, Any], plan: Plan) -> tuple[Source, Physical]:
    """All tables as the plan's input, and the plan."""
    connection = connect()
    sources = {name: attach(connection, f"{name}_rows", table).source(connection) for name, table in tables.items()}
    made = plan(*(source.schema for source in sources.values()))
    counts = [source.n_rows for source in sources.values()]
    shown = [(name, sources[given.name], column) for given in made.inputs for name, column in given.shown]
    source = Source(
        connection,
        f"({' UNION ALL '.join(_select(given, sources[given.name]) for given in made.inputs)})",
        pa.schema([(name, of.schema.field(column).type) for name, of, column in shown]),
        sum(n or 0 for n in counts) if None not in counts else None,
        pa.schema([(name, of.given_type(column) or of.schema.field(column).type) for name, of, column in shown]),
        once=any(source.once for source in sources.values()),
        versions=tuple(version for source in sources.values() for version in source.versions),
    )
    return source, made


def _select(given: Input, source: Source) -> str:
    return f"SELECT {', '.join(f'{column.duckdb} AS {column.name}' for column in given.select)} FROM {source.sql}"
