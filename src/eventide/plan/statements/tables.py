"""Tables and results of a statement on DuckDB, and what joins and set operations make of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from eventide.expressions.types import canonical, column_type, common_type, duckdb_type
from eventide.plan.statements.scopes import Named, Relation, Scope, Value
from eventide.runtime.quoting import quoted


@dataclass(frozen=True, slots=True)
class Table:
    """What a statement may read: `sql` can stand in FROM; `names` are those of its columns in DuckDB."""

    sql: str
    schema: pa.Schema
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A query on DuckDB, and the columns of its result."""

    sql: str
    columns: tuple[tuple[str, pa.DataType], ...]


def merge(scope: Scope, left: list[Named], right: Relation, shared: list[tuple[Named, Named]], word: str) -> None:
    """One column for two that are equal, in front, as Spark has it."""
    merged = []
    for one, two in shared:
        dtype = common_type(column_type(one.value.dtype), column_type(two.value.dtype))
        both = f"coalesce({one.value.sql}, {two.value.sql})"
        value = {"RIGHT JOIN": two.value, "FULL JOIN": Value(both, dtype)}.get(word, one.value)
        merged.append(Named(one.name, value))
    gone = {id(named) for pair in shared for named in pair}
    scope.visible = merged + [named for named in (*left, *right.columns) if id(named) not in gone]


def apart(names: Sequence[str]) -> tuple[str, ...]:
    """Names that differ in any case.

    >>> apart(["a", "A", "b"])
    ('a', 'A_1', 'b')
    """
    taken: set[str] = set()
    found = []
    for name in names:
        made, n = name, 0
        while made.lower() in taken:
            n += 1
            made = f"{name}_{n}"
        taken.add(made.lower())
        found.append(made)
    return tuple(found)


def cast(value: Value, dtype: pa.DataType) -> str:
    """A value in another type.

    >>> cast(Value("x", pa.int32()), pa.float64())
    'CAST(x AS DOUBLE)'
    """
    if value.dtype == dtype:
        return value.sql
    return f"CAST({value.sql} AS {duckdb_type(canonical(dtype))})"


def cast_columns(side: Written, types: Sequence[pa.DataType]) -> str:
    """A query whose columns have these types.

    >>> cast_columns(Written("SELECT 1 AS a", (("a", pa.int32()),)), [pa.int64()])
    'SELECT CAST(c0 AS BIGINT) AS "a" FROM (SELECT 1 AS a) AS s(c0)'
    """
    if [dtype for _, dtype in side.columns] == list(types):
        return side.sql
    items = [
        f"{cast(Value(f'c{i}', dtype), wanted)} AS {quoted(name)}"
        for i, ((name, dtype), wanted) in enumerate(zip(side.columns, types, strict=True))
    ]
    inside = ", ".join(f"c{i}" for i in range(len(types)))
    return f"SELECT {', '.join(items)} FROM ({side.sql}) AS s({inside})"
