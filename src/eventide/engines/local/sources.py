"""Whatever holds the events, as one DuckDB relation: Arrow, pandas, Polars, DuckDB, paths, lists of dicts."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from eventide.errors import InputError

TYPE_COLUMN = "event_type"  # added when each event type comes as an input of its own

_READERS = {".parquet": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv", ".json": "read_json"}
_READERS |= {".jsonl": "read_json", ".ndjson": "read_json"}


@dataclass(slots=True)
class Source:
    """An input on a DuckDB connection: `sql` can stand in FROM."""

    connection: duckdb.DuckDBPyConnection
    sql: str
    schema: pa.Schema
    n_rows: int | None = None  # where it is known without reading


def open_source(events: Any) -> Source:
    """One input.

    >>> open_source([{"ts": 1, "kind": "A"}]).schema.names
    ['ts', 'kind']
    """
    connection = _connect()
    sql, n_rows = _attach(connection, "events", events)
    return Source(connection, sql, _schema(connection, sql), n_rows)


def open_sources(by_type: Mapping[str, Any]) -> Source:
    """One input per event type, as one: columns by name, what an input lacks is NULL, plus the type."""
    connection = _connect()
    parts, total = [], 0
    for i, (name, events) in enumerate(by_type.items()):
        sql, n_rows = _attach(connection, f"events_{i}", events)
        total += n_rows or 0
        literal = "'" + name.replace("'", "''") + "'"
        parts.append(f"SELECT {literal} AS {TYPE_COLUMN}, * FROM {sql}")
    sql = f"({' UNION ALL BY NAME '.join(parts)})"
    return Source(connection, sql, _schema(connection, sql), total or None)


def is_local(events: Any) -> bool:
    """Whether the embedded engine reads such an input (as opposed to a Spark DataFrame)."""
    return not type(events).__module__.startswith("pyspark.")


def _connect() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _schema(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Schema:
    try:
        return connection.sql(f"SELECT * FROM {sql} LIMIT 0").to_arrow_table().schema
    except duckdb.Error as error:
        raise InputError(f"the events cannot be read: {_first_line(error)}") from error


def _attach(connection: duckdb.DuckDBPyConnection, name: str, events: Any) -> tuple[str, int | None]:
    if isinstance(events, str | os.PathLike):
        return _read_path(connection, os.fspath(events))
    table = _to_arrow(events)
    connection.register(name, table)
    return name, getattr(table, "num_rows", None)


def _to_arrow(events: Any) -> pa.Table | pa.RecordBatchReader:
    if isinstance(events, pa.Table | pa.RecordBatchReader):
        return events
    if isinstance(events, pa.RecordBatch):
        return pa.Table.from_batches([events])
    module = type(events).__module__.split(".")[0]
    try:
        if module == "pandas":
            return pa.Table.from_pandas(events, preserve_index=False)
        if module == "polars":
            frame = events.collect() if hasattr(events, "collect") else events
            return frame.to_arrow()
        if module in ("duckdb", "_duckdb"):
            return events.to_arrow_table()
        if isinstance(events, list | tuple):
            return _from_dicts(list(events))
        if hasattr(events, "__arrow_c_stream__"):
            return pa.table(events)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(f"the events do not form a table: {_first_line(error)}") from error
    raise InputError(
        f"cannot read events from {type(events).__name__}",
        hint="pass a Spark or pandas or Polars DataFrame, a pyarrow Table, a path, or a list of dicts",
    )


def _from_dicts(events: list[Any]) -> pa.Table:
    for i, event in enumerate(events):
        if not isinstance(event, Mapping):
            raise InputError(f"event {i} of the list is {type(event).__name__}, not a dict")
    if not events:
        raise InputError("an empty list of events has no columns", hint="pass an empty pyarrow Table with a schema")
    # Every key of any event is a column, in the order of appearance.
    names = dict.fromkeys(name for event in events for name in event)
    columns = {}
    for name in names:
        try:
            columns[name] = pa.array([event.get(name) for event in events])
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputError(f"column '{name}' mixes types: {_first_line(error)}") from error
    return pa.table(columns)


def _read_path(connection: duckdb.DuckDBPyConnection, path: str) -> tuple[str, int | None]:
    files = expand_path(path)
    suffix = Path(files[0].removesuffix(".gz").removesuffix(".zst")).suffix.lower()
    if suffix in (".arrow", ".feather", ".ipc"):
        try:
            table = pa.concat_tables([pa.ipc.open_file(file).read_all() for file in files])
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"cannot read '{path}': {_first_line(error)}") from error
        connection.register("events", table)
        return "events", table.num_rows
    reader = _READERS.get(suffix)
    if reader is None:
        raise InputError(f"cannot tell the format of '{path}'", hint="known: " + ", ".join(sorted(_READERS)))
    names = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    sql = f"{reader}([{names}])"
    try:
        connection.sql(f"SELECT * FROM {sql} LIMIT 0")
        n_rows = None
        if suffix == ".parquet":
            counted = connection.sql(f"SELECT sum(num_rows) FROM parquet_file_metadata([{names}])").fetchall()
            n_rows = int(counted[0][0] or 0)
    except duckdb.Error as error:
        raise InputError(f"cannot read '{path}': {_first_line(error)}") from error
    return sql, n_rows


def expand_path(path: str) -> list[str]:
    """The files behind a file, folder or pattern; hidden and `_` files of a folder are left out.

    >>> expand_path("no/such/file.parquet")
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: there is no file 'no/such/file.parquet'
    """
    if os.path.isdir(path):
        files = sorted(glob.glob(os.path.join(glob.escape(path), "**", "*"), recursive=True))
        files = [f for f in files if os.path.isfile(f) and not os.path.basename(f).startswith(("_", "."))]
        if not files:
            raise InputError(f"the folder '{path}' holds no data files")
        return files
    if os.path.isfile(path):
        return [path]
    files = sorted(glob.glob(path, recursive=True))
    if not files:
        raise InputError(f"there is no file '{path}'")
    return files


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
