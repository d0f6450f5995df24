"""The columns of a block: what the SQL engine computes for each event, and what the query reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.readings import readings
from eventide.expressions.split import EventValue, Split, split
from eventide.expressions.types import type_name
from eventide.lang.tree import Scalar, Step
from eventide.plan.logical import Match
from eventide.plan.physical import Addend, SqlColumn
from eventide.plan.places import option_error
from eventide.plan.references import is_orderable, references
from eventide.runtime.block import MASK, SEQUENCE, TS, Layout

MAX_STEPS = 62  # bits of the mask


def read_columns(plan: Match) -> tuple[str, ...]:
    """Every column the query reads, in schema order."""
    names = {reference.column for item in plan.items for reference in references(item.tree)}
    names |= plan.reads | {plan.ts, *plan.partition} | ({plan.sequence} if plan.sequence else set())
    return tuple(name for name in plan.schema.names if name in names)


def check_ties(plan: Match) -> None:
    """Where tied events have an order or an id, something must tell them apart."""
    if plan.sequence is not None:
        return
    for name in read_columns(plan):
        kind = plan.schema.field(name).type
        if is_orderable(kind):
            continue
        hint = "name a column that does with sequence="
        message = f"nothing tells events with equal times apart: '{name}' is {type_name(kind)}"
        if plan.options.ties == "sequence":
            raise option_error(plan.query, "ties", message, hint)
        if plan.options.match_id:
            raise option_error(plan.query, "match_id", message, hint)


class Columns:
    """The block's columns as they are asked for: each user column and each value once."""

    def __init__(self, plan: Match, engine: str) -> None:
        self._plan = plan
        self.engine = engine
        counts_events = plan.query.window is not None and plan.query.window.length.in_events
        ordered = plan.options.match_id or plan.options.ties == "sequence" or counts_events
        self._needs_sequence = plan.sequence is not None and ordered
        self.returned: dict[str, str] = {}  # user column -> block column
        self.value_names: list[str] = []  # block column of each value
        self._values: list[EventValue] = []
        self._made: dict[int, tuple[EventValue, SqlColumn]] = {}  # by the id of the expression

    def add_values(self, values: Iterable[EventValue]) -> None:
        """Values that are plain columns share the block column with what is returned."""
        for value in values:
            if isinstance(value.expression, exp.Column):
                self.value_names.append(self.block_column(value.expression.name))
            else:
                self.value_names.append(f"v{len(self._values)}")
                self._values.append(value)

    def block_column(self, name: str) -> str:
        plan = self._plan
        if name in plan.partition:
            return f"p{plan.partition.index(name)}"
        return self.returned.setdefault(name, f"c{len(self.returned)}")

    def layout(self) -> Layout:
        plan = self._plan
        return Layout(
            n_partition=len(plan.partition),
            n_values=len(self._values),
            n_returned=len(self.returned),
            has_sequence=self._needs_sequence,
        )

    def names(self) -> tuple[tuple[str, str], ...]:
        """Block columns that are columns of the user, with the user's names."""
        plan = self._plan
        partition = [(f"p{i}", name) for i, name in enumerate(plan.partition)]
        sequence = [(SEQUENCE, str(plan.sequence))] if self._needs_sequence else []
        return (*partition, *sequence, *((block, name) for name, block in self.returned.items()))

    def select(self, mask: SqlColumn) -> tuple[SqlColumn, ...]:
        plan = self._plan
        items = [self._plain(f"p{i}", name) for i, name in enumerate(plan.partition)]
        items.append(self._plain(TS, plan.ts))
        if self._needs_sequence:
            items.append(self._plain(SEQUENCE, str(plan.sequence)))
        items.append(mask)
        items += [self.column(f"v{i}", value) for i, value in enumerate(self._values)]
        items += [self._plain(block, name) for name, block in self.returned.items()]
        return tuple(items)

    def column(self, name: str, value: EventValue) -> SqlColumn:
        """A computed column; off the allow-list it is an error locally and Catalyst's on Spark."""
        key = id(value.expression)
        if key not in self._made:
            self._made[key] = (value, self._computed(value))
        return replace(self._made[key][1], name=name)

    def _computed(self, value: EventValue) -> SqlColumn:
        try:
            duckdb = value.duckdb
        except QueryError:
            if self.engine == "local":
                raise
            return SqlColumn("", value.spark, None)
        return SqlColumn("", value.spark, duckdb)

    def _plain(self, name: str, column: str) -> SqlColumn:
        quoted = column.replace('"', '""')
        return SqlColumn(name, "`" + column.replace("`", "``") + "`", f'"{quoted}"')


def mask_column(plan: Match, steps: Sequence[Step], parts: Split, columns: Columns) -> SqlColumn:
    """One bit per step: the event has the step's type and satisfies the conjuncts on it alone."""
    spark: list[str] = []
    duckdb: list[str] | None = []
    conditions = conditions_of(plan, steps, parts)
    for k, values in enumerate(conditions):
        made = [columns.column(MASK, value) for value in values]
        spark.append(f"CASE WHEN {' AND '.join(f'({m.spark})' for m in made)} THEN {1 << k}L ELSE 0L END")
        texts = [m.duckdb for m in made]
        if duckdb is not None and all(text is not None for text in texts):
            duckdb.append(f"CASE WHEN {' AND '.join(f'({t})' for t in texts)} THEN {1 << k} ELSE 0 END")
        else:
            duckdb = None
    # Bits of different steps never carry into each other, so a sum is the union.
    joined = None if duckdb is None else f"CAST({' + '.join(duckdb)} AS BIGINT)"
    addends = None if duckdb is None else addends_of(conditions, duckdb)
    return SqlColumn(MASK, " + ".join(spark), joined, addends=addends, n_bits=len(conditions))


def conditions_of(plan: Match, steps: Sequence[Step], parts: Split) -> list[list[EventValue]]:
    """Of each step what one event must meet: the condition of its type, and the conjuncts on it alone."""
    constants = [local.value for local in parts.locals if local.symbol is None]
    found = []
    for step in steps:
        alone = [local.value for local in parts.locals if local.symbol == step.symbol]
        found.append([_value(plan.conditions[step.type], plan), *constants, *alone])
    return found


def addends_of(conditions: list[list[EventValue]], bits: list[str]) -> tuple[Addend, ...]:
    """The bits of a mask by the column that their conditions read, where it is only one."""
    by_column: dict[str | None, list[str]] = {}
    for values, bit in zip(conditions, bits, strict=True):
        read = {column.name for value in values for column in readings(value.expression)}
        by_column.setdefault(read.pop() if len(read) == 1 else None, []).append(bit)
    return tuple(Addend(column, f"CAST({' + '.join(texts)} AS BIGINT)") for column, texts in by_column.items())


def _value(condition: Scalar, plan: Match) -> EventValue:
    return split([condition], ["event"], plan.schema, plan.query.text, plan.types).locals[0].value
