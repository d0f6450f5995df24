"""The logical plan: what a query asks of its inputs, every name found and every expression typed, and nothing on how.

Every family binds to these nodes, rules rewrite them (see `plan.rules`), and a family lowers what comes out. `Scan` is
the leaf: one input, and what is known of it. A new kind of node needs its `inputs` and its lines in `plan.explain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.typecheck import Types
from eventide.lang.tree import EventQuery, Pattern, Scalar, SituationQuery, Span, Strategy, WindowQuery
from eventide.plan.options import Options
from eventide.plan.scope import Scope
from eventide.runtime.times import TimeType


class Logical:
    """A node of the plan."""

    __slots__ = ()

    @property
    def inputs(self) -> tuple[Logical, ...]:
        """The nodes whose rows it reads."""
        return ()

    def scans(self) -> Iterator[Scan]:
        """The inputs of the whole plan."""
        if isinstance(self, Scan):
            yield self
        for each in self.inputs:
            yield from each.scans()

    def over(self, provided: Provided) -> Logical:
        """The same plan over an input, with what is known of the input."""
        return self


@dataclass(frozen=True, slots=True)
class Provided:
    """What is known of an input before it is read. What is not known is None or empty.

    The order of the rows, statistics of columns and an index belong here when a rule asks for them.
    """

    n_rows: int | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Key:
    """A column that rows are ordered by."""

    column: str
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class Scan(Scope, Logical):
    """One input: its scope, its order, and what is known of it."""

    order: tuple[Key, ...] = ()  # where it is more than the time and the sequence
    is_stream: bool = False
    end: str = ""  # of intervals: `ts` is their start
    provided: Provided = field(default=Provided(), compare=False)

    @classmethod
    def of(cls, scope: Scope, **more: Any) -> Scan:
        """The input that a scope is about."""
        return cls(**{each.name: getattr(scope, each.name) for each in fields(Scope)}, **more)

    def over(self, provided: Provided) -> Scan:
        return replace(self, provided=provided)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name in PATTERN: the type of its events, and how PATTERN uses the name."""

    name: str
    type: str
    n_steps: int  # how many steps bear this name
    negated: bool
    repeated: bool

    @property
    def is_single(self) -> bool:
        """Whether a match binds exactly one event to it."""
        return self.n_steps == 1 and not self.negated and not self.repeated


@dataclass(frozen=True, slots=True)
class Reference:
    """A column read from the event of a symbol; no symbol: a partition column."""

    symbol: str | None
    column: str


@dataclass(frozen=True, slots=True)
class Item:
    """One RETURN column: its name, its tree with references as `symbol.column`, and what it reads."""

    name: str
    tree: exp.Expression
    reads: tuple[Reference, ...]
    aggregates: bool
    span: Span


@dataclass(frozen=True, slots=True)
class OneInput(Logical):
    """A node that reads one input."""

    input: Scan

    @property
    def inputs(self) -> tuple[Logical, ...]:
        return (self.input,)

    def over(self, provided: Provided) -> Self:
        return replace(self, input=self.input.over(provided))


@dataclass(frozen=True, slots=True)
class Match(OneInput):
    """Matches of an event pattern, one row each."""

    query: EventQuery
    pattern: Pattern
    symbols: Mapping[str, Symbol]
    strategy: Strategy
    conditions: Mapping[str, Scalar] = field(default_factory=dict)  # event type -> condition over plain column names
    conjuncts: tuple[Scalar, ...] = ()  # references as `symbol.column` and `NEXT(symbol).column`, names exact
    items: tuple[Item, ...] = ()
    reads: frozenset[str] = frozenset()  # columns that conditions and conjuncts read
    types: Types = field(default_factory=Types, compare=False, repr=False)  # of the nodes of all these trees

    @property
    def options(self) -> Options:
        given: Options = self.input.options
        return given

    @property
    def schema(self) -> pa.Schema:
        return self.input.schema

    @property
    def ts(self) -> str:
        return self.input.ts

    @property
    def time_type(self) -> TimeType:
        return self.input.time_type

    @property
    def sequence(self) -> str | None:
        return self.input.sequence

    @property
    def partition(self) -> tuple[str, ...]:
        return self.input.partition

    def in_order(self, names: set[str]) -> tuple[str, ...]:
        """Some columns in the schema's order."""
        return self.input.in_order(names)

    @property
    def aggregates(self) -> bool:
        return any(item.aggregates for item in self.items)


@dataclass(frozen=True, slots=True)
class Trends(Match):
    """Aggregates over the trends of an event pattern: a row for each window and group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situations(Match):
    """Situations, which conditions derive from the events, matched by their relations in time.

    Its pattern is the sequence of the situations, as symbols that conditions define.
    """

    tree: SituationQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Match):
    """Aggregates over windows of events: a row for each window and group. Its pattern is a single event."""

    tree: WindowQuery
    having: Item | None = None


@dataclass(frozen=True, slots=True)
class Navigation(OneInput):
    """What a language asks in which expressions navigate: PREV(x), first(x), the column of an earlier step.

    Its expressions are as they were written, each with a name; `lower` resolves and types them.
    """

    tree: Any
    conditions: tuple[tuple[str, str], ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    window_us: int | None = None


@dataclass(frozen=True, slots=True)
class Recognize(Navigation):
    """Matches of a row pattern: MATCH_RECOGNIZE."""


@dataclass(frozen=True, slots=True)
class Detect(Navigation):
    """Matches of a pattern of steps: the builder."""


@dataclass(frozen=True, slots=True)
class Intervals(Navigation):
    """Intervals that are derived from events: runs under a condition, or spans from a start to an end."""


@dataclass(frozen=True, slots=True)
class Equal:
    """A condition of a join that a left and a right value are equal: the trees, and the type in which they are."""

    left: exp.Expression
    right: exp.Expression
    dtype: pa.DataType
    text: str  # as it was written


@dataclass(frozen=True, slots=True)
class Join(Logical):
    """Pairs of rows of two inputs, within a length of time: rows with equal keys that meet the conditions.

    Of intervals the condition is that one of the `relations` holds. Columns in the trees are called left.l0, right.r3
    and so on, by their places in the schemas, because both inputs may have a column of one name.
    """

    left: Scan
    right: Scan
    relations: tuple[str, ...] = ()
    window_us: int | None = None
    tree: Any = None  # as it was written
    kind: str = "inner"  # or "left", "semi", "anti"
    keys: tuple[Equal, ...] = ()
    conjuncts: tuple[Scalar, ...] = ()  # of ON
    filters: tuple[Scalar, ...] = ()  # of WHERE
    items: tuple[Item, ...] = ()
    types: Types = field(default_factory=Types, compare=False, repr=False)  # of the nodes of all these trees

    @property
    def inputs(self) -> tuple[Logical, ...]:
        return self.left, self.right
