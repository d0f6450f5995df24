"""Syntax trees of the query languages.

Nodes are frozen and carry a `Span` of offsets into the query text, which takes no part in equality, so that a
printed and re-parsed query equals the original. Scalar expressions are sqlglot trees (Spark dialect) whose
`meta["start"]`, `meta["end"]` (inclusive, as sqlglot writes them) are offsets into the whole query text.
"""

# ruff: noqa: RUF009 (the default that `_span` returns is immutable)
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of offsets into the query text."""

    start: int
    end: int


def _span() -> Span:
    return field(compare=False, repr=False, default=Span(0, 0))


class Strategy(Enum):
    """Selection strategy; the value is the word the printer writes."""

    ANY = "skip-till-any-match"
    NEXT = "skip-till-next-match"
    CONTIGUOUS = "contiguous"


@dataclass(frozen=True, slots=True)
class Name:
    """A column or type name as written, without quotes."""

    text: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar expression: the sqlglot tree, its text as written, and that text in one line where it was read."""

    tree: exp.Expression
    text: str = field(compare=False)
    span: Span = _span()
    line: str = field(compare=False, repr=False, default="")


# --- patterns ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a type, bound to a symbol; `Check` alone is bound to the symbol `Check`."""

    type: str
    symbol: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Seq:
    parts: tuple[Pattern, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Pattern, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Pattern, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Not:
    """Absence; stands only inside a `Seq`."""

    part: Pattern
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Repeat:
    """`P+` is {1,}, `P*` {0,}, `P?` {0,1}, `ITER(P, m)` {m,m}; `maximum` None is unbounded."""

    part: Pattern
    minimum: int
    maximum: int | None
    span: Span = _span()


Pattern = Step | Seq | And | Or | Not | Repeat


# --- clauses ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Definition:
    """`DEFINE Big AS amount > 1000`: an event type by predicate."""

    name: Name
    condition: Scalar
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Length:
    """A window length: microseconds, or a number of events."""

    amount: int
    in_events: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Window:
    """`WITHIN length [SLIDE slide]`."""

    length: Length
    slide: Length | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ReturnItem:
    """One RETURN expression with its alias, if any."""

    value: Scalar
    alias: Name | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Option:
    """`OPTIONS (ts = 'time', ts_unit = 's')`: what may also be passed to `ev.query`."""

    name: Name
    value: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class EventQuery:
    """One event-pattern query, as written; nothing is checked against a schema yet."""

    text: str = field(compare=False, repr=False)
    pattern: Pattern
    source: Name | None = None
    partition_by: tuple[Name, ...] = ()
    define: tuple[Definition, ...] = ()
    same: tuple[Name, ...] = ()  # [region]: equality across all events, from WHERE
    where: tuple[Scalar, ...] = ()  # the other top-level conjuncts of WHERE
    semantics: Strategy | None = None
    group_by: tuple[Name, ...] = ()
    window: Window | None = None
    min_length: int | None = None
    returns: tuple[ReturnItem, ...] = ()
    complete_trends: bool = False
    whole_events: bool = False  # RETURN *
    options: tuple[Option, ...] = ()


# --- situations -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Situation:
    """`DEFINE A AS accel > 8 MAX GAP 1 minute FOR AT LEAST 5 seconds`: a condition that lasts; None is no bound."""

    name: Name
    condition: Scalar
    minimum: Length | None = None
    maximum: Length | None = None
    max_gap: Length | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Constraint:
    """`A meets|overlaps B`: what may hold between two situations, names of relations as `lang.relations` has them."""

    left: Name
    right: Name
    relations: tuple[str, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class SituationQuery:
    """One situation query, as written; nothing is checked against a schema yet."""

    text: str = field(compare=False, repr=False)
    define: tuple[Situation, ...]
    pattern: tuple[Constraint, ...]
    source: Name | None = None
    partition_by: tuple[Name, ...] = ()
    window: Window | None = None
    complete: bool = False  # EMIT ON COMPLETE
    returns: tuple[ReturnItem, ...] = ()
    options: tuple[Option, ...] = ()

    @property
    def symbols(self) -> tuple[str, ...]:
        """The situations of PATTERN, in the order of DEFINE."""
        used = {name.text for constraint in self.pattern for name in (constraint.left, constraint.right)}
        return tuple(each.name.text for each in self.define if each.name.text in used)

    @property
    def events(self) -> EventQuery:
        """What the query says of single events, for what both languages have in common."""
        return EventQuery(
            text=self.text,
            pattern=Seq(tuple(Step(name, name) for name in self.symbols)),
            partition_by=self.partition_by,
            define=tuple(Definition(each.name, each.condition, each.span) for each in self.define),
            window=self.window,
            options=self.options,
        )


# --- windows ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Windowing:
    """Which windows events are aggregated in.

    "time": `WITHIN length [SLIDE slide]`. "growing": `WITHIN UP TO length STEP slide`. "session": `SESSION length`.
    """

    kind: str
    length: Length
    slide: Length | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """A query without PATTERN, as written: a filter, or aggregates over windows."""

    text: str = field(compare=False, repr=False)
    returns: tuple[ReturnItem, ...] = ()
    whole_events: bool = False  # RETURN *
    source: Name | None = None
    partition_by: tuple[Name, ...] = ()  # not a clause of these queries
    where: Scalar | None = None
    group_by: tuple[Name, ...] = ()
    windowing: Windowing | None = None
    every: Length | None = None  # EMIT EVERY
    empty: bool = False  # EMIT EMPTY
    having: Scalar | None = None
    options: tuple[Option, ...] = ()

    @property
    def events(self) -> EventQuery:
        """What the query says of single events, for what all languages have in common: a pattern of one event."""
        name = self.source.text if self.source is not None else "event"
        every = Scalar(exp.Boolean(this=True), "TRUE")
        return EventQuery(
            text=self.text,
            pattern=Step(name, name),
            define=(Definition(Name(name), every),),
            where=() if self.where is None else (self.where,),
            group_by=self.group_by,
            options=self.options,
        )


# --- joins ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Side:
    """One input of a join: the name of its rows, and the symbol that stands for one of them."""

    source: Name
    symbol: Name

    @property
    def name(self) -> str:
        return self.symbol.text


@dataclass(frozen=True, slots=True)
class Within:
    """How far apart the two rows of a pair may be: `before` and `after` bound how far the right one is away.

    One of them is None where right rows of that direction join nothing: then ties do not join, either.
    """

    before: Length | None
    after: Length | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class JoinQuery:
    """A join of two inputs, as written.

    `kind` is "inner", "left", "semi" or "anti". `asof` is "backward", "forward" or "nearest" where each left row takes
    the nearest right one, with `all_ties` all that are as near.
    """

    text: str = field(compare=False, repr=False)
    left: Side
    right: Side
    on: Scalar | None = None
    kind: str = "inner"
    asof: str | None = None
    all_ties: bool = False
    within: Within | None = None
    where: Scalar | None = None
    returns: tuple[ReturnItem, ...] = ()  # none: RETURN *
    options: tuple[Option, ...] = ()
    partition_by: tuple[Name, ...] = ()  # not a clause of these queries

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.left, self.right


AnyQuery = EventQuery | SituationQuery | WindowQuery | JoinQuery
