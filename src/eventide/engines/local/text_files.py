"""CSV and JSON files as DuckDB reads them: every column has the type of all its values, see `text_types`.

DuckDB finds the dialect of CSV files and the names in JSON objects. It guesses types from the first rows and rounds
what does not fit, so that its types are not taken.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from eventide.engines.local.names import literal, quoted
from eventide.engines.local.text_types import KINDS, NO_VALUE, NUMBER_KINDS, TEXT_KINDS, find_types
from eventide.engines.names import duckdb_name, duckdb_names
from eventide.errors import InputError

_UNSAID = "(empty)"  # what DuckDB says where a file has no quote, or no escape


def reading(file_column: str | None) -> str:
    """Options of DuckDB's readers: it would take folders above the path for columns, too."""
    named = "" if file_column is None else f", filename = {literal(file_column)}"
    return f"hive_partitioning = false{named}"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str
    quote: str
    escape: str
    skip: int  # lines before the header
    has_header: bool


@dataclass(frozen=True, slots=True)
class TextFiles:
    """Files with the same columns, in one dialect; JSON has none."""

    files: tuple[str, ...]
    names: tuple[str, ...]
    dialect: Dialect | None = None

    def as_text(self, nested: Mapping[str, str], file_column: str | None = None) -> str:
        """What stands in FROM: all columns as text, but for those that have a nested type."""
        read, options = duckdb_names(self.files), reading(file_column)
        columns = ", ".join(f"{literal(name)}: {literal(nested.get(name, 'VARCHAR'))}" for name in self.names)
        if self.dialect is None:
            return f"read_json({read}, {options}, columns = {{{columns}}})"
        said = self.dialect
        options += (
            f", auto_detect = false, delim = {literal(said.delimiter)}, quote = {literal(said.quote)}, "
            f"escape = {literal(said.escape)}, skip = {said.skip}, header = {str(said.has_header).lower()}"
        )
        return f"read_csv({read}, {options}, columns = {{{columns}}})"


@dataclass(frozen=True, slots=True)
class TextInput:
    """All files of an input, and the DuckDB type of every column."""

    groups: tuple[TextFiles, ...]
    types: dict[str, str]
    nested: dict[str, str]  # those that DuckDB reads itself

    def sql(self, file_column: str | None = None) -> str:
        """What stands in FROM; a column that a file lacks is NULL, `file_column` has the name of each row's file."""
        parts = []
        for group in self.groups:
            items = [f"{self._value(name, group)} AS {quoted(name)}" for name in self.types]
            items += [] if file_column is None else [quoted(file_column)]
            parts.append(f"SELECT {', '.join(items)} FROM {group.as_text(self.nested, file_column)}")
        return f"({' UNION ALL '.join(parts)})"

    def _value(self, name: str, group: TextFiles) -> str:
        kind = self.types[name]
        if kind == NO_VALUE or name not in group.names:
            return "NULL"
        return quoted(name) if name in self.nested or kind == "VARCHAR" else f"CAST({quoted(name)} AS {kind})"


def csv_files(connection: duckdb.DuckDBPyConnection, files: Sequence[str]) -> TextInput:
    """CSV files; those with other columns, or another dialect, are read apart."""
    found: dict[tuple[tuple[str, ...], Dialect], list[str]] = {}
    for file in files:
        if not os.path.getsize(file):
            continue
        names, dialect = _sniff_csv(connection, file)
        found.setdefault((names, dialect), []).append(file)
    groups = tuple(TextFiles(tuple(mine), names, dialect) for (names, dialect), mine in found.items())
    all_names = dict.fromkeys(name for group in groups for name in group.names)
    types = find_types(connection, [group.as_text({}) for group in groups], dict.fromkeys(all_names, KINDS))
    return TextInput(groups, types, {})


def _sniff_csv(connection: duckdb.DuckDBPyConnection, file: str) -> tuple[tuple[str, ...], Dialect]:
    said = connection.sql(
        f"SELECT Delimiter, Quote, Escape, SkipRows, HasHeader, Columns FROM sniff_csv({duckdb_name(file)})"
    )
    delimiter, quote, escape, skip, has_header, columns = said.fetchall()[0]
    # The first rows need not have a quote where a later one has.
    quote = '"' if quote == _UNSAID else quote
    dialect = Dialect(delimiter, quote, quote if escape == _UNSAID else escape, skip, has_header)
    return tuple(column["name"] for column in columns), dialect


def json_files(connection: duckdb.DuckDBPyConnection, files: Sequence[str]) -> TextInput | None:
    """JSON files, by the names that any object of any file has; None where there is no object."""
    read = f"read_json({duckdb_names(files)}, {reading(None)}, sample_size = -1, maximum_sample_files = {len(files)})"
    relation = connection.sql(f"SELECT * FROM {read}")
    found: dict[str, str] = dict(zip(relation.columns, map(str, relation.types), strict=True))
    if found == {"json": "JSON"}:
        return None
    nested = {name: _text_inside(kind) for name, kind in found.items() if _is_nested(kind)}
    group = TextFiles(tuple(files), tuple(found))
    as_text = group.as_text(nested)
    _check_names(connection, as_text, found)
    types = {name: nested.get(name, kind) for name, kind in found.items()}
    tried = {name: _kinds(kind) for name, kind in found.items() if _kinds(kind)}
    return TextInput((group,), types | find_types(connection, [as_text], tried), nested)


def _is_nested(kind: str) -> bool:
    return kind.endswith("]") or kind.startswith(("STRUCT(", "MAP("))


def _kinds(kind: str) -> Sequence[str]:
    """The kinds that values may have which DuckDB takes for this one; none where there is no doubt."""
    if _is_nested(kind) or kind in ("BIGINT", "BOOLEAN", NO_VALUE):
        return ()
    if kind in ("DOUBLE", "HUGEINT", "UHUGEINT", "UBIGINT"):
        return NUMBER_KINDS
    return ("VARCHAR",) if kind == "JSON" else TEXT_KINDS


# A field's name stands before its type, with a blank between them.
_READ_FROM_TEXT = re.compile(r"\b(?:DATE|TIME|TIMESTAMP|UUID)(?=[,)\[]|$)")


def _text_inside(kind: str) -> str:
    """The nested type with text for all that stands in quotes.

    >>> _text_inside("STRUCT(TIME TIME, since TIMESTAMP[])")
    'STRUCT(TIME VARCHAR, since VARCHAR[])'
    """
    return _READ_FROM_TEXT.sub("VARCHAR", kind)


def _check_names(connection: duckdb.DuckDBPyConnection, as_text: str, found: Mapping[str, str]) -> None:
    """DuckDB calls the second of two names that differ only in case `a_1`, and no object has that name."""
    folded = {name.lower(): name for name in found}
    for name, kind in found.items():
        base = folded.get(re.sub(r"_[0-9]+$", "", name.lower()))
        if base in (None, name) or kind == NO_VALUE:
            continue
        if connection.sql(f"SELECT count({quoted(name)}) FROM {as_text}").fetchall() == [(0,)]:
            raise InputError(f"two columns called '{base}' differ only in case", hint="rename one of them")
