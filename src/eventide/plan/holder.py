"""What holds the events, noted beside their schema: messages tell what to do with it."""

from __future__ import annotations

import pyarrow as pa

from eventide.errors import EventideError, InputError, did_you_mean

_INPUT = b"eventide.input"  # in a schema's metadata


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


def find_named(option: str, name: str, schema: pa.Schema, side: str | None = None) -> str:
    """The schema's spelling of a column that an option names; `side` is the one of two inputs that has it."""
    known = {column.lower(): column for column in schema.names}
    if name.lower() not in known:
        where = f" in {side}" if side else ""
        raise InputError(f"{option}: there is no column '{name}'{where}", hint=column_hint(name, schema))
    column: str = known[name.lower()]
    return column


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
