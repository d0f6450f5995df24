"""The column that holds the time: its type, or an error with the line that makes a time of what is there.

That line depends on what holds the events, which is noted beside their schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow as pa

from eventide.errors import EventideError, did_you_mean
from eventide.expressions.types import kind, type_name
from eventide.runtime.times import TimeType

_INPUT = b"eventide.input"  # in a schema's metadata
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


def held_by(schema: pa.Schema, holder: str, detail: str | None = None) -> pa.Schema:
    """The schema with a note of what holds the events: pandas, polars, arrow, dicts, duckdb, spark or file.

    `detail` is the path of a file, or the name of the index of a DataFrame of pandas, empty where it has none.
    """
    note = holder if detail is None else f"{holder}:{detail}"
    return schema.with_metadata({**(schema.metadata or {}), _INPUT: note.encode()})


def holder_of(schema: pa.Schema) -> tuple[str, str | None]:
    """What holds the events, and the detail.

    >>> holder_of(held_by(pa.schema({}), "file", "a.csv")), holder_of(pa.schema({}))
    (('file', 'a.csv'), ('sql', None))
    """
    holder, colon, detail = (schema.metadata or {}).get(_INPUT, b"sql").decode().partition(":")
    return holder, detail if colon else None


def column_hint(name: str, schema: pa.Schema) -> str | None:
    """What to try where there is no such column: the one that was meant, or the index that it is.

    >>> column_hint("user", held_by(pa.schema({"ts": pa.int64()}), "pandas", "user"))
    "the index 'user' of the DataFrame is left out: df.reset_index() makes a column of it"
    """
    holder, index = holder_of(schema)
    if holder == "pandas" and index is not None and name.lower() in index.lower().split("\n"):
        return _left_out(name)
    return did_you_mean(name, schema.names)


def guess_time(schema: pa.Schema, hint: str = "pass ts='column'") -> str:
    """The column `ts`, or the only timestamp.

    >>> guess_time(pa.schema({"at": pa.timestamp("us"), "user": pa.string()}))
    'at'
    """
    if "ts" in schema.names:
        return "ts"
    times: list[str] = [field.name for field in schema if pa.types.is_timestamp(field.type)]
    if len(times) == 1:
        return times[0]
    holder, index = holder_of(schema)
    if not times and holder == "pandas" and index is not None:
        hint = _left_out(index.split("\n")[0])
    found = f"it could be {' or '.join(times)}" if times else "the events have no timestamp column"
    raise EventideError(f"which column holds the time? {found}", hint=hint)


def _left_out(index: str) -> str:
    if not index:
        return "the index of the DataFrame is left out: df.reset_index(names='ts') makes a column of it"
    return f"the index '{index}' of the DataFrame is left out: df.reset_index() makes a column of it"


def _fail(option: str, message: str, hint: str) -> EventideError:
    return EventideError(message, hint=hint)


def time_type_of(name: str, schema: pa.Schema, ts_unit: str | None, fail: Fail = _fail) -> TimeType:
    """The type of the time column, which `ts_unit` completes where it is an integer.

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
