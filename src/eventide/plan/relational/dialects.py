"""What Spark and DuckDB spell differently in the statement of a mapped pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from eventide.errors import EventideError
from eventide.expressions.readings import is_next, readings
from eventide.expressions.split import EventValue
from eventide.expressions.typed import Source
from eventide.expressions.types import canonical, duckdb_type, type_name
from eventide.expressions.write_sql import write_spark, write_typed
from eventide.lang.nodes import copied
from eventide.lang.tree import Scalar
from eventide.plan.logical import Match
from eventide.plan.physical import SqlColumn
from eventide.plan.results import with_names
from eventide.runtime.quoting import backticked, literal, quoted
from eventide.runtime.times import UNIT_US, TimeType

DAY_US = 86_400_000_000
_BINARY = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
Names = Callable[[str, bool, str], str]  # symbol, whether it is the event after it, column: the name in the statement


@dataclass(frozen=True)
class Dialect:
    """One of the two; texts that go in are in the same dialect."""

    name: str

    @property
    def _is_spark(self) -> bool:
        return self.name == "spark"

    def quoted(self, name: str) -> str:
        """A name."""
        return backticked(name) if self._is_spark else quoted(name)

    def text(self, words: str) -> str:
        """A text as a value."""
        if not self._is_spark:
            return literal(words)
        return "'" + words.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def of_event(self, value: EventValue) -> str:
        """An expression over the columns of one event."""
        return value.spark if self._is_spark else value.duckdb

    def of_events(self, conjunct: Scalar, plan: Match, names: Names) -> str:
        """A condition between events, over the columns of a joined row."""
        if self._is_spark:
            return write_spark(_without_next(conjunct.tree), lambda column: _named(column, names))
        typed = plan.types.of(conjunct.tree)
        assert typed is not None
        found = {id(plan.types.of(node)): _name_of(node, names) for node in readings(conjunct.tree)}
        return write_typed(with_names(typed, found), Source(plan.query.text, conjunct.span))

    def result(self, column: SqlColumn) -> str:
        """A column of the result over those of the operator."""
        if self._is_spark:
            return column.spark
        if column.duckdb is None:
            hint = "ask for dialect 'spark'"
            raise EventideError(f"DuckDB cannot compute the result column '{column.name}'", hint=hint)
        return column.duckdb

    def opaque(self, condition: str) -> str:
        """The same condition in a form that no optimizer takes apart, so that storage gets none of it."""
        text = "STRING" if self._is_spark else "VARCHAR"
        return f"CAST(CAST(({condition}) AS {text}) AS BOOLEAN)"

    # --- times

    def micros(self, text: str, time_type: TimeType) -> str:
        """The time of an event as whole microseconds."""
        if time_type.unit is not None:
            unit_us, number = UNIT_US[time_type.unit], f"CAST({text} AS BIGINT)"
            return number if unit_us == 1 else f"{number} * {unit_us}"
        if pa.types.is_date(time_type.arrow):
            days = f"unix_date({text})" if self._is_spark else f"({text} - DATE '1970-01-01')"
            return f"CAST({days} AS BIGINT) * {DAY_US}"
        if not self._is_spark:
            # Of nanoseconds with a zone DuckDB knows no microseconds.
            is_fine = time_type.arrow.tz is not None and time_type.arrow.unit == "ns"
            return f"epoch_us(CAST({text} AS TIMESTAMPTZ))" if is_fine else f"epoch_us({text})"
        return f"unix_micros({text if time_type.arrow.tz is not None else f'CAST({text} AS TIMESTAMP)'})"

    def time(self, us: str, time_type: TimeType) -> str:
        """Whole microseconds as a time in the user's type; it is a whole number of its units."""
        if time_type.unit is not None:
            unit_us = UNIT_US[time_type.unit]
            return f"CAST({us if unit_us == 1 else self.floor(us, unit_us)} AS {self.type(time_type.arrow)})"
        if pa.types.is_date(time_type.arrow):
            days = self.floor(us, DAY_US)
            if self._is_spark:
                return f"date_from_unix_date(CAST({days} AS INT))"
            return f"(DATE '1970-01-01' + CAST({days} AS INTEGER))"
        is_zoned = time_type.arrow.tz is not None
        if self._is_spark:
            return f"timestamp_micros({us})" if is_zoned else f"CAST(timestamp_micros({us}) AS TIMESTAMP_NTZ)"
        return f"make_timestamp{'tz' if is_zoned else ''}({us})"

    def type(self, dtype: pa.DataType) -> str:
        """The name of a type."""
        if pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
            inner = self.type(dtype.value_type)
            return f"ARRAY<{inner}>" if self._is_spark else f"{inner}[]"
        if pa.types.is_struct(dtype):
            parts = [(self.quoted(field.name), self.type(field.type)) for field in dtype]
            if self._is_spark:
                return f"STRUCT<{', '.join(f'{name}: {kind}' for name, kind in parts)}>"
            return f"STRUCT({', '.join(f'{name} {kind}' for name, kind in parts)})"
        if pa.types.is_map(dtype):
            inner = f"{self.type(dtype.key_type)}, {self.type(dtype.item_type)}"
            return f"MAP<{inner}>" if self._is_spark else f"MAP({inner})"
        if not self._is_spark and any(test(dtype) for test in _BINARY):
            return "BLOB"
        if not self._is_spark and pa.types.is_time(dtype):
            return "TIME"
        kind = canonical(dtype)
        if pa.types.is_null(kind):
            return "STRING" if self._is_spark else "VARCHAR"
        return type_name(kind).upper() if self._is_spark else duckdb_type(kind)

    # --- whole numbers

    def floor(self, text: str, by: int) -> str:
        """The greatest whole number of `by` that is not above."""
        if by == 1:
            return text
        if self._is_spark:
            return f"(({text}) - pmod({text}, {by})) DIV {by}"
        return f"(({text}) - (({text}) % {by} + {by}) % {by}) // {by}"

    def whole(self, text: str) -> str:
        """A whole number of up to 38 digits."""
        return f"CAST({text} AS {'DECIMAL(38, 0)' if self._is_spark else 'HUGEINT'})"

    def divided(self, text: str, by: int) -> str:
        """A whole number divided by one that it is a multiple of."""
        return f"CAST(({text}) / {by} AS DECIMAL(38, 0))" if self._is_spark else f"({text}) // {by}"

    def product(self, text: str) -> str:
        """The product of whole numbers over a group."""
        if self._is_spark:
            factor = "CAST(made * factor AS DECIMAL(38, 0))"
            return f"aggregate(collect_list({text}), {self.whole('1')}, (made, factor) -> {factor})"
        return f"list_reduce(list({self.whole(text)}), lambda made, factor: made * factor)"

    def same(self, left: str, right: str) -> str:
        """Equality that NULL takes part in."""
        return f"{left} <=> {right}" if self._is_spark else f"{left} IS NOT DISTINCT FROM {right}"

    # --- arrays and rows

    def array(self, texts: Sequence[str], dtype: pa.DataType) -> str:
        """Values as an array."""
        if not texts:
            return f"CAST({'array()' if self._is_spark else '[]'} AS {self.type(pa.list_(dtype))})"
        return f"array({', '.join(texts)})" if self._is_spark else f"[{', '.join(texts)}]"

    def struct(self, parts: Sequence[tuple[str, str]]) -> str:
        """An event with all its columns: names and texts."""
        if self._is_spark:
            return f"struct({', '.join(f'{text} AS {self.quoted(name)}' for name, text in parts)})"
        return f"struct_pack({', '.join(f'{self.quoted(name)} := {text}' for name, text in parts)})"

    def each(self, texts: Sequence[str]) -> str:
        """A row for each of some values."""
        return f"explode(array({', '.join(texts)}))" if self._is_spark else f"unnest([{', '.join(texts)}])"

    def each_between(self, first: str, last: str) -> str:
        """A row for each whole number from the first to the last, which is not below it."""
        if self._is_spark:
            return f"explode(sequence({first}, {last}))"
        return f"unnest(range({first}, {last} + 1))"

    def fitting(self, conditions: Sequence[str], is_one_of: bool) -> str:
        """A row for the number of each condition that holds; where only one can hold, nothing has to be multiplied."""
        if is_one_of:
            return f"CASE {' '.join(f'WHEN {text} THEN {i}' for i, text in enumerate(conditions))} END"
        numbers = ", ".join(f"CASE WHEN {text} THEN {i} END" for i, text in enumerate(conditions))
        if self._is_spark:
            return f"explode(array_compact(array({numbers})))"
        return f"unnest(list_filter([{numbers}], lambda x: x IS NOT NULL))"

    def failing(self, message: str) -> str:
        """A value of Spark that is an error when it is asked for."""
        return f"raise_error({self.text(message)})"


SPARK, DUCKDB = Dialect("spark"), Dialect("duckdb")
DIALECTS = {"spark": SPARK, "duckdb": DUCKDB}


def _without_next(tree: exp.Expr) -> exp.Expr:
    """NEXT(A).x as a column of a table of its own, for the writer of columns."""

    def plain(node: exp.Expr) -> exp.Expr | None:
        if not is_next(node):
            return None
        table = exp.Identifier(this=f"NEXT {node.this.expressions[0].name}", quoted=True)
        return exp.Column(this=node.expression.copy(), table=table)

    return copied(tree, plain)


def _named(column: exp.Column, names: Names) -> str:
    table = column.table
    return names(table.removeprefix("NEXT "), table.startswith("NEXT "), column.name)


def _name_of(node: exp.Expr, names: Names) -> str:
    if isinstance(node, exp.Column):
        return names(node.table, False, node.name)
    return names(node.this.expressions[0].name, True, node.expression.name)
