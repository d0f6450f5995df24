"""The column that holds the time: its type, or an error with the line that makes a time of what is there."""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow as pa

from eventide.errors import EventideError
from eventide.operators.times import TimeType
from eventide.plan.expressions.types import kind, type_name

_INPUT = b"eventide.input"  # in a schema's metadata: what holds the events
_UNITS = "give ts_unit = 's', 'ms' or 'us'"
_POSSIBLE = "it must be a timestamp, a date, or an integer with ts_unit"

Fail = Callable[[str, str, str], EventideError]  # option, message, hint

# By what holds the events; {0} is the column as text, {1} as a name in SQL.
_FROM_TEXT = {
    "pandas": "df[{0}] = pd.to_datetime(df[{0}])",
    "polars": "df.with_columns(pl.col({0}).str.to_datetime())",
    "arrow": 'table.set_column(table.schema.get_field_index({0}), {0}, table[{0}].cast(pa.timestamp("us")))',
    "dicts": "datetime.fromisoformat(event[{0}]) for each event",
    "spark": "df.withColumn({0}, F.to_timestamp({0}))",
    "file": "not every value is written like 2024-01-31 10:30:00; with other forms pass "
    "duckdb.sql(\"SELECT * REPLACE (strptime({1}, '%d/%m/%Y %H:%M') AS {1}) FROM 'file'\") in place of the file",
    "duckdb": "SELECT * REPLACE (CAST({1} AS TIMESTAMP) AS {1}) FROM ...",
    "sql": "CAST({1} AS TIMESTAMP)",
}
_FROM_SECONDS = {
    "pandas": 'df[{0}] = pd.to_datetime(df[{0}], unit="s").dt.round("us")',
    "polars": 'df.with_columns((pl.col({0}) * 1_000_000).round().cast(pl.Int64)) with ts_unit="us"',
    "arrow": 'pc.round(pc.multiply(table[{0}], 1e6)).cast(pa.int64()) as the column, with ts_unit="us"',
    "dicts": 'round(event[{0}] * 1_000_000) for each event, with ts_unit="us"',
    "spark": 'df.withColumn({0}, F.col({0}).cast("timestamp"))',
    "file": 'duckdb.sql("SELECT * REPLACE (make_timestamp(CAST(round({1} * 1000000) AS BIGINT)) AS {1}) '
    "FROM 'file'\") in place of the file",
    "duckdb": "SELECT * REPLACE (make_timestamp(CAST(round({1} * 1000000) AS BIGINT)) AS {1}) FROM ...",
    "sql": "CAST({1} * 1000000 AS BIGINT) with ts_unit='us'",
}


def held_by(schema: pa.Schema, holder: str) -> pa.Schema:
    """The schema with a note of what holds the events: pandas, polars, arrow, dicts, duckdb, spark or file."""
    return schema.with_metadata({**(schema.metadata or {}), _INPUT: holder.encode()})


def _fail(option: str, message: str, hint: str) -> EventideError:
    return EventideError(message, hint=hint)


def time_type_of(name: str, schema: pa.Schema, ts_unit: str | None, fail: Fail = _fail) -> TimeType:
    """The type of the time column, which `ts_unit` completes where it is an integer.

    >>> time_type_of("ts", held_by(pa.schema({"ts": pa.string()}), "pandas"), None)
    Traceback (most recent call last):
    ...
    eventide.errors.EventideError: the time column 'ts' is string
    Hint: it must be a timestamp, a date, or an integer with ts_unit: df["ts"] = pd.to_datetime(df["ts"])
    """
    dtype = schema.field(name).type
    if pa.types.is_null(dtype):
        # No event has a time, so any type will do.
        return TimeType(pa.timestamp("us")) if ts_unit is None else TimeType(pa.int64(), ts_unit)
    if pa.types.is_integer(dtype):
        if ts_unit is None:
            raise fail("ts", f"the time column '{name}' holds integers, and nothing says their unit", _UNITS)
        return TimeType(dtype, ts_unit)
    if not (pa.types.is_timestamp(dtype) or pa.types.is_date(dtype)):
        raise fail("ts", f"the time column '{name}' is {type_name(dtype)}", time_hint(name, schema))
    if ts_unit is not None:
        message = f"ts_unit is for integers; the time column '{name}' is {type_name(dtype)}"
        raise fail("ts_unit", message, "leave it out")
    return TimeType(dtype)


def time_hint(name: str, schema: pa.Schema, possible: str = _POSSIBLE) -> str:
    """What a time column may be, and the line that makes one of this column, for what holds the events."""
    found = kind(schema.field(name).type)
    recipes = {"string": _FROM_TEXT, "float": _FROM_SECONDS, "double": _FROM_SECONDS, "decimal": _FROM_SECONDS}
    if found not in recipes:
        return possible
    holder = (schema.metadata or {}).get(_INPUT, b"sql").decode()
    of_sql = name if name.isidentifier() else f'"{name}"'
    recipe = recipes[found][holder].format(json.dumps(name, ensure_ascii=False), of_sql)
    counted = "" if found == "string" else ", if the numbers are seconds"
    return f"{possible}: {recipe}{counted}"
