"""One input per event type: whether their columns can stand in one table, on every engine alike."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from eventide.errors import InputError
from eventide.expressions.types import canonical, kind, type_name

TYPE_COLUMN = "event_type"  # added, to say which input an event came from


def check_together(schemas: Mapping[str, pa.Schema]) -> None:
    """Columns are put together by name, in any case: one of each in an input, and of one type in all of them.

    >>> check_together({"A": pa.schema({"x": pa.int32()}), "B": pa.schema({"X": pa.string()})})
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: column 'X' is int in input A and string in input B
    Hint: cast one of them
    """
    first: dict[str, tuple[str, pa.DataType]] = {}
    for name, schema in schemas.items():
        seen = {TYPE_COLUMN}
        for column in schema:
            folded = column.name.lower()
            if folded in seen:
                taken = "is a name that Eventide adds" if folded == TYPE_COLUMN else "is there twice"
                raise InputError(f"input {name}: column '{column.name}' {taken}", hint="rename it")
            seen.add(folded)
            other, found = first.setdefault(folded, (name, column.type))
            if not _is_one_type(found, column.type):
                types = f"{_type_name(found)} in input {other} and {_type_name(column.type)} in input {name}"
                raise InputError(f"column '{column.name}' is {types}", hint="cast one of them")
            if _type_name(found) == "NULL":
                first[folded] = name, column.type


def _is_one_type(left: pa.DataType, right: pa.DataType) -> bool:
    """Equal, or numbers that every engine widens to the same type; a column of NULLs has any type."""
    kinds = {kind(canonical(left)), kind(canonical(right))}
    return _type_name(left) == _type_name(right) or kinds <= {"integer", "double"} or "null" in kinds


def _type_name(dtype: pa.DataType) -> str:
    """Without what differs between files and says nothing about values."""
    return type_name(canonical(dtype)).replace(" not null", "")
