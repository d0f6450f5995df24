"""The logical plan: a query bound to a schema. Rewrite rules take one and give one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from eventide.expressions.typecheck import Types
from eventide.lang.tree import EventQuery, Pattern, Scalar, Span, Strategy
from eventide.plan.scope import Scope


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name in PATTERN: the type of its events and how it stands there."""

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
class Bound(Scope):
    """Every name found in the schema, every expression checked; nothing decided about execution."""

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
    def aggregates(self) -> bool:
        return any(item.aggregates for item in self.items)
