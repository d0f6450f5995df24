"""The column that holds the time: its type, or an error with the line that makes a time of what is there."""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow as pa

from eventide.errors import EventideError
from eventide.expressions.types import kind, type_name
from eventide.plan.holder import holder_of
from eventide.runtime.times import TimeType

_UNITS = "give ts_unit = 's', 'ms' or 'us'"
_POSSIBLE = "it must be a timestamp, a date, or an integer with ts_unit"

Fail = Callable[[str, str, str], EventideError]  # option, message, hint

# By what holds the events; {0} is the column as text, {1} as a name in SQL, {2} the file. Nothing in a text says the
# order of day and month, so the first line is for ISO 8601 alone.
_FROM_ISO = {
    "pandas": 'df[{0}] = pd.to_datetime(df[{0}], format="ISO8601")',
    "polars": "df = df.with_columns(pl.col({0}).str.to_datetime())",
    "arrow": 'table = table.set_column(table.schema.get_field_index({0}), {0}, table[{0}].cast(pa.timestamp("us")))',
    "dicts": "events = [{{**event, {0}: datetime.fromisoformat(event[{0}])}} for event in events]",
    "spark": "df = df.withColumn({0}, F.to_timestamp({0}))",
    "duckdb": 'relation = duckdb.sql("""SELECT * REPLACE (CAST({1} AS TIMESTAMP) AS {1}) FROM relation""")',
    "sql": "CAST({1} AS TIMESTAMP)",
}
_FROM_OTHER_TEXT = {
    "pandas": 'df[{0}] = pd.to_datetime(df[{0}], format="%d/%m/%Y %H:%M")',
    "polars": 'df = df.with_columns(pl.col({0}).str.to_datetime("%d/%m/%Y %H:%M"))',
    "arrow": "table = table.set_column(table.schema.get_field_index({0}), {0}, "
    'pc.strptime(table[{0}], format="%d/%m/%Y %H:%M", unit="us"))',
    "dicts": 'events = [{{**event, {0}: datetime.strptime(event[{0}], "%d/%m/%Y %H:%M")}} for event in events]',
    "spark": 'df = df.withColumn({0}, F.to_timestamp({0}, "dd/MM/yyyy HH:mm"))',
    "duckdb": 'relation = duckdb.sql("""SELECT * REPLACE (strptime({1}, \'%d/%m/%Y %H:%M\') AS {1}) FROM relation""")',
    "file": 'duckdb.sql("""SELECT * REPLACE (strptime({1}, \'%d/%m/%Y %H:%M\') AS {1}) FROM {2}""")',
}
_FROM_SECONDS = {
    "pandas": 'df[{0}] = pd.to_datetime(df[{0}], unit="s").dt.round("us")',
    "polars": 'df = df.with_columns((pl.col({0}) * 1_000_000).round().cast(pl.Int64)) with ts_unit="us"',
    "arrow": "table = table.set_column(table.schema.get_field_index({0}), {0}, "
    'pc.round(pc.multiply(table[{0}], 1e6)).cast(pa.int64())) with ts_unit="us"',
    "dicts": 'events = [{{**event, {0}: round(event[{0}] * 1_000_000)}} for event in events] with ts_unit="us"',
    "spark": 'df = df.withColumn({0}, F.col({0}).cast("timestamp"))',
    "file": 'duckdb.sql("""SELECT * REPLACE (make_timestamp(CAST(round({1} * 1000000) AS BIGINT)) AS {1}) FROM {2}""")',
    "duckdb": 'relation = duckdb.sql("""SELECT * REPLACE (make_timestamp(CAST(round({1} * 1000000) AS BIGINT)) AS {1}) '
    'FROM relation""")',
    "sql": "CAST({1} * 1000000 AS BIGINT) with ts_unit='us'",
}
_ORDER = "day and month in your order"
_IN_PLACE = 'pass this in place of the file, or write it to one with .write_parquet("times.parquet")'


def _fail(option: str, message: str, hint: str) -> EventideError:
    return EventideError(message, hint=hint)


def time_type_of(name: str, schema: pa.Schema, ts_unit: str | None, fail: Fail = _fail) -> TimeType:
    """The type of the time column, which `ts_unit` completes where it is an integer.

    >>> from eventide.plan.holder import held_by
    >>> time_type_of("ts", held_by(pa.schema({"ts": pa.string()}), "pandas"), None)
    Traceback (most recent call last):
    ...
    eventide.errors.EventideError: the time column 'ts' is string
    Hint: it must be a timestamp, a date, or an integer with ts_unit: df["ts"] = pd.to_datetime(df["ts"], \
format="ISO8601"); text like 31/01/2026 10:00 needs its format, day and month in your order: df["ts"] = \
pd.to_datetime(df["ts"], format="%d/%m/%Y %H:%M")
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
    if found not in ("string", "float", "double", "decimal"):
        return possible
    holder, detail = holder_of(schema)
    file = "'" + (detail or "").replace("'", "''") + "'"
    written = json.dumps(name, ensure_ascii=False), _in_sql(name, holder), file
    iso, other, seconds = (
        recipes.get(holder, "").format(*written) for recipes in (_FROM_ISO, _FROM_OTHER_TEXT, _FROM_SECONDS)
    )
    if found != "string":
        place = f"{_IN_PLACE}: " if holder == "file" else ""
        return f"{possible}: {place}{seconds}, if the numbers are seconds"
    if holder == "file":
        return f"{possible}: not every value is written like 2026-01-31 10:30:00; {_IN_PLACE}, {_ORDER}: {other}"
    return f"{possible}: {iso}" + (f"; text like 31/01/2026 10:00 needs its format, {_ORDER}: {other}" if other else "")


def _in_sql(name: str, holder: str) -> str:
    """The column in a statement: ours, where quotes make a text, or of DuckDB, where words such as `at` need them."""
    if holder == "sql":
        return name if name.isidentifier() else f"`{name}`"
    return '"' + name.replace('"', '""') + '"'
