"""What an expression of MATCH_RECOGNIZE reads from a match: leaves, over which the rest is an ordinary expression."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from eventide.lang.tree import Span
from eventide.runtime.aggregate_types import sum_type


@dataclass(frozen=True, slots=True)
class Slot:
    """A row of the match: FIRST or LAST of some labels with an offset, then PREV or NEXT by `shift` rows.

    `members` are label numbers, None for all rows. `final`: as the match ends, not as it has come so far.
    """

    members: tuple[int, ...] | None = None
    from_first: bool = False
    offset: int = 0
    shift: int = 0
    final: bool = False

    @property
    def is_current(self) -> bool:
        """Whether it is the row at which the expression is evaluated."""
        return self == _CURRENT

    @property
    def depends_on_path(self) -> bool:
        """Whether it depends on how the rows before the current one were labelled."""
        return self.members is not None

    @property
    def depends_on_start(self) -> bool:
        """Whether it depends on where the match began."""
        return self.members is not None or self.from_first or self.offset > 0


_CURRENT = Slot()


@dataclass(frozen=True, slots=True)
class ValueLeaf:
    """An expression over the columns of one row."""

    slot: Slot
    tree: exp.Expression
    span: Span


@dataclass(frozen=True, slots=True)
class LabelLeaf:
    """The number of the label of a row; NULL where there is no row, or one outside the match."""

    slot: Slot


@dataclass(frozen=True, slots=True)
class NumberLeaf:
    """MATCH_NUMBER()."""


@dataclass(frozen=True, slots=True)
class FoldLeaf:
    """An aggregate over the rows with some labels: COUNT, SUM, MIN or MAX of an expression over one row; None: rows."""

    function: str
    members: tuple[int, ...] | None
    tree: exp.Expression | None
    final: bool
    span: Span


@dataclass(frozen=True, slots=True)
class ListLeaf:
    """An expression over one row for all rows with some labels, as a list; None: the numbers of their labels."""

    members: tuple[int, ...] | None
    tree: exp.Expression | None
    final: bool
    span: Span


@dataclass(frozen=True, slots=True)
class AggregateLeaf:
    """Any other aggregate, for DuckDB: a key of `AGGREGATES` and how it is called, `name`.

    The `arguments` read columns "0", "1", ... that are items of `lists`, and "number", which is MATCH_NUMBER(): those
    of the aggregate, then `n_keys` to sort by, then, if `filtered`, the condition of FILTER.
    """

    function: str
    arguments: tuple[exp.Expression, ...]
    lists: tuple[ListLeaf, ...]
    distinct: bool
    span: Span
    constants: tuple[object, ...] = ()
    order: tuple[str, ...] = ()  # how WITHIN GROUP sorts: "ASC NULLS FIRST"
    n_keys: int = 0
    filtered: bool = False
    ignores_nulls: bool = False
    name: str = ""


CodeLeaf = ValueLeaf | LabelLeaf | NumberLeaf | FoldLeaf  # what compiled code can read
Leaf = CodeLeaf | ListLeaf | AggregateLeaf


@dataclass(frozen=True, slots=True)
class Resolved:
    """An expression whose columns are its leaves: column "0" is `leaves[0]`."""

    tree: exp.Expression
    leaves: tuple[Leaf, ...]
    span: Span


def columns_read(leaves: Iterable[Leaf]) -> set[str]:
    """The columns of the table that leaves read."""
    names: set[str] = set()
    for leaf in leaves:
        match leaf:
            case ValueLeaf() | FoldLeaf() | ListLeaf():
                names |= {column.name for column in leaf.tree.find_all(exp.Column)} if leaf.tree is not None else set()
            case AggregateLeaf():
                names |= columns_read(leaf.lists)
    return names


def leaf_type(leaf: CodeLeaf, value: pa.DataType | None) -> pa.DataType | None:
    """The type of a leaf whose expression has the type `value`, by Spark's rules."""
    match leaf:
        case ValueLeaf():
            return value
        case LabelLeaf():
            return pa.int32()
        case NumberLeaf():
            return pa.int64()
    if leaf.function == "COUNT":
        return pa.int64()
    if leaf.function in ("MIN", "MAX") or value is None:
        return value
    return sum_type(value)
