"""The aggregates of RETURN: what the operator computes for each, and how the user's columns are made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.split import EventValue
from eventide.expressions.typecheck import bind, columns_of
from eventide.expressions.typed import Source
from eventide.plan.columns import Columns
from eventide.plan.logical import Item, Match
from eventide.plan.physical import SqlColumn, column_as
from eventide.plan.results import project_item, renamed

Measure = TypeVar("Measure")


@dataclass(slots=True)
class Aggregates(Generic[Measure]):
    """The measures of a query, each once, and the values that they read; a family says what a measure is."""

    plan: Match
    columns: Columns
    numbers: dict[str, int]  # of the symbols
    measures: dict[Measure, int] = field(default_factory=dict)
    _made: dict[str, Measure] = field(default_factory=dict)  # by its text: a value is computed once

    # --- what a family says ---------------------------------------------------------------------------------

    def make(self, node: exp.Expr, item: Item) -> Measure:
        """The measure of an aggregate; an error when there is none."""
        raise NotImplementedError

    def output_type(self, measure: Measure) -> pa.DataType:
        """The type of the operator's column."""
        raise NotImplementedError

    def over(self, node: exp.Expr, item: Item) -> exp.Expr | None:
        """What stands for a node over the operator's columns; None: it stays, or is a column of the partition."""
        raise NotImplementedError

    def origin(self, tree: exp.Expr) -> str | None:
        """The user's column whose type an operator's column has."""
        raise NotImplementedError

    # --- what they share ------------------------------------------------------------------------------------

    def measure(self, node: exp.Expr, item: Item) -> Measure:
        """The measure of an aggregate, as it was made first."""
        text = node.sql("spark")
        if text not in self._made:
            made = self.make(node, item)
            self.measures.setdefault(made, len(self.measures))
            self._made[text] = made
        return self._made[text]

    def fields(self) -> list[pa.Field]:
        """The operator's columns."""
        return [pa.field(f"a{i}", self.output_type(measure)) for measure, i in self.measures.items()]

    def value(self, tree: exp.Expr, item: Item) -> tuple[EventValue, pa.DataType | None]:
        """What is aggregated, and its type: a plain column keeps its own."""
        plan, text, span = self.plan, self.plan.query.text, item.span
        assert isinstance(tree, exp.Expression)
        typed = bind(tree, columns_of(plan.schema, text, span, plan.types), text, span, plan.types)
        dtype = plan.schema.field(tree.name).type if isinstance(tree, exp.Column) else typed.dtype
        return EventValue(tree, typed, Source(text, span)), dtype

    def read(self, tree: exp.Expr, item: Item) -> tuple[str, pa.DataType | None]:
        """The block column of what is aggregated, and its type there."""
        value, dtype = self.value(tree, item)
        return self.columns.add_value(value), dtype

    def project(self, item: Item, schema: pa.Schema) -> SqlColumn:
        """The RETURN column over the operator's columns."""
        partition = self.plan.partition

        def replaced(node: exp.Expr) -> exp.Expr:
            return self.over(node, item) or renamed(node, lambda column: f"p{partition.index(column.name)}")

        tree = item.tree.transform(replaced)
        if not isinstance(tree, exp.Column):
            return project_item(item, tree, schema, self.plan, self.columns)
        origin = item.tree.name if isinstance(item.tree, exp.Column) else self.origin(item.tree)
        return column_as(item.name, tree.name, origin=origin)


def output_column(name: str) -> exp.Column:
    """A column of the operator's."""
    return exp.Column(this=exp.Identifier(this=name, quoted=True))
