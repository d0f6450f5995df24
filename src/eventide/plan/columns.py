"""The columns of a block: what the SQL engine computes for each event, and what the query reads; and the plan of both.

The names of block columns are part of saved state: an expression or a column that is asked for later comes later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.readings import readings
from eventide.expressions.split import EventValue, Split, split
from eventide.expressions.types import type_name
from eventide.lang.tree import Scalar, Step, Strategy
from eventide.plan.logical import Match
from eventide.plan.physical import Addend, Intake, Physical, SqlColumn, Wanted, column_as
from eventide.plan.places import option_error
from eventide.plan.references import references
from eventide.plan.scope import Scope, is_orderable
from eventide.plan.wanted import wanted_of
from eventide.runtime.block import MASK, SEQUENCE, TS, Layout
from eventide.runtime.protocol import Spec

MAX_STEPS = 62  # bits of a mask


def read_columns(plan: Match) -> tuple[str, ...]:
    """Every column the query reads, in schema order."""
    names = {reference.column for item in plan.items for reference in references(item.tree)}
    names |= plan.reads | {plan.ts, *plan.partition} | ({plan.sequence} if plan.sequence else set())
    return plan.in_order(names)


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


def check_told_apart(plan: Match, option: str) -> None:
    """The same where tied events always have an order."""
    for name in read_columns(plan):
        if plan.sequence is None and not is_orderable(plan.schema.field(name).type):
            message = f"nothing orders events with equal times: '{name}' has no order"
            raise option_error(plan.query, option, message, "name a column that does with sequence=")


class Columns:
    """The block's columns as they are asked for; `engine` "local" needs every expression on the allow-list.

    With `in_sequence` the column that orders tied events is part of the block, where the query has one.
    """

    def __init__(self, scope: Scope, engine: str, *, in_sequence: bool = False) -> None:
        self.scope = scope
        self.engine = engine
        self.schema = scope.schema
        self.sequence: SqlColumn | None = None
        if in_sequence and scope.sequence is not None:
            self.sequence = column_as(SEQUENCE, scope.sequence, origin=scope.sequence)
        self.returned: dict[str, str] = {}  # user column -> block column
        self._values: list[EventValue] = []
        self._texts: dict[str, str] = {}  # Spark text -> block column
        self._made: dict[int, tuple[EventValue, SqlColumn]] = {}  # by the id of the expression
        self.wanted: Wanted | None = None  # of the masks that were asked for
        self.wanted_by_step: list[Wanted] = []

    def of_column(self, name: str) -> str:
        """The block column of a column of the user's."""
        if name in self.scope.partition:
            return f"p{self.scope.partition.index(name)}"
        return self.returned.setdefault(name, f"c{len(self.returned)}")

    def of_value(self, value: EventValue) -> str:
        """The block column of an expression over one event; the same text has the same one."""
        if isinstance(value.expression, exp.Column):
            return self.of_column(value.expression.name)
        text = value.spark
        if text not in self._texts:
            self._texts[text] = self.add_value(value)
        return self._texts[text]

    def add_value(self, value: EventValue) -> str:
        """As `of_value`, with a block column of its own for an expression."""
        if isinstance(value.expression, exp.Column):
            return self.of_column(value.expression.name)
        self._values.append(value)
        return f"v{len(self._values) - 1}"

    def hold(self, names: Sequence[str]) -> list[str]:
        """Put the columns that have an order into the block; those of the names that are there then, as returned."""
        for name in names:
            if is_orderable(self.schema.field(name).type):
                self.of_column(name)
        return [name for name in names if name in self.returned]

    def read_by(self, values: Sequence[EventValue]) -> set[str]:
        """The user's columns that the block or other expressions read."""
        trees = [value.expression for value in (*self._values, *values)]
        return {*self.returned, *(column.name for tree in trees for column in tree.find_all(exp.Column))}

    def ties(self, read: set[str], without: str = "") -> tuple[str, ...]:
        """Columns that are read, in schema order: they tell events apart that the order does not."""
        names = self.scope.in_order(read - {*self.scope.partition, without})
        return tuple(self.of_column(name) for name in names if is_orderable(self.schema.field(name).type))

    def layout(self, n_masks: int = 1) -> Layout:
        """Masks beyond the first are values, too."""
        n_values = len(self._values) + max(n_masks - 1, 0)
        return Layout(len(self.scope.partition), n_values, len(self.returned), self.sequence is not None)

    def mask_names(self, n_masks: int) -> tuple[str, ...]:
        """The block columns of masks."""
        return tuple([MASK, *(f"v{len(self._values) + i}" for i in range(n_masks - 1))][:n_masks])

    def names(self) -> tuple[tuple[str, str], ...]:
        """Block columns that are columns of the user, with the user's names."""
        partition = [(f"p{i}", name) for i, name in enumerate(self.scope.partition)]
        told = self.sequence is not None and self.sequence.origin
        sequence = [(SEQUENCE, told)] if told else []
        return (*partition, *sequence, *((block, name) for name, block in self.returned.items()))

    def select(self, masks: Sequence[SqlColumn]) -> tuple[SqlColumn, ...]:
        """All of them, in block order."""
        items = [column_as(f"p{i}", name) for i, name in enumerate(self.scope.partition)]
        items.append(column_as(TS, self.scope.ts) if self.scope.ts else zero(TS))
        if self.sequence is not None:
            items.append(self.sequence)
        items.append(masks[0] if masks else zero(MASK))
        items += [self.column(f"v{i}", value) for i, value in enumerate(self._values)]
        items += masks[1:]
        items += [column_as(block, name) for name, block in self.returned.items()]
        return tuple(items)

    def column(self, name: str, value: EventValue) -> SqlColumn:
        """A computed column; off the allow-list it is an error locally and Catalyst's on Spark."""
        key = id(value.expression)
        if key not in self._made:
            self._made[key] = (value, self._computed(value))
        return replace(self._made[key][1], name=name)

    def _computed(self, value: EventValue) -> SqlColumn:
        try:
            return SqlColumn("", value.spark, value.duckdb)
        except QueryError:
            if self.engine == "local":
                raise
            return SqlColumn("", value.spark, None)

    def _test(self, value: EventValue) -> SqlColumn:
        return self.column(MASK, value)

    def masks(self, conditions: list[list[EventValue]]) -> list[SqlColumn]:
        """One bit per list of conditions: whether all of them hold."""
        masks: list[SqlColumn] = []
        names = self.mask_names(-(-len(conditions) // MAX_STEPS))
        for name, start in zip(names, range(0, len(conditions), MAX_STEPS), strict=True):
            some = conditions[start : start + MAX_STEPS]
            made = [list(map(self._test, values)) for values in some]
            spark = [_bit(k, [m.spark for m in columns], "L") for k, columns in enumerate(made)]
            duckdb = [_bit(k, [m.duckdb or "" for m in columns], "") for k, columns in enumerate(made)]
            # Bits never carry into each other, so a sum is the union.
            mask = SqlColumn(name, " + ".join(spark), None, n_bits=len(some))
            if all(m.duckdb is not None for columns in made for m in columns):
                mask = replace(mask, duckdb=_sum(duckdb), addends=_addends(some, duckdb))
            masks.append(mask)
        if len(masks) == 1:
            self.wanted_by_step = [wanted_of([step], self._test) for step in conditions]
            self.wanted = wanted_of(conditions, self._test)
        return masks

    def physical(
        self,
        spec: Spec,
        masks: Sequence[SqlColumn],
        project: Sequence[SqlColumn],
        output_schema: pa.Schema,
        *,
        keep_all: bool = True,
        **more: Any,
    ) -> Physical:
        """The plan over these columns; `more` are fields of `Physical`."""
        scope, options = self.scope, self.scope.options
        # Without a time NULL is a value like any other.
        drops = bool(scope.ts) and options.on_bad_event == "drop"
        return Physical(
            intake=Intake(spec.layout, scope.time_type, scope.ts, drops, keep_all, self.names()),
            select=self.select(masks),
            spec=spec,
            project=tuple(project),
            output_schema=output_schema,
            allowed_lateness_us=options.allowed_lateness,
            wanted=None if keep_all else self.wanted,
            **more,
        )


def columns_of_plan(plan: Match, engine: str) -> Columns:
    """The block's columns of a query text, with the sequence where something asks for it."""
    counts_events = plan.query.window is not None and plan.query.window.length.in_events
    ordered = plan.options.match_id or plan.options.ties == "sequence" or counts_events
    return Columns(plan.input, engine, in_sequence=ordered)


def of_plan(plan: Match) -> dict[str, Any]:
    """What a plan over events has besides its columns, its operator and its result."""
    return {
        "text": plan.query.text,
        "reads": read_columns(plan),
        "keep_all": plan.strategy is Strategy.CONTIGUOUS,
        "align_to_first": plan.options.origin == "first",
    }


def conditions_of(plan: Match, steps: Sequence[Step], parts: Split) -> list[list[EventValue]]:
    """Of each step what one event must meet: the condition of its type, and the conjuncts on it alone."""
    constants = [local.value for local in parts.locals if local.symbol is None]
    found = []
    for step in steps:
        alone = [local.value for local in parts.locals if local.symbol == step.symbol]
        found.append([_value(plan.conditions[step.type], plan), *constants, *alone])
    return found


def zero(name: str) -> SqlColumn:
    """A column of zeros."""
    return SqlColumn(name, "0L", "CAST(0 AS BIGINT)", addends=())


def _bit(k: int, texts: list[str], suffix: str) -> str:
    condition = " AND ".join(f"({text})" for text in texts)
    return f"CASE WHEN {condition} THEN {1 << k}{suffix} ELSE 0{suffix} END"


def _sum(texts: list[str]) -> str:
    return f"CAST({' + '.join(texts)} AS BIGINT)"


def _addends(conditions: list[list[EventValue]], bits: list[str]) -> tuple[Addend, ...]:
    """The bits of a mask by the column that their conditions read, where it is only one."""
    by_column: dict[str | None, list[str]] = {}
    for values, bit in zip(conditions, bits, strict=True):
        read = {column.name for value in values for column in readings(value.expression)}
        by_column.setdefault(read.pop() if len(read) == 1 else None, []).append(bit)
    return tuple(Addend(column, _sum(texts)) for column, texts in by_column.items())


def _value(condition: Scalar, plan: Match) -> EventValue:
    return split([condition], ["event"], plan.schema, plan.query.text, plan.types).locals[0].value
