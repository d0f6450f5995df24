"""What rules found, as rows that are alike for all of them: the columns of a match become JSON, and typed again.

Columns: rule, detected_at, match_id, row (JSON text), problem (text, NULL for a match).
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from eventide.engines.computed import add_computed
from eventide.engines.local.run import project_rows
from eventide.engines.rules import DETECTED_AT, MATCH_ID, Rule, Shared
from eventide.errors import EventideError

RULE, ROW, PROBLEM = "rule", "row", "problem"


def found_schema(shared: Shared) -> pa.Schema:
    """The schema of all rules' rows."""
    return pa.schema(
        [
            (RULE, pa.string()),
            (DETECTED_AT, shared.schema.field(shared.ts).type),
            (MATCH_ID, pa.string()),
            (ROW, pa.string()),
            (PROBLEM, pa.string()),
        ]
    )


def found_rows(name: str, rule: Rule, matches: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows of what a rule's operator found."""
    return to_found(
        name, rule, project_rows(rule.source, rule.physical, add_computed(matches, rule.physical.computed)), schema
    )


def to_found(name: str, rule: Rule, rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same of rows that have the user's columns already."""
    n = rows.num_rows
    times = rows.column(DETECTED_AT) if rule.has_time else pa.nulls(n)
    ids = rows.column(MATCH_ID) if rule.has_id else pa.nulls(n)
    # By place: two columns may show the same one.
    names = [shown for _, shown in rule.columns]
    columns = [plain_values(rows.column(column)) for column, _ in rule.columns]
    texts = [
        json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False) for values in zip(*columns, strict=True)
    ]
    arrays = [pa.array([name] * n, pa.string()), times, ids, pa.array(texts or ["{}"] * n, pa.string()), pa.nulls(n)]
    return pa.RecordBatch.from_arrays(
        [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
    )


def problem_row(name: str, problem: str, schema: pa.Schema) -> pa.RecordBatch:
    """The row that says what is wrong with a rule."""
    return pa.RecordBatch.from_pylist([{RULE: name, PROBLEM: problem}], schema=schema)


def problem_of(error: Exception) -> str:
    """What a user reads about a failure; what is not our own message is named by its kind."""
    if isinstance(error, MemoryError):
        return "the rule needs more memory than there is"
    return str(error) if isinstance(error, EventideError) else f"{type(error).__name__}: {error}"


def plain_values(column: pa.Array) -> list[Any]:
    """Values that JSON can hold: times in ISO 8601, decimals as text, bytes in base 64.

    >>> plain_values(pa.array([1_700_000_000_000_000], pa.int64()).cast(pa.timestamp("us", "UTC")))
    ['2023-11-14T22:13:20.000000Z']
    >>> plain_values(pa.array([Decimal("1.50"), None])), plain_values(pa.array([0.5, float("nan")]))
    (['1.50', None], [0.5, 'NaN'])
    """
    if pa.types.is_timestamp(column.type):
        # As text, since Python's times end with the year 9999.
        texts = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.string()).to_pylist()
        return [None if text is None else text.replace(" ", "T") for text in texts]
    if pa.types.is_duration(column.type):
        return column.cast(pa.duration("us")).cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]
    return [_plain(value) for value in column.to_pylist(maps_as_pydicts="lossy")]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(_plain(name)): _plain(item) for name, item in value.items()}
    return str(value)


def typed_rows(found: pa.Table, name: str, rule: Rule) -> pa.Table:
    """The rows of one rule with the types of its columns."""
    taken = [i for i, values in enumerate(zip(found[RULE].to_pylist(), found[PROBLEM].to_pylist(), strict=True))
             if values == (name, None)]  # fmt: skip
    mine = found.take(pa.array(taken, pa.int64()))
    rows = [json.loads(text) for text in mine[ROW].to_pylist()]
    arrays = {field.name: _typed((row[field.name] for row in rows), field.type) for field in readable(rule.fields)}
    more = {column: mine[column] for column, has in ((DETECTED_AT, rule.has_time), (MATCH_ID, rule.has_id)) if has}
    return pa.table(arrays | {column: values for column, values in more.items() if column not in arrays})


def readable(fields: Sequence[pa.Field]) -> list[pa.Field]:
    """The fields of a row as JSON keeps them: a length of time is a number of microseconds."""
    return [pa.field(field.name, pa.int64()) if pa.types.is_duration(field.type) else field for field in fields]


def _typed(values: Iterable[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([_value(value, kind) for value in values], kind)


def _value(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return dt.datetime.fromisoformat(value) if pa.types.is_timestamp(kind) else dt.date.fromisoformat(value)
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_binary(kind):
        return base64.b64decode(value)
    if pa.types.is_list(kind):
        return [_value(item, kind.value_type) for item in value]
    if pa.types.is_map(kind):
        return [(_value(name, kind.key_type), _value(item, kind.item_type)) for name, item in value.items()]
    if pa.types.is_struct(kind):
        return {field.name: _value(value[field.name], field.type) for field in kind}
    return value
