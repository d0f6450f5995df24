"""Aggregates over trends of one event each: trends are events, so windows of events answer the query.

Names, types and rows are those of aggregates over trends.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.split import split
from eventide.families.windows.operator import result_fields
from eventide.families.windows.partials import output_type
from eventide.families.windows.spec import ALL, TIME, Measure, Windows, WindowSpec
from eventide.lang.tree import Step
from eventide.plan.aggregates import Aggregates, output_column
from eventide.plan.bind_items import AGGREGATES
from eventide.plan.columns import Columns, conditions_of, of_plan
from eventide.plan.facts import meaning
from eventide.plan.kept_aggregates import is_wide
from eventide.plan.logical import Item, Match
from eventide.plan.physical import Physical
from eventide.plan.results import added_columns
from eventide.plan.windows import slide_of

WHY = "a trend is one event here, so windows of events answer the query"


def lower_single_events(plan: Match, engine: str) -> Physical | None:
    """The executable form of a plan whose partition is its groups; None where windows have not all of its values."""
    columns = Columns(plan.input, engine)
    aggregates = _Aggregates(plan, columns, {})
    nodes = [(node, item) for item in plan.items for node in item.tree.find_all(*AGGREGATES)]
    if not all(aggregates.can_keep(node, item) for node, item in nodes):
        return None
    for node, item in nodes:
        aggregates.measure(node, item)
    slide, windows = slide_of(plan), Windows(ALL, 0, 0)
    if slide is not None:
        windows = Windows(TIME, slide.length_us, slide.slide_us, slide.origin_us)
    spec = WindowSpec(
        query=meaning(plan),
        layout=columns.layout(),
        windows=windows,
        measures=tuple(aggregates.measures),
        time_type=plan.time_type,
    )
    schema = pa.schema([*plan.input.partition_fields(), *result_fields(spec)])
    parts = split(plan.conjuncts, list(plan.symbols), plan.schema, plan.query.text, plan.types)
    assert isinstance(plan.pattern, Step)
    return columns.physical(
        spec,
        columns.masks(conditions_of(plan, [plan.pattern], parts)),
        (*(aggregates.project(item, schema) for item in plan.items), *added_columns(plan)),
        schema,
        windows_close=slide is not None,
        holds_aggregates=True,
        # The next event matters to trends of several events only.
        **{**of_plan(plan), "keep_all": False},
    )


@dataclass(slots=True)
class _Aggregates(Aggregates[Measure]):
    """COUNT, SUM, MIN, MAX and AVG over the events of the one symbol."""

    def can_keep(self, node: exp.Expr, item: Item) -> bool:
        """Whether what is kept of panes holds the aggregate's value: whole numbers of 64 bits."""
        if isinstance(node.this, exp.Star | exp.Identifier):
            return True
        dtype = self.value(node.this, item)[1]
        if dtype is None:
            return False
        return not (isinstance(node, exp.Sum | exp.Avg) and is_wide(dtype))

    def make(self, node: exp.Expr, item: Item) -> Measure:
        if isinstance(node.this, exp.Star | exp.Identifier):
            return Measure("COUNT", is_wide=True)
        function = node.sql_name().upper()  # type: ignore[attr-defined]
        return Measure(function, *self.read(node.this, item), is_wide=True)

    def output_type(self, measure: Measure) -> pa.DataType:
        return output_type(measure)

    def over(self, node: exp.Expr, item: Item) -> exp.Expr | None:
        if not isinstance(node, AGGREGATES):
            return None
        measure = self.measure(node, item)
        column = output_column(f"a{self.measures[measure]}")
        # As for other trends: decimals of 38 digits leave no room to compute with.
        is_decimal = pa.types.is_decimal(self.output_type(measure))
        return exp.cast(column, "double") if is_decimal and node.parent is not None else column

    def origin(self, tree: exp.Expr) -> str | None:
        return tree.this.name if isinstance(tree, exp.Min | exp.Max) and isinstance(tree.this, exp.Column) else None
