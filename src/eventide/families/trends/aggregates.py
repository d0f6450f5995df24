"""The aggregates of RETURN: what the operator computes for each, and how the user's columns are made of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.split import EventValue
from eventide.expressions.typecheck import bind, columns_of
from eventide.expressions.typed import Source
from eventide.expressions.types import canonical, kind
from eventide.families.trends.outputs import output_type
from eventide.families.trends.spec import Measure
from eventide.lang.positions import span_of
from eventide.plan.bind_items import AGGREGATES
from eventide.plan.columns import Columns
from eventide.plan.logical import Item, Match
from eventide.plan.physical import SqlColumn
from eventide.plan.places import error_at
from eventide.plan.results import project_item, renamed


@dataclass(slots=True)
class Aggregates:
    """The measures of a query, each once, and the values that they read."""

    plan: Match
    columns: Columns
    numbers: dict[str, int]  # of the pattern's symbols
    counted: dict[frozenset[int], int] = field(default_factory=dict)
    measures: dict[Measure, int] = field(default_factory=dict)
    _made: dict[str, Measure] = field(default_factory=dict)  # by its text: a value is computed once

    def add(self, item: Item) -> None:
        """Register the aggregates of a RETURN column."""
        for node in item.tree.find_all(*AGGREGATES):
            self._measure(node, item)

    def project(self, item: Item, schema: pa.Schema) -> SqlColumn:
        """The RETURN column over the operator's columns."""
        partition = self.plan.partition

        def replaced(node: exp.Expr) -> exp.Expr:
            if isinstance(node, AGGREGATES):
                measure = self._measure(node, item)
                column = exp.Column(this=exp.Identifier(this=f"a{self.measures[measure]}", quoted=True))
                # Decimals of 38 digits leave no room to compute with.
                is_wide = node is not item.tree and pa.types.is_decimal(output_type(measure, self.plan.options.counts))
                return exp.cast(column, "double") if is_wide and node.parent is not None else column
            return renamed(node, lambda column: f"p{partition.index(column.name)}") if not _inside(node) else node

        tree = item.tree.transform(replaced)
        if isinstance(item.tree, AGGREGATES):
            assert isinstance(tree, exp.Column)
            measure = self._measure(item.tree, item)
            origin = None
            if measure.function in ("MIN", "MAX") and isinstance(item.tree.this, exp.Column):
                origin = item.tree.this.name
            return SqlColumn(item.name, f"`{tree.name}`", f'"{tree.name}"', origin)
        return project_item(item, tree, schema, self.plan, self.columns)

    def fields(self) -> list[pa.Field]:
        """The operator's columns."""
        counts = self.plan.options.counts
        return [pa.field(f"a{i}", output_type(measure, counts)) for measure, i in self.measures.items()]

    def _measure(self, node: exp.Expr, item: Item) -> Measure:
        text = node.sql("spark")
        if text not in self._made:
            self._made[text] = self._make(node, item)
        return self._made[text]

    def _make(self, node: exp.Expr, item: Item) -> Measure:
        function = node.sql_name().upper()  # type: ignore[attr-defined]
        span = span_of(node, item.span)
        if self.plan.options.counts == "log2" and function == "SUM":
            message = "a SUM has no logarithm: it may be negative"
            hint = 'return AVG and COUNT, or give counts="double"'
            raise error_at(self.plan.query, span, message, hint)
        measure = Measure(function)
        if not isinstance(node.this, exp.Star):
            symbols = self._symbols(node)
            number = self.counted.setdefault(symbols, len(self.counted))
            measure = Measure(function, number)
            if not isinstance(node.this, exp.Identifier):
                value = self._value(node.this, item)
                self.columns.add_values([value])
                dtype = value.dtype if not isinstance(value.expression, exp.Column) else self._given(value.expression)
                if dtype is None and function != "COUNT":
                    message = "nothing says of which type this is"
                    raise error_at(self.plan.query, span, message, f"cast it: {function}(CAST(... AS DOUBLE))")
                if dtype is not None and function in ("SUM", "AVG") and kind(canonical(dtype)) == "decimal":
                    dtype = canonical(dtype)
                measure = Measure(function, number, self.columns.value_names.pop(), dtype)
        self.measures.setdefault(measure, len(self.measures))
        return measure

    def _given(self, column: exp.Column) -> pa.DataType:
        return self.plan.schema.field(column.name).type

    def _symbols(self, node: exp.Expr) -> frozenset[int]:
        if isinstance(node.this, exp.Identifier):
            return frozenset([self.numbers[node.this.name]])
        tables = {column.table for column in node.find_all(exp.Column) if column.table}
        return frozenset(self.numbers[table] for table in tables)

    def _value(self, tree: exp.Expr, item: Item) -> EventValue:
        plan = self.plan
        text, span = plan.query.text, item.span
        assert isinstance(tree, exp.Expression)
        typed = bind(tree, columns_of(plan.schema, text, span, plan.types), text, span, plan.types)
        return EventValue(tree, typed, Source(text, span))


def _inside(node: exp.Expr) -> bool:
    return node.find_ancestor(*AGGREGATES) is not None
