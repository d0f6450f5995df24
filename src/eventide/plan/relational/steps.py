"""The events of each step as a relation: partition, time, order, and the columns that the query reads of them.

Columns: `p0..` the partition, `t` microseconds, `o` the number of the event in its partition, `v` what is directly
before it in order, `c0..` the columns of the schema by number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.readings import is_next, readings
from eventide.expressions.split import EventValue, split
from eventide.lang.tree import Scalar, Step, Strategy
from eventide.plan.columns import conditions_of, read_columns
from eventide.plan.logical import Match
from eventide.plan.references import references, walk_steps
from eventide.plan.relational.algebra import Events, Extend, Filter, Named, Project, Relation
from eventide.plan.relational.dialects import SPARK, Dialect
from eventide.plan.scope import is_orderable
from eventide.plan.wanted import is_usable

TIME, NUMBER, BEFORE, FITS = "t", "o", "v", "fits"
NO_TIME = "an event has no time: '{}' is NULL; fill in the time, or pass on_bad_event=\"drop\""


@dataclass(frozen=True)
class Steps:
    """The relations of a query's steps."""

    plan: Match
    dialect: Dialect
    reads: Mapping[str, tuple[str, ...]]  # of each symbol the columns that are carried along
    relations: dict[str, Relation] = field(default_factory=dict)

    @property
    def rank(self) -> str:
        """The column that says what follows what."""
        return TIME if self.plan.options.ties == "strict" else NUMBER

    @property
    def place(self) -> str:
        """The column that windows measure."""
        return NUMBER if self._counts_events else TIME

    @property
    def _counts_events(self) -> bool:
        window = self.plan.query.window
        return window is not None and window.length.in_events

    @property
    def keys(self) -> tuple[str, ...]:
        """The partition columns."""
        return tuple(f"p{i}" for i in range(len(self.plan.partition)))

    @property
    def ordering(self) -> tuple[str, ...]:
        """The columns that every event of a step has beside its partition and what is read of it."""
        numbered = (NUMBER,) if NUMBER in (self.rank, self.place) else ()
        return (TIME, *numbered, *((BEFORE,) if self.plan.strategy is Strategy.CONTIGUOUS else ()))

    def column(self, name: str) -> str:
        """What a column of the events is called."""
        return f"c{self.plan.schema.get_field_index(name)}"

    @cached_property
    def conditions(self) -> dict[str, tuple[str, ...]]:
        """Of each symbol what one event must meet."""
        plan = self.plan
        alone = [conjunct for conjunct in plan.conjuncts if not relates_events(conjunct)]
        parts = split(alone, list(plan.symbols), plan.schema, plan.query.text, plan.types)
        steps: dict[str, Step] = {}
        for step, _, _ in walk_steps(plan.pattern):
            steps.setdefault(step.symbol, step)
        values = conditions_of(plan, list(steps.values()), parts)
        return {
            symbol: tuple(dict.fromkeys(map(self._of_event, some))) for symbol, some in zip(steps, values, strict=True)
        }

    def _of_event(self, value: EventValue) -> str:
        """A condition that loses no row with NaN by statistics of files: see `plan.wanted`."""
        text = self.dialect.of_event(value)
        reads = [self.plan.schema.field(column.name).type for column in value.expression.find_all(exp.Column)]
        if is_usable(value.typed) or not any(map(pa.types.is_floating, reads)):
            return text
        return self.dialect.opaque(text)

    def condition(self, symbol: str) -> str:
        """The same as one text."""
        texts = self.conditions[symbol]
        return texts[0] if len(texts) == 1 else " AND ".join(f"({text})" for text in texts)

    @property
    def time(self) -> str:
        """The time of an event in microseconds; on Spark an error where there is none, unless such events are dropped.

        In this process events without a time are looked for before the statement runs.
        """
        us = self.dialect.micros(self.dialect.quoted(self.plan.ts), self.plan.time_type)
        return self._if_there(us, "BIGINT")

    def _if_there(self, text: str, kind: str) -> str:
        plan = self.plan
        is_always = plan.options.on_bad_event == "drop" or not plan.schema.field(plan.ts).nullable
        if is_always or self.dialect is not SPARK:
            return text
        failing = self.dialect.failing(NO_TIME.format(plan.ts))
        return f"CASE WHEN {self.dialect.quoted(plan.ts)} IS NULL THEN CAST({failing} AS {kind}) ELSE {text} END"

    def of(self, symbol: str) -> Relation:
        """The events of a step."""
        if symbol not in self.relations:
            self.relations[symbol] = self._made(symbol)
        return self.relations[symbol]

    def together(self, symbols: list[str], fits: str) -> Relation:
        """The events of several steps in one scan, each as often as it is fit for one of them."""
        read = self.plan.in_order({name for symbol in symbols for name in self.reads.get(symbol, ())})
        named = (*self._partition(), (TIME, self.time), *self._columns(read), (FITS, fits))
        return Events(named, tuple(self.condition(symbol) for symbol in symbols), self.kept)

    def _made(self, symbol: str) -> Relation:
        if len(self.ordering) == 1:
            named = (*self._partition(), (TIME, self.time), *self._columns(self.reads.get(symbol, ())))
            return Events(named, (self.condition(symbol),), self.kept)
        number = list(self.conditions).index(symbol)
        names = (*self.keys, *self.ordering, *(self.column(name) for name in self.reads.get(symbol, ())))
        return Project(Filter(self._ordered, (f"m{number}",)), tuple((name, name) for name in names))

    @cached_property
    def _ordered(self) -> Relation:
        """All events that matter, in order, with a mark for each step that an event is fit for."""
        plan = self.plan
        whole = self._counts_events or plan.strategy is Strategy.CONTIGUOUS
        told = [name for name in read_columns(plan) if is_orderable(plan.schema.field(name).type)]
        read = {name for names in self.reads.values() for name in names} | set(told)
        marks = [(f"m{i}", self.condition(symbol)) for i, symbol in enumerate(self.conditions)]
        conditions = () if whole else tuple(self.condition(symbol) for symbol in self.conditions)
        named = (*self._partition(), (TIME, self.time), *self._columns(plan.in_order(read)), *marks)
        events: Relation = Events(named, conditions, self.kept)
        keys = f"PARTITION BY {', '.join(self.keys)} " if self.keys else ""
        if NUMBER in self.ordering:
            first = [plan.sequence] if plan.sequence is not None else []
            order = [TIME, *(self.column(name) for name in dict.fromkeys([*first, *told]) if name != plan.ts)]
            by = ", ".join(f"{name} NULLS FIRST" for name in order)
            events = Extend(events, ((NUMBER, f"row_number() OVER ({keys}ORDER BY {by}) - 1"),))
        if BEFORE in self.ordering:
            frame = "RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
            text = f"max({self.rank}) OVER ({keys}ORDER BY {self.rank} {frame})"
            events = Extend(events, ((BEFORE, text),))
        return events

    def _partition(self) -> tuple[Named, ...]:
        return tuple((f"p{i}", self.dialect.quoted(name)) for i, name in enumerate(self.plan.partition))

    def _columns(self, names: tuple[str, ...]) -> tuple[Named, ...]:
        kind = self.dialect.type(self.plan.time_type.arrow)
        return tuple(
            (self.column(name), self._if_there(text, kind) if name == self.plan.ts else text)
            for name, text in ((name, self.dialect.quoted(name)) for name in names)
        )

    @property
    def kept(self) -> tuple[str, ...]:
        """What every event must meet, whatever its step."""
        drops = self.plan.options.on_bad_event == "drop"
        return (f"{self.dialect.quoted(self.plan.ts)} IS NOT NULL",) if drops else ()


def relates_events(conjunct: Scalar) -> bool:
    """Whether a conjunct is about more than one event."""
    return len({reference.symbol for reference in references(conjunct.tree)}) > 1 or has_next(conjunct)


def has_next(conjunct: Scalar) -> bool:
    """Whether a conjunct relates an event to the one after it."""
    return any(is_next(node) for node in readings(conjunct.tree))
