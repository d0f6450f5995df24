"""CSV and JSON files as DuckDB reads them: every column has the type of all its values, see `text_types`.

DuckDB finds the names in JSON objects, `csv_lines` those of CSV files. DuckDB guesses types from the first rows and
rounds what does not fit, so that its types are not taken. A number that its column's type would alter is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb
from duckdb.sqltypes import DuckDBPyType

from eventide.engines.folder_columns import FILE
from eventide.engines.local.csv_lines import Dialect, as_given, find_dialect, line_error
from eventide.engines.local.text_types import KINDS, NO_VALUE, NUMBER_KINDS, TEXT_KINDS, find_types, is_altered
from eventide.engines.names import duckdb_names
from eventide.errors import InputError
from eventide.runtime.quoting import literal, quoted

_MOST_SHOWN = 60  # letters of a number


def reading(file_column: str | None) -> str:
    """Options of DuckDB's readers: it would take folders above the path for columns, too."""
    named = "" if file_column is None else f", filename = {literal(file_column)}"
    return f"hive_partitioning = false{named}"


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
            f"escape = {literal(said.escape)}, skip = {said.skip}, header = true"
        )
        lines = f"read_csv({read}, {options}, columns = {{{columns}}})"
        if len(self.names) > 1:
            return lines
        # A blank line is no row: where there are more columns, DuckDB passes over it itself.
        return f"(SELECT * FROM {lines} WHERE trim({quoted(self.names[0])}) <> '')"


@dataclass(frozen=True, slots=True)
class TextInput:
    """All files of an input, and the DuckDB type of every column."""

    groups: tuple[TextFiles, ...]
    types: dict[str, str]
    nested: dict[str, str]  # those that DuckDB reads itself
    has_breaks: bool = False  # whether a value of a CSV file goes over several lines

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


def csv_files(connection: duckdb.DuckDBPyConnection, files: Sequence[str]) -> TextInput | None:
    """CSV files; those with other columns, or another dialect, are read apart. None where no file has a header."""
    by_form: dict[tuple[tuple[str, ...], Dialect], list[str]] = {}
    spelled: dict[str, str] = {}  # names that differ only in case are one column, as in Parquet files
    for file in files:
        form = find_dialect(connection, file)
        if form is not None:
            names = tuple(spelled.setdefault(name.lower(), name) for name in form[0])
            by_form.setdefault((names, form[1]), []).append(file)
    if not by_form:
        return None
    groups = tuple(TextFiles(tuple(mine), names, dialect) for (names, dialect), mine in by_form.items())
    kinds = {name: KINDS for group in groups for name in group.names}
    try:
        found = find_types(connection, [group.as_text({}) for group in groups], kinds, with_text=True)
    except duckdb.Error as error:
        told = line_error(error, files)
        if told is None:
            raise
        raise told from error
    for name in filter(found.altered.__contains__, found.types):
        _refuse(connection, groups, _Doubles(name, name, f"[{quoted(name)}]"), {})
    has_breaks = found.has_breaks or any("\n" in name or "\r" in name for name in kinds)
    return TextInput(groups, found.types, {}, has_breaks)


@dataclass(frozen=True, slots=True)
class _Doubles:
    """Numbers of a column, or of a place inside it, that are doubles: `texts` is the SQL of a list of their texts."""

    column: str
    place: str
    texts: str

    @property
    def altered(self) -> str:
        """The SQL of a list of those that a double does not hold."""
        return f"list_filter({self.texts}, lambda text: {is_altered('text')})"


def _refuse(
    connection: duckdb.DuckDBPyConnection, groups: Sequence[TextFiles], doubles: _Doubles, nested: Mapping[str, str]
) -> None:
    """Name the first number that a double does not hold, and its file."""
    for group in groups:
        if doubles.column not in group.names:
            continue
        rows = connection.sql(
            f"SELECT {doubles.altered}[1], {FILE} FROM {group.as_text(nested, FILE)} "
            f"WHERE len({doubles.altered}) > 0 LIMIT 1"
        ).fetchall()
        for text, read in rows:
            file = as_given(read, group.files)
            raise _altered_number(doubles.place, text.strip(), file, in_json=group.dialect is None)


def _altered_number(place: str, text: str, file: str, *, in_json: bool) -> InputError:
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}... ({len(text)} digits)"
    ways = ["write the numbers in quotes"] if in_json else []
    ways += ["write Parquet with the column as DECIMAL or text", "or pass a table that has it so"]
    return InputError(
        f"column '{place}' is double, and no double holds the number {shown} in '{file}'",
        hint=f"one fraction or exponent makes a column double; {', '.join(ways)}",
    )


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
    of_values = find_types(connection, [as_text], tried)
    for name in filter(of_values.altered.__contains__, found):
        _refuse(connection, [group], _Doubles(name, name, f"[{quoted(name)}]"), nested)
    kinds = dict(zip(relation.columns, relation.types, strict=True))
    _check_inside(connection, group, [doubles for name in nested for doubles in _inside(name, kinds[name])], nested)
    return TextInput((group,), types | of_values.types, nested)


def _inside(column: str, kind: DuckDBPyType) -> Iterator[_Doubles]:
    """The doubles inside objects and arrays."""

    def find(kind: DuckDBPyType, value: str, place: str, depth: int) -> Iterator[tuple[str, str]]:
        if kind.id == "double":
            yield place, f"[{value}]"
        elif kind.id == "struct":
            for name, of_field in kind.children:
                yield from find(of_field, f"struct_extract({value}, {literal(name)})", f"{place}.{name}", depth)
        elif kind.id in ("list", "map"):
            items = value if kind.id == "list" else f"map_values({value})"
            of_item, item = kind.children[-1][1], f"item_{depth}"
            for inner, texts in find(of_item, item, f"{place}[]", depth + 1):
                yield inner, f"flatten(list_transform({items}, lambda {item}: {texts}))"

    for place, texts in find(kind, quoted(column), column, 0):
        yield _Doubles(column, place, texts)


def _check_inside(
    connection: duckdb.DuckDBPyConnection, group: TextFiles, inside: Sequence[_Doubles], nested: Mapping[str, str]
) -> None:
    if not inside:
        return
    as_text = {name: _DOUBLE.sub("VARCHAR", kind) for name, kind in nested.items()}
    items = ", ".join(f"bool_or(len({doubles.altered}) > 0)" for doubles in inside)
    (row,) = connection.sql(f"SELECT {items} FROM {group.as_text(as_text)}").fetchall()
    for doubles, is_found in zip(inside, row, strict=True):
        if is_found:
            _refuse(connection, [group], doubles, as_text)


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
_DOUBLE = re.compile(r"\bDOUBLE(?=[,)\[]|$)")
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
