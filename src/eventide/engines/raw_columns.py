"""A table of the user's columns to the block's raw columns, with as little SQL as possible.

Plain columns stay as they are. What reads a single column of strings that lies there as codes is evaluated for each
distinct string, not for each event. DuckDB evaluates both that and all the rest, over the events.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventide.engines.database import connect
from eventide.engines.lengths import with_lengths
from eventide.engines.parquet import coded_columns
from eventide.plan.physical import Addend, Physical, SqlColumn
from eventide.runtime.block import MASK, TS

_NAME = re.compile(r'"((?:[^"]|"")+)"')
_MOST_REMEMBERED = 1 << 12
WANTED = f"{MASK} <> 0 OR {TS} IS NULL"  # an event without a time is told, or counted, later

Place = tuple[str, int | None]  # where DuckDB evaluates: time zone, and number of threads, None: all


def raw_columns(table: pa.Table, physical: Physical, place: Place) -> pa.Table:
    """The columns that `physical.select` makes of all rows, in its order.

    >>> from eventide.families.registry import family_named
    >>> from eventide.plan.options import Options
    >>> from eventide.lang.rows import parse_clause
    >>> kinds = pa.table({"kind": pa.array(["a", None, "b"]).dictionary_encode()})
    >>> clause = parse_clause("MEASURES count(*) AS n PATTERN (A) DEFINE A AS kind = 'b'")
    >>> plan = family_named("rows").prepare(clause, Options(), pa.schema([("kind", pa.string())]))
    >>> raw_columns(kinds, plan, ("UTC", 1))["mask"].to_pylist()
    [0, 0, 1]
    """
    # Dictionaries differ from one row group of a file to the next.
    table = table.unify_dictionaries()
    coded = {field.name for field in table.schema if _is_coded(field.type)}
    texts: dict[str, str] = {}  # what is evaluated over the events, by name
    for column in physical.select:
        if plain_name(column, table.schema) is not None:
            continue
        if not is_split(column, coded):
            texts[column.name] = duckdb_text(column)
            continue
        for i, addend in enumerate(column.addends or ()):
            if addend.column not in coded:
                texts[f"{column.name} {i}"] = addend.duckdb
    computed = _select(table, texts, place) if texts else table.select([])
    values = _by_code(table, physical, coded, place)
    made = {}
    for column in physical.select:
        name = plain_name(column, table.schema)
        if name is not None:
            made[column.name] = table.column(name)
        elif not is_split(column, coded):
            made[column.name] = computed.column(column.name)
        else:
            made[column.name] = _sum(column, table, computed, values)
    if not physical.takes_codes:
        made = {name: _decoded(column) for name, column in made.items()}
    return pa.table(made)


def wanted_columns(table: pa.Table, physical: Physical, place: Place) -> pa.Table:
    """The same, of the events alone that some step wants: where those are few, little is copied."""
    if physical.intake.keep_all or any(_is_coded(field.type) for field in table.schema):
        return raw_columns(table, physical, place)
    texts = {column.name: duckdb_text(column) for column in physical.select}
    return _select(table, texts, place, WANTED)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def coded_for(physical: Physical, files: Sequence[str]) -> list[str]:
    """The columns to read as codes: none, unless the operator or a condition can make use of them."""
    takes_all = physical.intake.keep_all or physical.passes_over
    found = coded_columns(files, physical.reads) if takes_all and files else []
    is_of_use = physical.takes_codes or any(
        is_split(column, set(found)) for column in physical.select if column.addends
    )
    return found if is_of_use else []


def plain_name(column: SqlColumn, schema: pa.Schema) -> str | None:
    """The user's column that a block column is, where it has a type that DuckDB would give back as it is."""
    named = _NAME.fullmatch(duckdb_text(column))
    name = "" if named is None else named[1].replace('""', '"')
    return name if schema.get_field_index(name) >= 0 and _is_plain(schema.field(name).type) else None


def is_split(column: SqlColumn, coded: set[str]) -> bool:
    """Whether a part of a block column can be evaluated by code, or it needs no evaluation."""
    addends = column.addends
    return addends is not None and (not addends or any(addend.column in coded for addend in addends))


def _is_plain(kind: pa.DataType) -> bool:
    is_number = pa.types.is_integer(kind) or pa.types.is_float64(kind)
    return bool(is_number or kind == pa.timestamp("us") or _is_coded(kind))


def _is_coded(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type))


def duckdb_text(column: SqlColumn) -> str:
    """The column in DuckDB's SQL."""
    if column.duckdb is None:
        raise ValueError(f"column {column.name} cannot be read directly: only Spark evaluates {column.spark}")
    return column.duckdb


def _select(table: pa.Table, texts: dict[str, str], place: Place, wanted: str = "true") -> pa.Table:
    items = ", ".join(f'{text} AS "{name}"' for name, text in texts.items())
    with connect(*place) as connection:
        connection.register("events", table)
        made = connection.sql(f"SELECT * FROM (SELECT {items} FROM events) WHERE {wanted}").to_arrow_table()
    return with_lengths(made)


Values = dict[Addend, NDArray[np.int64]]


def _by_code(table: pa.Table, physical: Physical, coded: set[str], place: Place) -> Values:
    """The addends that read one coded column: their values by its codes, behind them that of NULL."""
    import duckdb

    found: Values = {}
    for name in sorted(coded):
        addends = tuple(a for column in physical.select for a in column.addends or () if a.column == name)
        if not addends:
            continue
        column = table.column(name)
        dictionary = column.chunk(0).dictionary if column.num_chunks else pa.array([], pa.string())
        strings = (*dictionary.to_pylist(), None)
        try:
            values = _evaluate(strings, addends, place)
        except duckdb.Error:
            # What is in the dictionary need not be in the events: only theirs may fail.
            codes = [_codes(chunk, len(dictionary)) for chunk in column.chunks]
            present = np.unique(np.concatenate([np.empty(0, np.int32), *codes]))
            values = np.zeros((len(addends), len(strings)), dtype=np.int64)
            values[:, present] = _evaluate(tuple(strings[code] for code in present), addends, place)
        found |= zip(addends, values, strict=True)
    return found


def _evaluate(strings: tuple[str | None, ...], addends: tuple[Addend, ...], place: Place) -> NDArray[np.int64]:
    """A row for each addend, over strings of the column that all of them read."""
    evaluate = _evaluate_once if len(strings) <= _MOST_REMEMBERED else _evaluate_once.__wrapped__
    return evaluate(strings, addends, place)


@lru_cache(maxsize=64)
def _evaluate_once(strings: tuple[str | None, ...], addends: tuple[Addend, ...], place: Place) -> NDArray[np.int64]:
    # From one run to the next and from row group to row group the strings are often the same, and a query of
    # DuckDB's takes 3 ms, however little it reads.
    table = pa.table({addends[0].column: pa.array(strings, pa.string())})
    texts = {f"a{i}": addend.duckdb for i, addend in enumerate(addends)}
    return np.array([column.to_numpy() for column in _select(table, texts, place).columns], dtype=np.int64)


def _codes(chunk: pa.DictionaryArray, null: int) -> NDArray[np.int32]:
    """A chunk's codes, with one for NULL."""
    indices = chunk.indices
    return np.asarray((indices.fill_null(null) if indices.null_count else indices).to_numpy())


def _sum(column: SqlColumn, table: pa.Table, computed: pa.Table, values: Values) -> pa.ChunkedArray:
    addends = column.addends or ()
    if len(addends) == 1:
        # Codes stay codes: the sum is an array of as many numbers as there are strings.
        made = pa.array(values[addends[0]])
        codes = table.column(addends[0].column)
        chunks = [_recoded(chunk, made) for chunk in codes.chunks]
        return pa.chunked_array(chunks, pa.dictionary(codes.type.index_type, pa.int64()))
    total = np.zeros(table.num_rows, dtype=np.int64)
    for i, addend in enumerate(addends):
        if addend not in values:
            total += computed.column(f"{column.name} {i}").to_numpy()
            continue
        start = 0
        for chunk in table.column(addend.column).chunks:
            total[start : start + len(chunk)] += values[addend][_codes(chunk, values[addend].size - 1)]
            start += len(chunk)
    return pa.chunked_array([pa.array(total)])


def _recoded(chunk: pa.DictionaryArray, values: pa.Array) -> pa.DictionaryArray:
    indices = chunk.indices.fill_null(len(values) - 1) if chunk.indices.null_count else chunk.indices
    return pa.DictionaryArray.from_arrays(indices, values, safe=False)
