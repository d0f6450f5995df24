"""Parquet files by row groups, as PyArrow reads them; strings that lie there as codes stay codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eventide.engines.intake import microseconds
from eventide.errors import InputError
from eventide.plan.physical import Intake, Piece

# A string itself takes more than four bytes; for a small column the dictionary outweighs the codes.
_CODE_BYTES = 3
_SMALL_BYTES = 1 << 16


def coded_columns(files: Iterable[str], names: Sequence[str]) -> list[str]:
    """The columns of strings that all files hold as codes throughout, as far as the footers tell."""
    # A point also leads into a struct.
    found = [name for name in names if "." not in name]
    for file in files:
        if not found:
            break
        footer = pq.read_metadata(file)
        places = {footer.schema.column(i).path: i for i in range(footer.num_columns)}
        found = [name for name in found if name in places and _is_coded(footer, places[name])]
    return found


def _is_coded(footer: pq.FileMetaData, place: int) -> bool:
    column = footer.schema.column(place)
    if column.physical_type != "BYTE_ARRAY" or column.logical_type.type != "STRING" or column.max_repetition_level:
        return False
    chunks = [footer.row_group(i).column(place) for i in range(footer.num_row_groups)]
    return all(
        chunk.has_dictionary_page and chunk.total_uncompressed_size <= _CODE_BYTES * chunk.num_values + _SMALL_BYTES
        for chunk in chunks
    )


def group_times(files: Sequence[str], name: str, *, allow_null: bool = False) -> list[tuple[Any, Any]] | None:
    """The first and the last time of every row group that holds a row; None where a footer does not tell.

    With `allow_null` some rows may lack a time, and groups in which all do are left out.
    """
    found: list[tuple[Any, Any]] = []
    for file in files:
        footer = pq.read_metadata(file)
        places = {footer.schema.column(i).path: i for i in range(footer.num_columns)}
        for group in (footer.row_group(i) for i in range(footer.num_row_groups)):
            statistics = group.column(places[name]).statistics if name in places else None
            n_null = None if statistics is None else statistics.null_count
            if not group.num_rows or (allow_null and n_null == group.num_rows):
                continue
            if statistics is None or not statistics.has_min_max or (n_null and not allow_null):
                return None
            found.append((statistics.min, statistics.max))
    return found


def group_times_us(files: Sequence[str], intake: Intake, *, allow_null: bool = False) -> list[tuple[int, int]] | None:
    """The same in microseconds; None also where a time does not fit: the tasks say which event it is."""
    times = group_times(files, intake.ts_column, allow_null=allow_null)
    if not times:
        return times
    kind = pq.read_schema(files[0]).field(intake.ts_column).type
    try:
        columns = (pa.chunked_array([pa.array(each, kind)]) for each in zip(*times, strict=True))
        first, last = (microseconds(column, intake).to_pylist() for column in columns)
    except (InputError, pa.ArrowException):
        return None
    return list(zip(first, last, strict=True))


def is_in_time_order(files: Sequence[str], name: str) -> bool:
    """Whether the footers tell that no event lies in a row group behind a later one."""
    times = group_times(files, name)
    return times is not None and all(first[1] <= second[0] for first, second in pairwise(times))


def is_nanoseconds(kind: pa.DataType) -> bool:
    """Whether a type of times is finer than microseconds."""
    return bool(pa.types.is_timestamp(kind) and kind.unit == "ns")


def in_microseconds(schema: pa.Schema) -> pa.Schema:
    """The schema with columns of nanoseconds, as pandas writes them, in microseconds, as Spark has them."""
    for i, field in enumerate(schema):
        if is_nanoseconds(field.type):
            schema = schema.set(i, field.with_type(pa.timestamp("us", field.type.tz)))
    return schema


def to_microseconds(table: pa.Table) -> pa.Table:
    """The table with its times in microseconds; a time between two of them is an error."""
    for i, field in enumerate(table.schema):
        if is_nanoseconds(field.type):
            try:
                times = table.column(i).cast(pa.timestamp("us", field.type.tz))
            except pa.ArrowInvalid as error:
                what = f"a time in '{field.name}' ({field.type}) is not a whole number of microseconds"
                hint = "Spark has no finer times: round the column to microseconds"
                raise InputError(what, hint=hint) from error
            table = table.set_column(i, field.name, times)
    return table


def read_piece(
    piece: Piece, names: Sequence[str], coded: Sequence[str], n_at_once: int, *, use_threads: bool
) -> Iterator[pa.Table]:
    """The columns of a run of row groups, some of them as codes; tables of `n_at_once` rows or a little more."""
    path, start, stop = piece
    with pq.ParquetFile(path, read_dictionary=list(coded), pre_buffer=True) as file:
        waiting: list[int] = []
        n_waiting = 0
        for group in range(start, stop):
            waiting.append(group)
            n_waiting += file.metadata.row_group(group).num_rows
            if n_waiting >= n_at_once or group == stop - 1:
                yield file.read_row_groups(waiting, columns=list(names), use_threads=use_threads)
                waiting, n_waiting = [], 0
