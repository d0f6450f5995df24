"""The aggregates of a situation query: those that can be kept while events come, by Spark's names."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.kept_aggregates import arguments_of, function_of
from eventide.families.situations.measures import output_type
from eventide.families.situations.spec import Measure
from eventide.lang.situations import END
from eventide.plan import aggregates
from eventide.plan.kept_aggregates import KeptAggregates, picked_column
from eventide.plan.logical import Item


def bound_of(node: exp.Expr) -> tuple[str, str] | None:
    """For `start(A)` and `end(A)`: which of the two, and the situation."""
    if not isinstance(node, exp.Anonymous) or len(node.expressions) != 1:
        return None
    word = {"START": "start", END: "end"}.get(str(node.this).upper())
    argument = node.expressions[0]
    return (word, argument.name) if word is not None and isinstance(argument, exp.Identifier) else None


@dataclass(slots=True)
class Aggregates(KeptAggregates[Measure]):
    """The measures of a query, and the ends that are returned."""

    starts: dict[int, None] = field(default_factory=dict)
    ends: dict[int, None] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        """Register what a RETURN column reads."""
        for node in item.tree.walk():
            ends = bound_of(node)
            if ends is not None:
                (self.starts if ends[0] == "start" else self.ends).setdefault(self.numbers[ends[1]])
            elif function_of(node) is not None:
                self.measure(node, item)

    def output_type(self, measure: Measure) -> pa.DataType:
        return output_type(measure)

    def over(self, node: exp.Expr, item: Item) -> exp.Expr | None:
        ends = bound_of(node)
        if ends is not None:
            return aggregates.output_column(f"{'s' if ends[0] == 'start' else 'e'}{self.numbers[ends[1]]}")
        if function_of(node) is None:
            return None
        return aggregates.output_column(f"a{self.measures[self.measure(node, item)]}")

    def origin(self, tree: exp.Expr) -> str | None:
        if bound_of(tree) is not None:
            return self.plan.ts
        return picked_column(tree)

    def make(self, node: exp.Expr, item: Item) -> Measure:
        arguments = arguments_of(node)
        if isinstance(arguments[0], exp.Identifier):
            return Measure(self.numbers[arguments[0].name], "COUNT")
        (symbol,) = {column.table for argument in arguments for column in argument.find_all(exp.Column)}
        function, columns = self.kept(node, item)
        return Measure(self.numbers[symbol], function, *columns)
