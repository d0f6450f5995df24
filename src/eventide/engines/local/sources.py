"""Whatever holds the events, as one DuckDB relation: Arrow, pandas, Polars, DuckDB, paths, lists of dicts."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from eventide.engines.database import connect
from eventide.engines.file_types import common_schema, parquet_groups, read_arrow, readable
from eventide.engines.file_versions import Version, check_versions, versions_of
from eventide.engines.folder_columns import FILE
from eventide.engines.lengths import with_lengths
from eventide.engines.local.parquet_files import read_alike, read_together
from eventide.engines.local.tables import open_table
from eventide.engines.local.text_files import TextInput, csv_files, json_files
from eventide.engines.names import Named, look_up
from eventide.engines.together import TYPE_COLUMN, check_together
from eventide.errors import InputError
from eventide.expressions.types import canonical
from eventide.plan.time_column import held_by
from eventide.runtime.quoting import literal, quoted

PARQUET = (".parquet",)
CSV = (".csv", ".tsv")
JSON = (".json", ".jsonl", ".ndjson")
ARROW = (".arrow", ".feather", ".ipc")
_FORMATS = (*PARQUET, *CSV, *JSON, *ARROW)


@dataclass(slots=True)
class Source:
    """An input on a DuckDB connection: `sql` can stand in FROM."""

    connection: duckdb.DuckDBPyConnection
    sql: str
    schema: pa.Schema
    n_rows: int | None = None  # where it is known without reading
    given: pa.Schema | None = None  # as the user has it, where DuckDB's types differ
    once: bool = False  # a reader: what is read is gone
    files: tuple[str, ...] = ()  # Parquet files that all have the given schema
    versions: tuple[Version, ...] = ()  # of all files that are read

    def check_unchanged(self) -> None:
        """Refuse what was read when a file has changed since the input was opened."""
        check_versions(self.versions)

    def hold(self) -> None:
        """Keep the events of a reader, so that they can be read again."""
        if self.once:
            self.connection.register("held", self.connection.sql(f"SELECT * FROM {self.sql}").to_arrow_table())
            self.sql, self.once = "held", False

    def files_for(self, names: Sequence[str]) -> tuple[str, ...]:
        """The files, where PyArrow reads these columns as DuckDB does."""
        given = self.given
        if given is None or self.schema.names != given.names:
            return ()
        alike = (self.schema.field(name).type == _value_type(given.field(name).type) for name in names)
        is_clear = len({name.lower() for name in given.names}) == len(given.names)
        return self.files if is_clear and all(alike) else ()

    def given_type(self, name: str) -> pa.DataType | None:
        """The type in which the user has a column, where that says the same in another form."""
        if self.given is None or self.given.get_field_index(name) < 0:
            return None
        kind, given = self.schema.field(name).type, self.given.field(name).type
        return given if kind != given and _is_same_kind(kind, given) else None


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_same_kind(kind: pa.DataType, given: pa.DataType) -> bool:
    nested = kind.num_fields == given.num_fields and kind.id == given.id
    if pa.types.is_nested(kind):
        parts = zip(_fields(kind), _fields(given), strict=True) if nested else ()
        return nested and all(a.type == b.type or _is_same_kind(a.type, b.type) for a, b in parts)
    return bool(canonical(kind) == canonical(given)) or (pa.types.is_binary(kind) and _is_bytes(given))


def _fields(kind: pa.DataType) -> list[pa.Field]:
    return [kind.field(i) for i in range(kind.num_fields)]


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind))


def open_source(events: Any) -> Source:
    """One input.

    >>> open_source([{"ts": 1, "kind": "A"}]).schema.names
    ['ts', 'kind']
    """
    connection = connect()
    return attach(connection, "events", events).source(connection)


def _holder(events: Any) -> tuple[str, str | None]:
    """What holds the events, for messages."""
    if isinstance(events, str | os.PathLike):
        return "file", os.fspath(events)
    if isinstance(events, list | tuple):
        return "dicts", None
    module = type(events).__module__.split(".")[0].removeprefix("_")
    if module == "pandas":
        names = [str(name) for name in events.index.names if name is not None]
        is_kept = names or type(events.index).__name__ == "DatetimeIndex"
        return module, "\n".join(names) if is_kept else None
    return module if module in ("polars", "duckdb") else "arrow", None


def open_sources(by_type: Mapping[str, Any]) -> Source:
    """One input per event type, as one: columns by name, what an input lacks is NULL, plus the type."""
    connection = connect()
    parts: list[str] = []
    schemas: dict[str, pa.Schema] = {}
    total: int | None = 0
    versions: tuple[Version, ...] = ()
    for i, (name, events) in enumerate(by_type.items()):
        attached = attach(connection, f"events_{i}", events)
        sql, n_rows = attached.sql, attached.n_rows
        schemas[name] = source_schema(connection, sql, attached.given)
        versions += attached.versions
        total = None if total is None or n_rows is None else total + n_rows
        parts.append(f"SELECT {literal(name)} AS {TYPE_COLUMN}, * FROM {sql}")
    check_together(schemas)
    sql = f"({' UNION ALL BY NAME '.join(parts)})"
    once = any(map(_is_reader, by_type.values()))
    schema = held_by(source_schema(connection, sql, None), *_holder(next(iter(by_type.values()))))
    return Source(connection, sql, schema, total, once=once, versions=versions)


def _is_reader(events: Any) -> bool:
    return isinstance(events, pa.RecordBatchReader)


def plain_frame(events: Any) -> Any:
    """The Spark DataFrame of a pandas-on-Spark one, without its index, as pandas' is left out; all else as it is."""
    if not type(events).__module__.startswith("pyspark.pandas.") or not hasattr(events, "to_spark"):
        if not is_local(events) and not hasattr(type(events), "isStreaming"):
            raise _no_events(events)
        return events
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the index is lost
        return events.to_spark()


def is_local(events: Any) -> bool:
    """Whether the embedded engine reads such an input (as opposed to a Spark DataFrame)."""
    return not type(events).__module__.startswith("pyspark.")


def source_schema(connection: duckdb.DuckDBPyConnection, sql: str, given: pa.Schema | None) -> pa.Schema:
    """The types as DuckDB has them, under the user's names: DuckDB renames columns that differ only in case."""
    try:
        # Bound, not run: a reader can be read only once.
        relation = connection.sql(f"SELECT * FROM {sql}")
        found = _arrow_types(tuple(map(str, relation.types)))
    except duckdb.Error as error:
        raise InputError(f"the events cannot be read: {reason(error)}") from error
    names = given.names if given is not None and len(given) == len(relation.columns) else relation.columns
    return pa.schema(list(zip(names, found, strict=True)))


@lru_cache(maxsize=256)
def _arrow_types(kinds: tuple[str, ...]) -> tuple[pa.DataType, ...]:
    """The types in which DuckDB gives its own, but lengths of time for its intervals."""
    empty = ", ".join(f"CAST(NULL AS {kind}) AS c{i}" for i, kind in enumerate(kinds))
    return tuple(with_lengths(connect().sql(f"SELECT {empty} LIMIT 0").to_arrow_table()).schema.types)


@dataclass(frozen=True, slots=True)
class Attached:
    """What can stand in FROM, and what is known of it: as in `Source`."""

    sql: str
    n_rows: int | None
    given: pa.Schema | None
    once: bool = False
    files: tuple[str, ...] = ()
    versions: tuple[Version, ...] = ()
    holder: tuple[str, str | None] = ("arrow", None)

    def source(self, connection: duckdb.DuckDBPyConnection) -> Source:
        """The input on the connection on which it is."""
        schema = held_by(source_schema(connection, self.sql, self.given), *self.holder)
        return Source(connection, self.sql, schema, self.n_rows, self.given, self.once, self.files, self.versions)


def attach(connection: duckdb.DuckDBPyConnection, name: str, events: Any) -> Attached:
    """An input under a name: what can stand in FROM, and what is known of it."""
    if isinstance(events, str | os.PathLike):
        attached = _read_path(connection, name, os.fspath(events))
    else:
        attached = _register(connection, name, _to_arrow(events))
    return replace(attached, holder=_holder(events))


def _register(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table | pa.RecordBatchReader) -> Attached:
    if not table.schema.names:
        raise InputError("the events have no columns")
    try:
        connection.register(name, readable(table))
    except duckdb.Error as error:
        raise InputError(f"the events cannot be read: {reason(error)}") from error
    return Attached(name, getattr(table, "num_rows", None), table.schema, _is_reader(table))


def _to_arrow(events: Any) -> pa.Table | pa.RecordBatchReader:
    if isinstance(events, pa.Table | pa.RecordBatchReader):
        return events
    if isinstance(events, pa.RecordBatch):
        return pa.Table.from_batches([events])
    module = type(events).__module__.split(".")[0]
    try:
        if module in ("pandas", "polars", "duckdb", "_duckdb") and not hasattr(type(events), "columns"):
            raise _no_events(events)  # a single column, a connection
        if module == "pandas":
            return _from_pandas(events)
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
        raise InputError(f"the events do not form a table: {reason(error)}") from error
    raise _no_events(events)


def _no_events(given: Any) -> InputError:
    hint = "pass a Spark or pandas or Polars DataFrame, a pyarrow Table, a path, or a list of dicts"
    if isinstance(given, dict):
        hint = "pass pa.table(events) where it holds columns, [events] where it is one event"
    elif isinstance(given, Iterator):
        hint = "pass list(events); q.live(...) takes events that are still coming"
    return InputError(f"cannot read events from {type(given).__name__}", hint=hint)


def _from_pandas(frame: Any) -> pa.Table:
    names = [str(name) for name in frame.columns]
    if len(set(names)) == len(names):
        return pa.Table.from_pandas(frame, preserve_index=False)
    # Arrow holds columns of one name, but does not take them from pandas.
    numbered = frame.set_axis([str(i) for i in range(len(names))], axis=1)
    return pa.Table.from_pandas(numbered, preserve_index=False).rename_columns(names)


def _from_dicts(events: list[Any]) -> pa.Table:
    for i, event in enumerate(events):
        if not isinstance(event, Mapping):
            maker = next((name for name in ("_asdict", "asDict") if hasattr(event, name)), None)
            hint = None if maker is None else f"pass [event.{maker}() for event in events]"
            raise InputError(f"event {i} of the list is {type(event).__name__}, not a dict", hint=hint)
        for name in event:
            if not isinstance(name, str):
                raise InputError(f"the key {name!r} of event {i} is {type(name).__name__}, not text")
    if not events:
        raise InputError("an empty list of events has no columns", hint="pass an empty pyarrow Table with a schema")
    # Every key of any event is a column, in the order of appearance.
    names = dict.fromkeys(name for event in events for name in event)
    columns = {}
    for name in names:
        values = [event.get(name) for event in events]
        # Arrow would cut off what pandas' times have beyond microseconds.
        if any(getattr(value, "nanosecond", 0) for value in values):
            raise InputError(
                f"a time in '{name}' is not a whole number of microseconds", hint="round it: value.round('us')"
            )
        if len({value.tzinfo is None for value in values if isinstance(value, datetime)}) > 1:
            # Arrow would take those without for UTC.
            message = f"column '{name}' mixes times with and without a time zone"
            raise InputError(message, hint="say which one is meant: value.replace(tzinfo=timezone.utc)")
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputError(f"column '{name}' mixes types: {reason(error)}") from error
    return pa.table(columns)


def _read_path(connection: duckdb.DuckDBPyConnection, name: str, path: str) -> Attached:
    named = look_up(path)
    if named.table is not None and not named.files:
        connection.register(name, open_table(named.table))
        return Attached(name, None, None)
    versions = versions_of(named.files)
    attached = _read_files(connection, name, named)
    if named.columns is not None:
        attached = _with_columns(connection, name, attached, named.columns)
    return replace(attached, versions=versions)


def _read_files(connection: duckdb.DuckDBPyConnection, name: str, named: Named) -> Attached:
    """The rows of files, each with the name of its file where folders have columns for it."""
    path, files = named.path, list(named.files)
    suffix = file_format(path, files)
    file_column = None if named.columns is None else FILE
    try:
        if suffix in ARROW:
            return _register(connection, name, read_arrow(files, file_column))
        if suffix in PARQUET:
            attached = _parquet(files, file_column)
        else:
            attached = Attached(read_text(connection, path, suffix, files).sql(file_column), None, None)
        if attached.sql.startswith("("):
            # What stands in FROM is a name or a call.
            connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {attached.sql}")
            attached = replace(attached, sql=name)
        connection.sql(f"SELECT * FROM {attached.sql} LIMIT 0")
        return attached
    except (duckdb.Error, pa.ArrowInvalid, OSError) as error:
        raise InputError(f"cannot read '{path}': {reason(error)}") from error


def _with_columns(connection: duckdb.DuckDBPyConnection, name: str, rows: Attached, columns: pa.Table) -> Attached:
    """Rows with the columns that the names of their folders hold, which go before columns of the files."""
    of_folders = {field.name.lower(): field for field in columns.schema if field.name != FILE}
    names = [column for column in connection.sql(f"SELECT * FROM {rows.sql}").columns if column != FILE]
    given = rows.given if rows.given is not None and len(rows.given) >= len(names) else None
    fields = [None if given is None else given.field(i) for i in range(len(names))]
    items = [f"rows.{quoted(column)}" for column in names]
    for column, field in of_folders.items():
        places = [i for i, own in enumerate(names) if own.lower() == column]
        place = places[0] if places else len(items)
        items[place : place + 1], fields[place : place + 1] = [f"folders.{quoted(field.name)}"], [field]
    connection.register(f"{name}_folders", columns)
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW {name}_with_folders AS SELECT {', '.join(items)} "
        f"FROM {rows.sql} AS rows JOIN {name}_folders AS folders USING ({FILE})"
    )
    return Attached(f"{name}_with_folders", rows.n_rows, None if given is None else pa.schema(fields))


def read_text(connection: duckdb.DuckDBPyConnection, path: str, suffix: str, files: Sequence[str]) -> TextInput:
    """CSV or JSON files, with their types."""
    found = None
    if any(map(os.path.getsize, files)):
        try:
            found = csv_files(connection, files) if suffix in CSV else json_files(connection, files)
        except (duckdb.Error, OSError) as error:
            raise InputError(f"cannot read '{path}': {reason(error)}") from error
    if found is None:
        raise no_columns(path)
    return found


def _parquet(files: list[str], file_column: str | None) -> Attached:
    """What the footers tell."""
    groups = parquet_groups(files)
    n_rows = sum(group.n_rows for group in groups)
    if len(groups) > 1:
        common = common_schema(groups)
        return Attached(read_together(groups, common, file_column), n_rows, common)
    return Attached(read_alike(files, file_column), n_rows, groups[0].schema, files=tuple(files))


def file_format(path: str, files: list[str]) -> str:
    """The ending that all files have in common, without that of a compression."""
    endings = {Path(file.removesuffix(".gz").removesuffix(".zst")).suffix.lower(): file for file in files}
    for ending, file in endings.items():
        if ending not in _FORMATS:
            raise InputError(f"cannot tell the format of '{file}'", hint=f"name it with one of {', '.join(_FORMATS)}")
    if len(endings) > 1:
        raise InputError(f"'{path}' holds files of several formats: {', '.join(sorted(endings))}")
    return next(iter(endings))


def no_columns(path: str) -> InputError:
    """The error about files in which nothing stands, not even the names of columns."""
    if Path(path.removesuffix(".gz").removesuffix(".zst")).suffix.lower() in JSON:
        return InputError(f"'{path}' is empty: without a record it has no columns")
    return InputError(f"'{path}' is empty: it has no columns", hint="write at least a line with the columns' names")


def reason(error: BaseException) -> str:
    """What DuckDB or Arrow says in the first paragraph of its message, as one line."""
    lines = str(error).strip().split("\n\n")[0].splitlines()
    text = "; ".join(line.strip() for line in lines) or type(error).__name__
    # DuckDB names the class of its error first.
    text = re.sub(r"^(?:[A-Z]\w+ )+Error: ", "", text)
    return text if len(text) <= 300 else f"{text[:297]}..."
