"""The algebra that event patterns are mapped to: relations as frozen nodes, conditions as SQL over their columns.

Every column of a relation has a name of its own, so that no condition needs to say which side of a join it reads:
`e2_t` is the time of the second event of a match. Partition columns of the left side keep their names `p0`, `p1`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

Named = tuple[str, str]  # a column and the text that makes it


class Relation:
    """A node; `columns` are the names of what it has."""

    @property
    def inputs(self) -> tuple[Relation, ...]:
        """The relations that it reads."""
        return ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        raise NotImplementedError

    def over(self, *inputs: Relation) -> Relation:
        """The same node over other relations."""
        assert not inputs
        return self


@dataclass(frozen=True)
class Events(Relation):
    """The events that some conditions, as they were written, leave; none: all. `named` are the columns."""

    named: tuple[Named, ...]
    conditions: tuple[str, ...] = ()  # one of these must hold
    always: tuple[str, ...] = ()  # all of these must hold

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.named)


@dataclass(frozen=True)
class _One(Relation):
    input: Relation

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    def over(self, *inputs: Relation) -> Relation:
        (only,) = inputs
        return self if only is self.input else replace(self, input=only)


@dataclass(frozen=True)
class Filter(_One):
    """The rows for which all conditions hold."""

    conditions: tuple[str, ...]


@dataclass(frozen=True)
class Project(_One):
    """Other columns, each made of those of a row; `is_result`: under names that the user has chosen."""

    named: tuple[Named, ...]
    is_result: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.named)


def renamed(input_: Relation, named: tuple[Named, ...]) -> Relation:
    """Columns under other names; of names that were given just before, the columns themselves."""
    if isinstance(input_, Project):
        known = dict(input_.named)
        return Project(input_.input, tuple((new, known[old]) for new, old in named))
    return Project(input_, named)


@dataclass(frozen=True)
class Extend(_One):
    """More columns beside those that are there; window functions, too."""

    named: tuple[Named, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *(name for name, _ in self.named))


@dataclass(frozen=True)
class Range:
    """`later - earlier < width`, and where `is_ordered` the later one is not before the earlier one.

    Of two times that may come in either order the difference is bounded in both directions.
    """

    left: str  # a column of the left side
    right: str  # a column of the right side
    width: int
    order: int  # 1: the right one is later, -1: the left one, 0: either


@dataclass(frozen=True)
class Join(Relation):
    """Pairs of rows with equal keys, NULL like any value, for which all conditions hold; `range` is one of them."""

    left: Relation
    right: Relation
    keys: tuple[tuple[str, str], ...]
    conditions: tuple[str, ...]
    range: Range | None = None
    plain: tuple[tuple[str, str], ...] = ()  # keys that are never NULL

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.left, self.right

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.left.columns, *self.right.columns)

    def over(self, *inputs: Relation) -> Relation:
        left, right = inputs
        return self if (left, right) == (self.left, self.right) else replace(self, left=left, right=right)


@dataclass(frozen=True)
class Absent(Relation):
    """The rows of `input` for which `negated` has no row that all conditions hold for."""

    input: Relation
    negated: Relation
    keys: tuple[tuple[str, str], ...]
    conditions: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.input, self.negated

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    def over(self, *inputs: Relation) -> Relation:
        return replace(self, input=inputs[0], negated=inputs[1])


@dataclass(frozen=True)
class Union(Relation):
    """The rows of all, which have the same columns."""

    parts: tuple[Relation, ...]

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.parts

    @property
    def columns(self) -> tuple[str, ...]:
        return self.parts[0].columns

    def over(self, *inputs: Relation) -> Relation:
        return replace(self, parts=inputs)


@dataclass(frozen=True)
class Running(Relation):
    """The rows of `input`, each with an extreme over the rows of `other` on one side of it in order.

    `before`: the greatest `value` of those whose `at` is less than `order`; else the least one of those whose `at` is
    greater. Rows with the same `at` as the row itself are on neither side.
    """

    input: Relation
    other: Relation
    order: str  # column of `input`
    at: str  # column of `other`
    value: str  # column of `other`
    name: str
    keys: tuple[tuple[str, str], ...]
    before: bool

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.input, self.other

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, self.name)

    def over(self, *inputs: Relation) -> Relation:
        return replace(self, input=inputs[0], other=inputs[1])


@dataclass(frozen=True)
class Earliest(_One):
    """Of all rows with the same `by` those whose `value` is least."""

    by: tuple[str, ...]
    value: str


@dataclass(frozen=True)
class Grouped(_One):
    """Aggregates of all rows with the same `by`."""

    by: tuple[str, ...]
    named: tuple[Named, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.by, *(name for name, _ in self.named))


@dataclass(frozen=True)
class Spread(_One):
    """Each row once for every whole number from `first` to `last`, as the column `name`; none: no row."""

    name: str
    first: str
    last: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, self.name)
