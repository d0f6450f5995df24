"""The aggregates of RETURN over trends: how many, and COUNT, SUM, MIN, MAX and AVG over the events of symbols."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.types import canonical, kind
from eventide.families.trends.outputs import output_type
from eventide.families.trends.spec import Measure
from eventide.lang.positions import span_of
from eventide.plan import aggregates
from eventide.plan.bind_items import AGGREGATES
from eventide.plan.logical import Item
from eventide.plan.places import error_at


@dataclass(slots=True)
class Aggregates(aggregates.Aggregates[Measure]):
    """The measures of a query, and the sets of symbols whose events they go over."""

    counted: dict[frozenset[int], int] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        """Register the aggregates of a RETURN column."""
        for node in item.tree.find_all(*AGGREGATES):
            self.measure(node, item)

    def output_type(self, measure: Measure) -> pa.DataType:
        return output_type(measure, self.plan.options.counts)

    def over(self, node: exp.Expr, item: Item) -> exp.Expr | None:
        if not isinstance(node, AGGREGATES):
            return None
        measure = self.measure(node, item)
        column = aggregates.output_column(f"a{self.measures[measure]}")
        # Decimals of 38 digits leave no room to compute with.
        is_wide = pa.types.is_decimal(self.output_type(measure))
        return exp.cast(column, "double") if is_wide and node.parent is not None else column

    def origin(self, tree: exp.Expr) -> str | None:
        return tree.this.name if isinstance(tree, exp.Min | exp.Max) and isinstance(tree.this, exp.Column) else None

    def make(self, node: exp.Expr, item: Item) -> Measure:
        function = node.sql_name().upper()  # type: ignore[attr-defined]
        span = span_of(node, item.span)
        if self.plan.options.counts == "log2" and function == "SUM":
            message = "a SUM has no logarithm: it may be negative"
            hint = 'return AVG and COUNT, or give counts="double"'
            raise error_at(self.plan.query, span, message, hint)
        if isinstance(node.this, exp.Star):
            return Measure(function)
        symbols = self._symbols(node)
        number = self.counted.setdefault(symbols, len(self.counted))
        if isinstance(node.this, exp.Identifier):
            return Measure(function, number)
        column, dtype = self.read(node.this, item)
        if dtype is None and function != "COUNT":
            message = "nothing says of which type this is"
            raise error_at(self.plan.query, span, message, f"cast it: {function}(CAST(... AS DOUBLE))")
        if dtype is not None and function in ("SUM", "AVG") and kind(canonical(dtype)) == "decimal":
            dtype = canonical(dtype)
        return Measure(function, number, column, dtype)

    def _symbols(self, node: exp.Expr) -> frozenset[int]:
        if isinstance(node.this, exp.Identifier):
            return frozenset([self.numbers[node.this.name]])
        tables = {column.table for column in node.find_all(exp.Column) if column.table}
        return frozenset(self.numbers[table] for table in tables)
