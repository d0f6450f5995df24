"""The two inputs of a join: the one type that columns of both must have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from eventide.errors import InputError
from eventide.expressions.types import canonical, duckdb_type, kind, type_name
from eventide.plan.physical import SqlColumn, column_as

Place = tuple[str, pa.Schema, str]  # the name of a side, its schema, and a column of it


def common_type(what: str, columns: Sequence[Place]) -> pa.DataType:
    """The one type that columns have, of which NULLs alone have any.

    >>> numbers, words = pa.schema({"a": pa.int64()}), pa.schema({"b": pa.string()})
    >>> common_type("time", [("left", numbers, "a"), ("right", words, "b")])
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: the time columns have different types: 'a' of left is bigint, 'b' of right is string
    Hint: cast one of them
    """
    found: dict[pa.DataType, tuple[str, str]] = {}
    types = [schema.field(name).type for _, schema, name in columns]
    for (side, _, name), dtype in zip(columns, types, strict=True):
        if kind(canonical(dtype)) != "null":
            found.setdefault(canonical(dtype), (side, name))
    if len(found) > 1:
        (one, (a, x)), (two, (b, y)) = list(found.items())[:2]
        shown = f"'{x}' of {a} is {type_name(one)}, '{y}' of {b} is {type_name(two)}"
        raise InputError(f"the {what} columns have different types: {shown}", hint="cast one of them")
    known = [dtype for dtype in types if kind(canonical(dtype)) != "null"]
    if len(set(known)) > 1:
        return next(iter(found))
    return known[0] if known else types[0]


def cast_column(block: str, schema: pa.Schema, name: str, dtype: pa.DataType) -> SqlColumn:
    """A column of a side as the block's; where the sides have a type in two forms, both are cast."""
    column = column_as(block, name)
    if schema.field(name).type == dtype:
        return column
    return replace(column, duckdb=f"CAST({column.duckdb} AS {duckdb_type(canonical(dtype))})")
