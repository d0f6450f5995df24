"""What a query is about before any of its expressions: columns in any case, the time, partitions, the sequence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from eventide.errors import EventideError, InputError
from eventide.expressions.types import type_name
from eventide.lang.tree import EventQuery
from eventide.plan.options import Options
from eventide.plan.places import error_at, option_error
from eventide.plan.time_column import column_hint, guess_time, time_type_of
from eventide.runtime.times import TimeType

Fail = Callable[[str, str | None], EventideError]  # message and hint to an error that knows its place

NO_TIME = TimeType(pa.int64(), "us")
_TAKE_A_PLAIN_COLUMN = "take a plain column"


@dataclass(frozen=True, slots=True)
class Scope:
    """The options of a query, the schema of its events, and the columns that the two decide on."""

    options: Options
    schema: pa.Schema
    ts: str  # empty where rows have an order without a time
    time_type: TimeType
    sequence: str | None
    partition: tuple[str, ...]

    def type_of_column(self, name: str) -> pa.DataType:
        """The type of a column's values: how strings are encoded does not matter."""
        dtype = self.schema.field(name).type
        return dtype.value_type if pa.types.is_dictionary(dtype) else dtype

    def partition_fields(self) -> list[pa.Field]:
        """The partition columns as an operator returns them."""
        return [pa.field(f"p{i}", self.schema.field(name).type) for i, name in enumerate(self.partition)]

    def in_order(self, names: set[str]) -> tuple[str, ...]:
        """Some columns in the schema's order."""
        return tuple(name for name in self.schema.names if name in names)


def is_orderable(kind: pa.DataType) -> bool:
    """Whether values of the type can be compared and hashed on every engine."""
    return not (pa.types.is_nested(kind) or pa.types.is_interval(kind))


def find_column(name: str, schema: pa.Schema, fail: Fail, missing: str = "unknown column '{}'") -> str:
    """The schema's name for a column, in any case as in Spark."""
    found: list[str] = [known for known in schema.names if known.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    if found:
        hint = "rename one of them: the case of letters does not tell columns apart, as in Spark"
        raise fail(f"column '{name}' is ambiguous: the events have {' and '.join(found)}", hint)
    raise fail(missing.format(name), column_hint(name, schema))


def orderable_column(name: str, schema: pa.Schema, fail: Fail, refusal: str, hint: str) -> str:
    """The same for a column whose values must have an order; `refusal` says what is wrong with {0}, which is {1}."""
    column = find_column(name, schema, fail)
    kind = schema.field(column).type
    if not is_orderable(kind):
        raise fail(refusal.format(column, type_name(kind)), hint)
    return column


def argument_column(argument: str, name: str, schema: pa.Schema, side: str = "", *, ordered: bool = False) -> str:
    """The column that an argument of a call names; `side` says of which table.

    >>> argument_column("ts", "TIME", pa.schema({"time": pa.int64()}))
    'time'
    >>> argument_column("ts", "tim", pa.schema({"time": pa.int64()}), "left")
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: ts: there is no column 'tim' in left
    Hint: did you mean 'time'?
    """
    where, of = (f" in {side}", f" of {side}") if side else ("", "")
    fail = lambda message, hint: InputError(f"{argument}: {message}", hint=hint)  # noqa: E731
    column = find_column(name, schema, fail, f"there is no column '{{}}'{where}")
    kind = schema.field(column).type
    if ordered and not is_orderable(kind):
        raise InputError(f"{argument} cannot take '{column}'{of}: it is {type_name(kind)}", hint=_TAKE_A_PLAIN_COLUMN)
    return column


def scope_of_arguments(schema: pa.Schema, options: Options, *, needs_time: bool = True) -> Scope:
    """The scope of a query that is built by a call; if no time is needed, a sequence alone can order the events."""
    partition = [argument_column("partition_by", name, schema, ordered=True) for name in options.partition_by]
    ts, time_type = options.ts, NO_TIME
    if ts is not None or needs_time or options.sequence is None:
        more = "" if needs_time else ", or sequence='column' for an order without times"
        ts = argument_column("ts", ts or guess_time(schema, f"pass ts='column'{more}"), schema)
        time_type = time_type_of(ts, schema, options.ts_unit)
    sequence = options.sequence and argument_column("sequence", options.sequence, schema, ordered=True)
    return Scope(options, schema, ts or "", time_type, sequence, tuple(dict.fromkeys(partition)))


def option_column(option: str, query: EventQuery, options: Options, schema: pa.Schema) -> str | None:
    """The column that an option of a query names."""
    name = getattr(options, option)
    if name is None:
        return None
    return find_column(name, schema, lambda message, hint: option_error(query, option, f"{option}: {message}", hint))


def scope_of_query(query: EventQuery, options: Options, schema: pa.Schema) -> Scope:
    """The scope of a query text: PARTITION BY, GROUP BY and equality predicates partition, each column once."""
    ts = option_column("ts", query, options, schema) or guess_time(schema)
    time_type = time_type_of(ts, schema, options.ts_unit, partial(option_error, query))
    given: list[tuple[str, Fail]] = []
    if not query.partition_by:
        given += [(name, partial(option_error, query, "partition_by")) for name in options.partition_by]
    given += [
        (name.text, partial(error_at, query, name.span)) for name in (*query.partition_by, *query.group_by, *query.same)
    ]
    refusal = "cannot partition by '{}': it is {}"
    hint = "partition by a plain column; a part of it can be one, computed before the query"
    partition = dict.fromkeys(orderable_column(name, schema, fail, refusal, hint) for name, fail in given)
    sequence = option_column("sequence", query, options, schema)
    if sequence is not None:
        fail = partial(option_error, query, "sequence")
        refusal, hint = "sequence: '{}' is {}, which has no order", "it must be a number, a string or a time"
        orderable_column(sequence, schema, fail, refusal, hint)
    return Scope(options, schema, ts, time_type, sequence, tuple(partition))
