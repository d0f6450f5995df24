"""Syntax tree of MATCH_RECOGNIZE, of table functions of windows, and of a statement around them.

As in `lang.tree`: nodes are frozen, a `Span` of offsets into the statement takes no part in equality, scalar
expressions are sqlglot trees. A label is upper-case unless it was written in quotes, as the standard says, and
`CLASSIFIER()` returns it so.
"""

# ruff: noqa: RUF009 (the default that `_span` returns is immutable)
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from eventide.lang.tokens import Token
from eventide.lang.tree import Length, Name, Scalar, Span, Windowing


def _span() -> Span:
    return field(compare=False, repr=False, default=Span(0, 0))


# --- the pattern ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Label:
    """One row that satisfies the label's DEFINE condition, or any row when it has none."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Concat:
    """Parts one after the other; no parts: the empty pattern `()`."""

    parts: tuple[RowPattern, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Choice:
    """`A | B`: left to right in order of preference."""

    parts: tuple[RowPattern, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Permute:
    """`PERMUTE(A, B)`: all orders of the parts, preferred in lexicographic order."""

    parts: tuple[RowPattern, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Anchor:
    """`^` before the first row of the partition, `$` after the last."""

    at_end: bool
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Excluded:
    """`{- P -}`: matched, and left out of ALL ROWS PER MATCH."""

    part: RowPattern
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Quantified:
    """`P{minimum,maximum}`; None is unbounded. Greedy unless reluctant (`?` behind the quantifier)."""

    part: RowPattern
    minimum: int
    maximum: int | None
    reluctant: bool = False
    span: Span = _span()


RowPattern = Label | Concat | Choice | Permute | Anchor | Excluded | Quantified


# --- the clause -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SortItem:
    """One ORDER BY column; without NULLS FIRST or LAST, NULLs are first ascending and last descending, as in Spark."""

    column: Name
    descending: bool = False
    nulls_first: bool | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Measure:
    value: Scalar
    alias: Name
    span: Span = _span()


class Rows(Enum):
    """Which rows come out; the value is what the printer writes."""

    ONE = "ONE ROW PER MATCH"
    ALL = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    ALL_OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    ALL_WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


class SkipTo(Enum):
    """Where matching resumes; the value is what the printer writes."""

    PAST_LAST_ROW = "PAST LAST ROW"
    NEXT_ROW = "TO NEXT ROW"
    FIRST = "TO FIRST"
    LAST = "TO LAST"


@dataclass(frozen=True, slots=True)
class Skip:
    """`AFTER MATCH SKIP ...`; `SKIP TO A` is `SKIP TO LAST A`. `label` may be a SUBSET's name."""

    to: SkipTo
    label: Name | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Subset:
    """`SUBSET U = (A, B)`."""

    name: Name
    members: tuple[Name, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class LabelDefinition:
    """`DEFINE B AS price < PREV(price)`."""

    label: Name
    condition: Scalar
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class RowQuery:
    """One MATCH_RECOGNIZE clause, as written; nothing is checked against a schema yet.

    In expressions, sqlglot trees: `A.price` is a column with a table, `PREV`, `NEXT`, `FIRST`, `LAST`, `CLASSIFIER`
    and `MATCH_NUMBER` are `exp.Anonymous` with that name in upper case, `RUNNING x` and `FINAL x` are `exp.Anonymous`
    RUNNING(x) and FINAL(x), `count(A.*)` is `exp.Count` of a column whose name is `exp.Star`; the other aggregates are
    `exp.Anonymous`, too. Labels before a dot and in `CLASSIFIER(A)` are written as in PATTERN: upper-case, or exact
    when quoted.
    """

    text: str = field(compare=False, repr=False)  # the whole statement
    pattern: RowPattern
    define: tuple[LabelDefinition, ...] = ()
    partition_by: tuple[Name, ...] = ()
    order_by: tuple[SortItem, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows: Rows = Rows.ONE
    skip: Skip = Skip(SkipTo.PAST_LAST_ROW)
    within: Length | None = None
    subset: tuple[Subset, ...] = ()
    span: Span = _span()


# --- the statement ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recognition:
    """One `relation MATCH_RECOGNIZE (...) [AS] alias [(columns)]` in a statement.

    `relation` is the SQL text of the input with its own alias: `trades`, `db.trades AS t`, `(VALUES ...) t(a, b)`.
    `span` covers all of it, from the relation to the end of the alias.
    """

    relation: str
    clause: RowQuery
    alias: str | None = None
    columns: tuple[str, ...] = ()
    span: Span = _span()

    @property
    def relation_span(self) -> Span:
        """Where the relation stands: in front."""
        return Span(self.span.start, self.span.start + len(self.relation))


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """One `TUMBLE(TABLE relation, DESCRIPTOR(column), ...) [AS] alias [(columns)]` in a statement, also HOP and others.

    `span` covers all of it, with the `TABLE(...)` around it where there is one. `offset` moves the windows, in
    microseconds.
    """

    name: str
    relation: str
    relation_span: Span
    column: Name
    windowing: Windowing
    offset: int = 0
    partition_by: tuple[Name, ...] = ()
    alias: str | None = None
    columns: tuple[str, ...] = ()
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Statement:
    """A SQL statement; its parts are in the order of their ends, so an inner one comes before the one around it."""

    text: str = field(compare=False)
    recognitions: tuple[Recognition, ...] = ()
    functions: tuple[WindowFunction, ...] = ()
    tokens: tuple[Token, ...] = field(default=(), compare=False, repr=False)  # where there are parts

    @property
    def parts(self) -> tuple[Part, ...]:
        """All that is run before the rest of the statement."""
        return tuple(sorted((*self.recognitions, *self.functions), key=lambda part: part.span.end))


Part = Recognition | WindowFunction
