"""Intervals to instants in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa

from eventide.engines.lengths import as_type
from eventide.engines.local.sources import open_source, reason
from eventide.errors import InputError
from eventide.plan.instants import Clock, Names, clock_time, instant_columns
from eventide.plan.scope import argument_column


def instants_of_table(
    intervals: Any, names: Names, at: str, clock: Clock | Callable[[], Clock] | None, ts_unit: str | None
) -> pa.Table:
    """The rows of an interval table with one time; columns keep the types in which the user has them."""
    source = open_source(intervals)
    columns = instant_columns(source.schema, names, at)
    try:
        table = source.connection.sql(f"SELECT * FROM {source.sql}").to_arrow_table()
        source.check_unchanged()
    except duckdb.Error as error:
        raise InputError(f"the intervals cannot be read: {reason(error)}") from error
    table = table.rename_columns(source.schema.names)

    def column(name: str) -> pa.ChunkedArray:
        given = source.given_type(name)
        return table.column(name) if given is None else as_type(table.column(name), given)

    def now() -> pa.ChunkedArray:
        start = column(argument_column("start", names[0], source.schema))
        return pa.chunked_array([pa.repeat(clock_time(clock, start.type, ts_unit), table.num_rows)])

    return pa.table({name: now() if taken is None else column(taken) for name, taken in columns})
