"""Parquet files of several schemas as one DuckDB relation."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from eventide.engines.file_types import FileGroup, columns_in
from eventide.engines.local.text_files import reading
from eventide.engines.names import duckdb_names
from eventide.expressions.types import canonical, duckdb_type, kind
from eventide.runtime.quoting import quoted


def read_alike(files: Sequence[str], file_column: str | None) -> str:
    """What stands in FROM for files of one schema; `file_column` gets the name of each row's file.

    >>> print(read_alike(["/data/a.parquet"], None))
    read_parquet(['/data/a.parquet'], hive_partitioning = false)
    """
    return f"read_parquet({duckdb_names(files)}, {reading(file_column)})"


def read_together(groups: Sequence[FileGroup], common: pa.Schema, file_column: str | None) -> str:
    """What stands in FROM: every column in the common type, NULL in files that lack it.

    >>> one, two = (FileGroup(pa.schema({"x": kind}), {}) for kind in (pa.int8(), pa.int16()))
    >>> print(read_together([one, two], pa.schema({"x": pa.int16()}), None))
    (SELECT CAST("x" AS SMALLINT) AS "x" FROM read_parquet([], hive_partitioning = false) UNION ALL
     SELECT "x" AS "x" FROM read_parquet([], hive_partitioning = false))
    """
    parts = []
    for group in groups:
        items = [f"{_item(own, wanted)} AS {quoted(wanted.name)}" for own, wanted in columns_in(group, common)]
        items += [] if file_column is None else [quoted(file_column)]
        parts.append(f"SELECT {', '.join(items)} FROM {read_alike(group.files, file_column)}")
    return f"({' UNION ALL '.join(parts)})"


def _item(own: pa.Field | None, wanted: pa.Field) -> str:
    if own is None:
        return "NULL"
    target = None if own.type == wanted.type else _cast_target(wanted.type)
    return quoted(own.name) if target is None else f"CAST({quoted(own.name)} AS {target})"


def _cast_target(dtype: pa.DataType) -> str | None:
    """DuckDB's type for a column; None where DuckDB has one for all that Arrow tells apart, such as text."""
    found = kind(canonical(dtype))
    if found not in ("integer", "decimal", "float", "double", "timestamp"):
        return None
    name = duckdb_type(canonical(dtype))
    return f"{name}_NS" if pa.types.is_timestamp(dtype) and dtype.unit == "ns" else name
