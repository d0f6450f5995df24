"""What users have as small Arrow tables of one partition: filtered where the data is, times as microseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.engines.local.sources import is_local, open_source, plain_frame, reason
from eventide.errors import InputError, did_you_mean
from eventide.runtime.quoting import quoted
from eventide.runtime.times import UNIT_US
from eventide.show.report import show

_N_SHOWN = 5


def find_column(names: Sequence[str], name: str, what: str) -> str:
    """The column as the table spells it; a name in another case will do where only one fits."""
    if name in names:
        return name
    alike = [each for each in names if each.lower() == name.lower()]
    if len(alike) != 1:
        raise InputError(f"{what} have no column '{name}'", hint=did_you_mean(name, names))
    return alike[0]


def has_columns(table: Any, names: Sequence[str]) -> bool:
    """Whether an input has all of the columns."""
    found = {name.lower() for name in column_names(table)}
    return all(name.lower() in found for name in names)


def column_names(table: Any) -> list[str]:
    table = plain_frame(table)
    return list(open_source(table).schema.names) if is_local(table) else list(table.columns)


def rows_of(table: Any, partition: Mapping[str, Any], what: str) -> pa.Table:
    """The rows of one partition, read where they are; of a table that holds no such row, none."""
    table = plain_frame(table)
    names = column_names(table)
    wanted = {find_column(names, name, what): value for name, value in partition.items()}
    return _local_rows(table, wanted, what) if is_local(table) else spark_rows(table, wanted, what).toArrow()


def _local_rows(table: Any, wanted: Mapping[str, Any], what: str) -> pa.Table:
    source = open_source(table)
    tests = " AND ".join(f"{quoted(name)} IS NOT DISTINCT FROM ?" for name in wanted) or "TRUE"
    try:
        text = f"SELECT * FROM {source.sql} WHERE {tests}"
        rows = source.connection.sql(text, params=list(wanted.values())).to_arrow_table()
        source.check_unchanged()
    except duckdb.Error as error:
        asked = f" with {write_partition(wanted)}" if wanted else ""
        raise InputError(f"{what}{asked} cannot be read: {reason(error)}") from error
    return rows.rename_columns(source.schema.names)


def spark_rows(frame: Any, wanted: Mapping[str, Any], what: str) -> Any:
    """A frame of the partition alone, not computed yet."""
    if frame.isStreaming:
        hint = "write the stream to a table, and show that"
        raise InputError(f"{what} are a stream: a timeline shows what is there", hint=hint)
    for name, value in wanted.items():
        frame = frame.filter(frame["`" + name.replace("`", "``") + "`"].eqNullSafe(value))
    return frame


def some_partitions(events: Any, names: Sequence[str]) -> str:
    """A few of the partitions that there are, as a user writes them."""
    events = plain_frame(events)
    if is_local(events):
        source = open_source(events)
        columns = ", ".join(map(quoted, names))
        text = f"SELECT DISTINCT {columns} FROM {source.sql} ORDER BY ALL LIMIT {_N_SHOWN + 1}"
        rows = source.connection.sql(text).fetchall()
    else:
        rows = [tuple(row) for row in events.select(*names).distinct().limit(_N_SHOWN + 1).collect()]
    shown = [repr(dict(zip(names, row, strict=True))) for row in rows[:_N_SHOWN]]
    return ", ".join(shown) + (", ..." if len(rows) > _N_SHOWN else "")


def write_partition(partition: Mapping[str, Any]) -> str:
    """
    >>> write_partition({"car_id": 7, "lane": None})
    'car_id = 7, lane = NULL'
    """
    return ", ".join(f"{name} = {show(value)}" for name, value in partition.items())


@dataclass(frozen=True, slots=True)
class Clock:
    """How times are read: the column of the events, and the unit of integers."""

    ts: str | None = None
    unit: str | None = None

    def column(self, schema: pa.Schema) -> str:
        """The time column of the events: the named one, `ts`, or the only timestamp."""
        if self.ts is not None:
            return find_column(schema.names, self.ts, "the events")
        times = [field.name for field in schema if pa.types.is_timestamp(field.type)]
        if "ts" in schema.names or len(times) != 1:
            return find_column(schema.names, "ts", "the events")
        return str(times[0])

    def read(self, table: pa.Table, name: str) -> pa.ChunkedArray:
        """A column of times as int64 microseconds; NULL stays NULL."""
        column = table.column(name)
        kind = column.type
        if pa.types.is_timestamp(kind):
            return column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
        if pa.types.is_date(kind):
            return pc.multiply(column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64()), 86_400_000_000)
        if not pa.types.is_integer(kind):
            hint = "a timestamp, a date, or an integer with ts_unit="
            raise InputError(f"'{name}' is not a time: it is {kind}", hint=hint)
        if self.unit not in UNIT_US:
            hint = 'pass ts_unit="s", "ms" or "us"'
            raise InputError(f"'{name}' is an integer: nothing says in what unit it counts", hint=hint)
        return pc.multiply(column.cast(pa.int64()), UNIT_US[self.unit])


def known(times: pa.ChunkedArray) -> Any:
    """The times that are there, as an array."""
    return times.drop_null().to_numpy().astype(np.int64, copy=False)


def numbers(column: pa.ChunkedArray, name: str) -> Any:
    """A column as doubles, NULL as NaN."""
    kind = column.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not is_number and not pa.types.is_boolean(kind):
        raise InputError(f"'{name}' is not a number: it is {kind}", hint="values= takes columns of numbers")
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    return pc.fill_null(column.cast(pa.float64()), float("nan")).to_numpy()
