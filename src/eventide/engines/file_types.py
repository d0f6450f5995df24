"""The types of files that are read together: one type for each column, or an error that names both files.

Files of one schema form a group. A type gives way to a wider one only where every value stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from eventide.engines.names import absolute
from eventide.errors import InputError
from eventide.expressions.types import canonical, common_type, kind, type_name

_EXACT = 1 << 53  # up to here a double holds every whole number
_MOST_DIGITS = 38


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that have the same columns."""

    schema: pa.Schema
    footers: dict[str, pq.FileMetaData | None]  # by file; files of other formats have none

    @property
    def files(self) -> tuple[str, ...]:
        """The files' paths."""
        return tuple(self.footers)

    @property
    def n_rows(self) -> int:
        """How many rows the footers tell of."""
        return sum(footer.num_rows for footer in self.footers.values() if footer is not None)

    def holds_exact(self, name: str) -> bool:
        """Whether the footers tell that all whole numbers of a column are doubles, too."""
        for footer in self.footers.values():
            if footer is None:
                return False
            places = {footer.schema.column(i).path: i for i in range(footer.num_columns)}
            for i in range(footer.num_row_groups):
                chunk = footer.row_group(i).column(places[name])
                statistics = chunk.statistics
                if statistics is not None and statistics.null_count == chunk.num_values:
                    continue
                if statistics is None or not statistics.has_min_max:
                    return False
                if not -_EXACT <= statistics.min <= statistics.max <= _EXACT:
                    return False
        return True


def parquet_groups(files: Sequence[str]) -> list[FileGroup]:
    """The files by their columns, in the order in which the columns first occur."""
    groups: list[FileGroup] = []
    for file in files:
        footer = pq.read_metadata(file)
        _add(groups, file, footer.schema.to_arrow_schema(), footer)
    return groups


def _add(groups: list[FileGroup], file: str, schema: pa.Schema, footer: pq.FileMetaData | None) -> None:
    schema = schema.remove_metadata()
    check_digits(f" of '{file}'", schema)
    group = next((group for group in groups if group.schema.equals(schema)), None)
    if group is None:
        group = FileGroup(schema, {})
        groups.append(group)
    group.footers[file] = footer


def read_arrow(files: Sequence[str], file_column: str | None = None) -> pa.Table:
    """The rows of Arrow files; `file_column` gets the whole name of each row's file."""
    tables = [pa.ipc.open_file(pa.memory_map(file)).read_all() for file in files]
    groups: list[FileGroup] = []
    for file, table in zip(files, tables, strict=True):
        _add(groups, file, table.schema, None)
    if len(groups) > 1:
        common = common_schema(groups)
        casts = {file: columns_in(group, common) for group in groups for file in group.files}
        tables = [_cast(table, casts[file]) for file, table in zip(files, tables, strict=True)]
    if file_column is not None:
        named = zip(tables, map(absolute, files), strict=True)
        tables = [table.append_column(file_column, pa.repeat(name, table.num_rows)) for table, name in named]
    return pa.concat_tables(tables)


def _cast(table: pa.Table, columns: Sequence[tuple[pa.Field | None, pa.Field]]) -> pa.Table:
    made = {}
    for own, wanted in columns:
        found = pa.nulls(table.num_rows) if own is None else table.column(own.name)
        made[wanted.name] = found.cast(wanted.type)
    return pa.table(made)


def check_digits(place: str, schema: pa.Schema) -> None:
    """Refuse decimals that neither DuckDB nor Spark holds; `place` says in which file they stand."""
    for column in schema:
        for dtype in plain_types(column.type):
            if pa.types.is_decimal(dtype) and dtype.precision > _MOST_DIGITS:
                found = f"decimal({dtype.precision},{dtype.scale})"
                raise InputError(
                    f"column '{column.name}'{place} is {found}: no engine reads more than {_MOST_DIGITS} digits",
                    hint="cast the column to fewer digits or to text, or leave it out",
                )


def readable(table: pa.Table | pa.RecordBatchReader) -> pa.Table | pa.RecordBatchReader:
    """A table in types that DuckDB takes, all values as they are.

    >>> readable(pa.table({"x": pa.array([1.5], pa.float16())})).schema
    x: float
    """
    check_digits("", table.schema)
    fields = [column.with_type(_readable(column.type)) for column in table.schema]
    schema = pa.schema(fields, table.schema.metadata)
    return table if schema.equals(table.schema) else table.cast(schema)


def _readable(dtype: pa.DataType) -> pa.DataType:
    if pa.types.is_float16(dtype):
        return pa.float32()
    return pa.decimal128(dtype.precision, dtype.scale) if pa.types.is_decimal256(dtype) else dtype


def plain_types(dtype: pa.DataType) -> Iterator[pa.DataType]:
    """The type itself, or those of all fields and items inside it."""
    if not pa.types.is_nested(dtype):
        yield dtype
    for i in range(dtype.num_fields):
        yield from plain_types(dtype.field(i).type)


def common_schema(groups: Sequence[FileGroup]) -> pa.Schema:
    """A column for each name that some file has; an InputError where two types have none in common.

    >>> one = FileGroup(pa.schema({"ts": pa.int32(), "x": pa.int8()}), {"1.parquet": None})
    >>> two = FileGroup(pa.schema({"TS": pa.int64(), "y": pa.string()}), {"2.parquet": None})
    >>> common_schema([one, two])
    ts: int64
    x: int8
    y: string
    >>> three = FileGroup(pa.schema({"x": pa.string()}), {"3.parquet": None})
    >>> common_schema([one, three])
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: column 'x' is tinyint in '1.parquet' and string in '3.parquet'
    Hint: cast one of them, or read the files apart
    """
    found: dict[str, _Found] = {}
    for group in groups:
        folded = [name.lower() for name in group.schema.names]
        for column, name in zip(group.schema, folded, strict=True):
            if folded.count(name) > 1:
                message = f"column '{column.name}' occurs twice in '{group.files[0]}', and other files differ from it"
                raise InputError(message, hint="rename it, or read the files apart")
            if name in found:
                found[name].join(column, group)
            else:
                found[name] = _Found(column.name, column.type, [(column, group)])
    return pa.schema([(each.name, each.dtype) for each in found.values()])


@dataclass(slots=True)
class _Found:
    """What is known of a column so far, and where it stands."""

    name: str
    dtype: pa.DataType
    places: list[tuple[pa.Field, FileGroup]]

    def join(self, column: pa.Field, group: FileGroup) -> None:
        self.places.append((column, group))
        if (wider := _wider(self.dtype, column.type)) is not None and self._is_exact(wider):
            self.dtype = wider
            return
        # The first place alone need not be the one that does not fit.
        other, others = next(
            (place for place in self.places if _wider(place[0].type, column.type) is None), self.places[0]
        )
        types = f"{type_name(canonical(other.type))} in '{others.files[0]}'"
        types += f" and {type_name(canonical(column.type))} in '{group.files[0]}'"
        hint = "cast one of them, or read the files apart"
        if wider is not None:
            hint = f"a double does not hold all whole numbers beyond 2^53; {hint}"
        raise InputError(f"column '{self.name}' is {types}", hint=hint)

    def _is_exact(self, wider: pa.DataType) -> bool:
        """Whether a double takes all of the whole numbers."""
        if not pa.types.is_float64(wider):
            return True
        return all(group.holds_exact(column.name) for column, group in self.places if _is_long(column.type))


def _is_long(dtype: pa.DataType) -> bool:
    return bool(canonical(dtype) == pa.int64())


def _wider(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type that has all values of both; of whole numbers and doubles, the double."""
    one, two = canonical(left), canonical(right)
    if "null" in (kinds := {kind(one), kind(two)}):
        return right if kind(one) == "null" else left
    if one == two:
        return _finer(left, right)
    if kinds <= {"integer", "decimal"} or kinds <= {"integer", "float", "double"}:
        return common_type(one, two)
    return left if type_name(one) == type_name(two) else None


def _finer(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Of two types that mean the same, one that loses nothing."""
    if left == right:
        return left
    if pa.types.is_duration(left):
        return None  # DuckDB and Spark read the count, and not what it counts
    if pa.types.is_timestamp(left) and pa.types.is_timestamp(right):
        return left if _UNITS.index(left.unit) >= _UNITS.index(right.unit) else right
    return canonical(left)


_UNITS = ("s", "ms", "us", "ns")


def columns_in(group: FileGroup, common: pa.Schema) -> list[tuple[pa.Field | None, pa.Field]]:
    """For each common column the group's own, None where the group lacks it or has nothing but NULLs in it."""
    own = {column.name.lower(): column for column in group.schema if not pa.types.is_null(column.type)}
    return [(own.get(wanted.name.lower()), wanted) for wanted in common]
