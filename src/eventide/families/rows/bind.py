"""MATCH_RECOGNIZE over a schema: which columns partition and order the rows, and which of them is the time."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from eventide.errors import QueryError
from eventide.expressions.types import type_name
from eventide.lang.rows import parse_clause
from eventide.lang.rows.tree import RowQuery, Rows
from eventide.lang.tree import Name, Span
from eventide.plan.logical import Key, Recognize, Scan
from eventide.plan.options import Options
from eventide.plan.scope import NO_TIME, Fail, find_column, orderable_column
from eventide.plan.time_column import time_hint, time_type_of
from eventide.runtime.times import TimeType


def bind_rows(query: RowQuery, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Recognize:
    """The logical plan of a clause."""
    query = _with_column(query, options)
    partition = tuple(dict.fromkeys(_orderable(name, "PARTITION BY", query, schema) for name in query.partition_by))
    keys = []
    for item in query.order_by:
        column = _orderable(item.column, "ORDER BY", query, schema)
        first = item.nulls_first if item.nulls_first is not None else not item.descending
        keys.append(Key(column, item.descending, first))
    ts, time_type = bind_time(query, options, schema, on_stream=on_stream)
    return Recognize(
        Scan(options, schema, ts, time_type, None, partition, tuple(keys), on_stream),
        query,
        tuple((each.label.text, each.condition.text) for each in query.define),
        tuple((each.alias.text, each.value.text) for each in query.measures),
        query.within.amount if query.within is not None else None,
    )


def stream_refusal(query: RowQuery, options: Options, schema: pa.Schema) -> str | None:
    """Why a stream could not order its rows."""
    try:
        bind_time(query, options, schema, on_stream=True)
    except QueryError as error:
        return f"{error.message.removeprefix('a stream: ')}; {error.hint}"
    return None


def bind_time(query: RowQuery, options: Options, schema: pa.Schema, *, on_stream: bool) -> tuple[str, TimeType]:
    """The time, which is the first ORDER BY column, where something asks for it."""
    within = query.within
    if within is not None and within.in_events:
        hint = "bound the number of rows in PATTERN, B{1,100}, or in DEFINE, count(*) <= 100"
        raise _error(query, within.span, "WITHIN of MATCH_RECOGNIZE is a length of time", hint)
    if within is not None:
        what, place = "WITHIN", within.span
    elif options.state_ttl is not None:
        what, place = "state_ttl", query.pattern.span
    elif on_stream:
        what, place = "a stream", query.pattern.span
    else:
        return "", NO_TIME
    if not query.order_by or query.order_by[0].descending:
        raise _error(query, place, f"{what} needs ORDER BY a time, ascending", "write ORDER BY ts")
    name = query.order_by[0].column
    column = find_column(name.text, schema, _fail(query, name))
    dtype = schema.field(column).type
    is_integer = pa.types.is_integer(dtype)
    unit = options.ts_unit if is_integer else None
    if is_integer and unit is None:
        message = f"{what}: '{column}' holds integers, and nothing says their unit"
        raise _error(query, name.span, message, "give ts_unit='s', 'ms' or 'us'")
    if not (is_integer or pa.types.is_timestamp(dtype) or pa.types.is_date(dtype) or pa.types.is_null(dtype)):
        message = f"{what} measures '{column}', the first column of ORDER BY, which is {type_name(dtype)}"
        possible = "order by a timestamp, a date, or an integer with ts_unit"
        raise _error(query, name.span, message, time_hint(column, schema, possible))
    return column, time_type_of(column, schema, unit)


def _error(query: RowQuery, span: Span, message: str, hint: str | None = None) -> QueryError:
    return QueryError(message, query.text, span.start, span.end, hint=hint)


def _fail(query: RowQuery, name: Name) -> Fail:
    return lambda message, hint: _error(query, name.span, message, hint)


def _orderable(name: Name, clause: str, query: RowQuery, schema: pa.Schema) -> str:
    hint = "compute a column with an order before MATCH_RECOGNIZE: a field, payload.ts, or an item, tags[0]"
    refusal = f"{clause} cannot take '{{}}': it is {{}}"
    return orderable_column(name.text, schema, _fail(query, name), refusal, hint)


def _with_column(query: RowQuery, options: Options) -> RowQuery:
    """The clause with a column: where it names none, each match still is a row, and can be counted."""
    if query.measures or query.partition_by or query.rows is not Rows.ONE or options.match_id:
        return query
    return replace(query, measures=parse_clause("MEASURES MATCH_NUMBER() AS match_number PATTERN (A)").measures)
