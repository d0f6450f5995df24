"""Table functions of windows as plain SQL: each event once for each of its windows.

Times become whole numbers first: microseconds, days of a column of dates, or whatever an integer counts. The windows of
a number are a series of starts, or of ends where windows grow. A session begins at an event that comes a gap or more
after the one before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from eventide.errors import QueryError
from eventide.lang.rows.tree import WindowFunction
from eventide.lang.tree import Span
from eventide.plan.time_column import column_hint, time_type_of
from eventide.plan.windows import broken_units
from eventide.runtime.quoting import quoted
from eventide.runtime.times import UNIT_US, TimeType

WINDOW_COLUMNS = ("window_start", "window_end", "window_time")
_MOST_WINDOWS = 1_000_000  # of one event, as rows
_DAY_US = 86_400_000_000
# Columns beside those of the events, whose names no event has.
_AT, _BORDER, _BEFORE, _RUN = "\ue010", "\ue011", "\ue012", "\ue013"


class DuckDB:
    """How DuckDB writes what the engines write differently."""

    without = "EXCLUDE"

    def name(self, column: str) -> str:
        return quoted(column)

    def number(self, column: str, time_type: TimeType) -> str:
        if time_type.unit is not None:
            return f"CAST({column} AS BIGINT)"
        if pa.types.is_date(time_type.arrow):
            return f"(CAST({column} AS DATE) - DATE '1970-01-01')"
        return f"epoch_us({column})" if time_type.arrow.tz else f"epoch_us(CAST({column} AS TIMESTAMP))"

    def time(self, number: str, time_type: TimeType, *, in_unit: bool = True) -> str:
        """The time of a number; without `in_unit` a timestamp may have microseconds that its column has not."""
        if time_type.unit is not None:
            return f"CAST({number} AS {_INTEGERS[str(time_type.arrow)]})"
        if pa.types.is_date(time_type.arrow):
            return f"(DATE '1970-01-01' + CAST({number} AS INTEGER))"
        if time_type.arrow.tz:
            return f"make_timestamptz({number})"
        made = f"make_timestamp({number})"
        kind = _TIMESTAMPS.get(time_type.arrow.unit) if in_unit else None
        return made if kind is None else f"CAST({made} AS {kind})"

    def modulo(self, number: str, divisor: int) -> str:
        return f"((({number}) % {divisor} + {divisor}) % {divisor})"

    def series(self, first: str, last: str, step: int) -> str:
        return f"unnest(range({first}, {last} + 1, {step}))"

    def fail(self, message: str) -> str:
        return f"CAST(error({_text(message)}) AS BIGINT)"


class Spark:
    """How Spark does."""

    without = "EXCEPT"

    def name(self, column: str) -> str:
        return "`" + column.replace("`", "``") + "`"

    def number(self, column: str, time_type: TimeType) -> str:
        if time_type.unit is not None:
            return f"CAST({column} AS BIGINT)"
        if pa.types.is_date(time_type.arrow):
            return f"CAST(unix_date({column}) AS BIGINT)"
        if time_type.arrow.tz:
            return f"unix_micros({column})"
        # Whatever the zone of the session is.
        since_epoch = f"CAST({column} - TIMESTAMP_NTZ '1970-01-01' AS INTERVAL SECOND)"
        return f"CAST(CAST({since_epoch} AS DECIMAL(20, 6)) * 1000000 AS BIGINT)"

    def time(self, number: str, time_type: TimeType, *, in_unit: bool = True) -> str:
        if time_type.unit is not None:
            return f"CAST({number} AS {_INTEGERS[str(time_type.arrow)]})"
        if pa.types.is_date(time_type.arrow):
            return f"date_from_unix_date(CAST({number} AS INT))"
        if time_type.arrow.tz:
            return f"timestamp_micros({number})"
        return f"(TIMESTAMP_NTZ '1970-01-01' + make_dt_interval(0, 0, 0, CAST({number} AS DECIMAL(20, 0)) / 1000000))"

    def modulo(self, number: str, divisor: int) -> str:
        return f"pmod({number}, {divisor}L)"

    def series(self, first: str, last: str, step: int) -> str:
        # A sequence would run backwards where there is no window.
        none = "CAST(array() AS ARRAY<BIGINT>)"
        return f"explode(CASE WHEN {first} <= {last} THEN sequence({first}, {last}, {step}L) ELSE {none} END)"

    def fail(self, message: str) -> str:
        return f"CAST(raise_error({_text(message)}) AS BIGINT)"


Dialect = DuckDB | Spark
_INTEGERS = {
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "uint8": "UTINYINT",
    "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
}  # fmt: skip
_TIMESTAMPS = {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "ns": "TIMESTAMP_NS"}


def no_time(column: str) -> str:
    """What the engines say about an event without a time."""
    return f"an event has no time: '{column}' is NULL"


def _text(message: str) -> str:
    return "'" + message.replace("\\", " ").replace("'", "''") + "'"


def check_function(function: WindowFunction, schema: pa.Schema, ts_unit: str | None, text: str) -> TimeType:
    """The type of the time that a function reads; QueryError where the events do not fit it."""
    by_name = {name.lower(): name for name in schema.names}
    for column in (function.column, *function.partition_by):
        if column.text.lower() not in by_name:
            hint = column_hint(column.text, schema)
            raise QueryError(f"unknown column '{column.text}'", text, column.span.start, column.span.end, hint=hint)
    for name in WINDOW_COLUMNS:
        if name in by_name:
            message = f"{function.name} adds a column '{name}', which the table has already"
            span, hint = function.relation_span, f"rename it before: (SELECT {name} AS before, ... FROM ...)"
            raise QueryError(message, text, span.start, span.end, hint=hint)
    place = function.column.span

    def fail(option: str, message: str, hint: str) -> QueryError:
        return QueryError(message, text, place.start, place.end, hint=hint)

    time_type = time_type_of(by_name[function.column.text.lower()], schema, ts_unit, fail)
    windowing = function.windowing
    step = (windowing.slide or windowing.length).amount
    complaint = broken_units(time_type, function.column.text, (windowing.length.amount, step, function.offset))
    if complaint is not None:
        raise QueryError(complaint[0], text, windowing.span.start, windowing.span.end, hint=complaint[1])
    return time_type


def check_number(function: WindowFunction, text: str) -> None:
    """Refuse windows that are too many to be rows."""
    windowing = function.windowing
    n_windows = windowing.length.amount // (windowing.slide or windowing.length).amount
    if n_windows > _MOST_WINDOWS:
        span: Span = windowing.span
        message = f"each event is in {n_windows:,} windows, and this statement needs a row for each of them"
        hint = f"at most {_MOST_WINDOWS:,} are possible: a longer slide, or GROUP BY window_start, window_end"
        raise QueryError(message, text, span.start, span.end, hint=hint)


def expanded(
    function: WindowFunction, relation: str, schema: pa.Schema, time_type: TimeType, dialect: Dialect, *, drop: bool
) -> str:
    """A query that returns the columns of the events and of their windows; `drop` leaves out events without a time."""
    by_name = {name.lower(): name for name in schema.names}
    column = dialect.name(by_name[function.column.text.lower()])
    number = dialect.number(column, time_type)
    if not drop:
        number = f"CASE WHEN {column} IS NULL THEN {dialect.fail(no_time(function.column.text))} ELSE {number} END"
    behind = f" WHERE {column} IS NOT NULL" if drop else ""
    timed = f"SELECT *, {number} AS {dialect.name(_AT)} FROM {relation}{behind}"
    if function.windowing.kind == "session":
        keys = [dialect.name(by_name[name.text.lower()]) for name in function.partition_by]
        rows, start, end = _sessions(function, timed, keys, time_type, dialect)
        added = [_AT, _BEFORE, _RUN]
    else:
        first, last, step, start, end = _series(function, time_type, dialect)
        rows = f"SELECT *, {dialect.series(first, last, step)} AS {dialect.name(_BORDER)} FROM ({timed})"
        added = [_AT, _BORDER]
    bounds = (
        dialect.time(start, time_type),
        dialect.time(end, time_type),
        dialect.time(f"{end} - 1", time_type, in_unit=False),
    )
    shown = ", ".join(f"{value} AS {name}" for value, name in zip(bounds, WINDOW_COLUMNS, strict=True))
    inside = ", ".join(map(dialect.name, added))
    return f"SELECT * {dialect.without} ({inside}), {shown} FROM ({rows})"


def _unit_us(time_type: TimeType) -> int:
    """How many microseconds a number of a time stands for."""
    if time_type.unit is not None:
        return UNIT_US[time_type.unit]
    return _DAY_US if pa.types.is_date(time_type.arrow) else 1


def _series(function: WindowFunction, time_type: TimeType, dialect: Dialect) -> tuple[str, str, int, str, str]:
    """The first and the last border of an event's windows, the step between them; start and end of each window.

    A border is where a window begins, and where it ends if windows grow.
    """
    unit, windowing = _unit_us(time_type), function.windowing
    size = windowing.length.amount // unit
    step = (windowing.slide or windowing.length).amount // unit
    offset, at, border = function.offset // unit, dialect.name(_AT), dialect.name(_BORDER)
    if windowing.kind == "growing":
        base = _floor(at, size, offset, dialect)
        last = f"{base} + {size}"
        first = f"{_floor(at, step, offset, dialect)} + {step}"
        return first, last, step, _floor(f"{border} - 1", size, offset, dialect), border
    first = f"{_floor(f'{at} - {size}', step, offset, dialect)} + {step}"
    return first, _floor(at, step, offset, dialect), step, border, f"{border} + {size}"


def _floor(number: str, step: int, offset: int, dialect: Dialect) -> str:
    """The greatest `offset + k * step` that is not above a number."""
    above = dialect.modulo(f"{number} - {offset % step}", step)
    return f"({number} - {above})"


def _sessions(
    function: WindowFunction, timed: str, keys: Sequence[str], time_type: TimeType, dialect: Dialect
) -> tuple[str, str, str]:
    """The events with the number of their session in its partition; start and end of it."""
    gap = function.windowing.length.amount // _unit_us(time_type)
    at, before, run = map(dialect.name, (_AT, _BEFORE, _RUN))
    by = f"PARTITION BY {', '.join(keys)} " if keys else ""
    following = f"SELECT *, lag({at}) OVER ({by}ORDER BY {at}) AS {before} FROM ({timed})"
    begins = f"CASE WHEN {before} IS NULL OR {at} - {before} >= {gap} THEN 1 ELSE 0 END"
    # Tied events have one number, in whatever order the engine takes them.
    frame = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    rows = f"SELECT *, sum({begins}) OVER ({by}ORDER BY {at} {frame}) AS {run} FROM ({following})"
    session = f"OVER (PARTITION BY {', '.join([*keys, run])})"
    return rows, f"min({at}) {session}", f"(max({at}) {session} + {gap})"
