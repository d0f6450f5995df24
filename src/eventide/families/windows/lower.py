"""Queries of windows to their executable form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.kept_aggregates import arguments_of, function_of
from eventide.expressions.split import split
from eventide.families.windows.bind import BOUNDS, bound_name, is_aggregate, kind_of
from eventide.families.windows.operator import result_fields
from eventide.families.windows.partials import output_type
from eventide.families.windows.spec import ALL, COUNT, SESSION, Measure, Windows, WindowSpec
from eventide.lang.positions import call_span
from eventide.lang.tree import Step
from eventide.plan.aggregates import output_column
from eventide.plan.columns import Columns, check_told_apart, conditions_of, of_plan, read_columns
from eventide.plan.facts import canonical, with_options
from eventide.plan.kept_aggregates import KeptAggregates, picked_column
from eventide.plan.logical import Item, Window
from eventide.plan.physical import Physical, SqlColumn, column_as
from eventide.plan.places import error_at
from eventide.plan.windows import broken_units
from eventide.runtime.block import SEQUENCE


def lower_windows(plan: Window, engine: str) -> Physical:
    """The executable form; `engine` "local" needs every expression on the allow-list."""
    windows = _windows(plan)
    is_counted = windows.kind == COUNT
    columns = Columns(plan.input, engine, in_sequence=True)
    told: list[str] = []
    if is_counted:
        check_told_apart(plan, "sequence")
        told = columns.hold(_read(plan))
    aggregates = Aggregates(plan, columns, {})
    shown = [*plan.items, *([plan.having] if plan.having is not None else [])]
    for item in shown:
        aggregates.add(item)
    layout = columns.layout()
    sequence = [SEQUENCE] if layout.has_sequence else []
    spec = WindowSpec(
        query=canonical(plan.tree, plan.input, {"origin": plan.options.origin}),
        layout=layout,
        windows=windows,
        measures=tuple(aggregates.measures),
        time_type=plan.time_type,
        tie_columns=(*sequence, *(columns.returned[name] for name in told)),
    )
    out = pa.schema([*plan.input.partition_fields(), *result_fields(spec)])
    parts = split(plan.conjuncts, list(plan.symbols), plan.schema, plan.query.text, plan.types)
    assert isinstance(plan.pattern, Step)
    made = columns.physical(
        spec,
        columns.masks(conditions_of(plan, [plan.pattern], parts)),
        (*(aggregates.project(item, out) for item in plan.items), *_added(plan)),
        out,
        having=None if plan.having is None else aggregates.project(plan.having, out),
        windows_close=windows.kind != ALL,
        holds_aggregates=not is_counted,
        **{**of_plan(plan), "reads": _read(plan)},
    )
    return with_options(made, plan.options, plan.schema)


def _read(plan: Window) -> tuple[str, ...]:
    """Every column that the query reads, in schema order."""
    if plan.having is None:
        return read_columns(plan)
    return read_columns(replace(plan, items=(*plan.items, plan.having)))


def _windows(plan: Window) -> Windows:
    windowing, kind = plan.tree.windowing, kind_of(plan.tree)
    if windowing is None:
        return Windows(ALL, 0, 0)
    size = windowing.length.amount
    slide = (windowing.slide or windowing.length).amount
    origin = plan.options.origin if isinstance(plan.options.origin, int) else 0
    if kind == SESSION:
        slide = 0
    if kind != COUNT:
        complaint = broken_units(plan.time_type, plan.ts, (size, slide, origin))
        if complaint is not None:
            raise error_at(plan.query, windowing.span, *complaint)
    return Windows(kind, size, slide, 0 if kind in (SESSION, COUNT) else origin)


def _added(plan: Window) -> Iterator[SqlColumn]:
    """What every row carries besides RETURN: the window, unless RETURN names it, and when it was complete."""
    returned = {item.name.lower() for item in plan.items}
    origin = None if kind_of(plan.tree) == COUNT else plan.ts
    if plan.tree.windowing is not None:
        yield from (column_as(name, name, origin=origin) for name in BOUNDS if name not in returned)
    yield column_as("detected_at", "detected_at", origin=plan.ts)


@dataclass(slots=True)
class Aggregates(KeptAggregates[Measure]):
    """The measures of a query."""

    def add(self, item: Item) -> None:
        """Register what a RETURN column reads."""
        for node in item.tree.walk():
            if is_aggregate(node):
                self.measure(node, item)

    def output_type(self, measure: Measure) -> pa.DataType:
        return output_type(measure)

    def over(self, node: exp.Expr, item: Item) -> exp.Expr | None:
        bound = bound_name(node)
        if bound is not None:
            return output_column(bound)
        return output_column(f"a{self.measures[self.measure(node, item)]}") if is_aggregate(node) else None

    def origin(self, tree: exp.Expr) -> str | None:
        if bound_name(tree) is not None:
            return None if kind_of(self.plan.tree) == COUNT else self.plan.ts  # type: ignore[attr-defined]
        return picked_column(tree)

    def make(self, node: exp.Expr, item: Item) -> Measure:
        function = function_of(node)
        arguments = arguments_of(node) if function is not None else []
        if function is None or any(isinstance(each, exp.Distinct) for each in arguments):
            span = call_span(node, item.span, self.plan.query.text)
            raise error_at(self.plan.query, span, "this aggregate is not kept over windows yet")
        if isinstance(arguments[0], exp.Star):
            return Measure("COUNT")
        name, columns = self.kept(node, item)
        return Measure(name, *columns)
