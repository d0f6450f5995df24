"""The block's columns for MATCH_RECOGNIZE, as they are asked for: each user column and each value once."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.split import EventValue
from eventide.plan.columns import addends_of
from eventide.plan.physical import SqlColumn
from eventide.runtime.block import MASK, SEQUENCE, Layout

BITS_PER_MASK = 62


class RowColumns:
    """Names of block columns, and the SQL that makes them; `engine` "local" needs everything on the allow-list."""

    def __init__(self, partition: tuple[str, ...], schema: pa.Schema, engine: str) -> None:
        self.partition = partition
        self.schema = schema
        self.engine = engine
        self.returned: dict[str, str] = {}  # user column -> block column
        self._values: dict[str, tuple[str, EventValue]] = {}  # Spark text -> block column and value

    def of_column(self, name: str) -> str:
        """The block column of a column of the user's."""
        if name in self.partition:
            return f"p{self.partition.index(name)}"
        return self.returned.setdefault(name, f"c{len(self.returned)}")

    def of_value(self, value: EventValue) -> str:
        """The block column of an expression over one row."""
        if isinstance(value.expression, exp.Column):
            return self.of_column(value.expression.name)
        return self._values.setdefault(value.spark, (f"v{len(self._values)}", value))[0]

    def read_by_values(self) -> set[str]:
        """The user's columns that the expressions read."""
        trees = [value.expression for _, value in self._values.values()]
        return {column.name for tree in trees for column in tree.find_all(exp.Column)}

    def layout(self, n_masks: int) -> Layout:
        return Layout(len(self.partition), len(self._values) + max(n_masks - 1, 0), len(self.returned))

    def mask_names(self, n_masks: int) -> tuple[str, ...]:
        """Masks beyond the first are values, too."""
        return tuple([MASK, *(f"v{len(self._values) + i}" for i in range(n_masks - 1))][:n_masks])

    def names(self) -> tuple[tuple[str, str], ...]:
        """Block columns that are columns of the user, with the user's names."""
        partition = [(f"p{i}", name) for i, name in enumerate(self.partition)]
        return (*partition, *((block, name) for name, block in self.returned.items()))

    def select(self, ts: SqlColumn, masks: list[SqlColumn], *, by_arrival: bool) -> tuple[SqlColumn, ...]:
        items = [plain(f"p{i}", name) for i, name in enumerate(self.partition)]
        items.append(ts)
        if by_arrival:
            items.append(SqlColumn(SEQUENCE, "monotonically_increasing_id()", None))
        items += [masks[0] if masks else SqlColumn(MASK, "0L", "CAST(0 AS BIGINT)", addends=())]
        items += [self.column(name, value) for name, value in self._values.values()]
        items += masks[1:]
        items += [plain(block, name) for name, block in self.returned.items()]
        return tuple(items)

    def column(self, name: str, value: EventValue) -> SqlColumn:
        """A computed column; off the allow-list it is an error locally and Catalyst's on Spark."""
        try:
            return SqlColumn(name, value.spark, value.duckdb)
        except QueryError:
            if self.engine == "local":
                raise
            return SqlColumn(name, value.spark, None)

    def masks(self, conditions: list[list[EventValue]]) -> list[SqlColumn]:
        """One bit per list of conditions: whether all of them hold."""
        masks: list[SqlColumn] = []
        for start in range(0, len(conditions), BITS_PER_MASK):
            some = conditions[start : start + BITS_PER_MASK]
            made = [[self.column(MASK, value) for value in values] for values in some]
            name = MASK if start == 0 else f"v{len(self._values) + len(masks) - 1}"
            spark = [_bit(k, [m.spark for m in columns], "L") for k, columns in enumerate(made)]
            duckdb = [_bit(k, [m.duckdb or "" for m in columns], "") for k, columns in enumerate(made)]
            local = all(m.duckdb is not None for columns in made for m in columns)
            # Bits never carry into each other, so a sum is the union.
            text = _sum(duckdb) if local else None
            addends = addends_of(some, duckdb) if local else None
            masks.append(SqlColumn(name, " + ".join(spark), text, addends=addends))
        return masks


def _bit(k: int, texts: list[str], suffix: str) -> str:
    condition = " AND ".join(f"({text})" for text in texts)
    return f"CASE WHEN {condition} THEN {1 << k}{suffix} ELSE 0{suffix} END"


def _sum(texts: list[str]) -> str:
    return f"CAST({' + '.join(texts)} AS BIGINT)"


def plain(name: str, column: str) -> SqlColumn:
    """A column of the user's under another name."""
    quoted = column.replace('"', '""')
    return SqlColumn(name, "`" + column.replace("`", "``") + "`", f'"{quoted}"')
