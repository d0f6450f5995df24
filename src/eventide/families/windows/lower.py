"""Queries of windows to their executable form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.kept_aggregates import arguments_of, function_of
from eventide.expressions.split import split
from eventide.expressions.typed import Source
from eventide.expressions.types import type_name
from eventide.families.windows.bind import BOUNDS, bound_name, general_of, is_aggregate, is_kept, kind_of
from eventide.families.windows.operator import measure_fields, result_fields
from eventide.families.windows.partials import output_type
from eventide.families.windows.spec import ALL, COUNT, IS_FINAL, SESSION, Measure, Windows, WindowSpec, list_of
from eventide.lang.positions import call_span
from eventide.lang.tree import Step
from eventide.plan.aggregates import output_column
from eventide.plan.columns import Columns, check_told_apart, conditions_of, of_plan, read_columns
from eventide.plan.facts import canonical, with_options
from eventide.plan.kept_aggregates import KeptAggregates, is_wide, picked_column
from eventide.plan.list_aggregates import aggregate_lists, need_type
from eventide.plan.logical import Item, Window
from eventide.plan.physical import Physical, SqlColumn, column_as
from eventide.plan.places import error_at
from eventide.plan.windows import broken_units
from eventide.runtime.block import SEQUENCE, TS
from eventide.runtime.computed import Computed

_BEFORE = "the query"


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
    for item in (*plan.items, *([plan.having] if plan.having is not None else [])):
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
        is_filtered=bool(plan.conjuncts) and not is_counted,
        every_us=plan.tree.every.amount if plan.tree.every is not None else 0,
        is_early=plan.input.is_stream and plan.tree.every is not None,
        has_empty=plan.tree.empty,
    )
    added = [pa.field(IS_FINAL, pa.bool_())] if spec.every_us else []
    out = pa.schema([*plan.input.partition_fields(), *result_fields(spec), *added])
    computed = tuple(aggregates.computed.values())
    shown = pa.schema([*out, *(pa.field(column.name, column.dtype) for column in computed)])
    parts = split(plan.conjuncts, list(plan.symbols), plan.schema, plan.query.text, plan.types)
    assert isinstance(plan.pattern, Step)
    made = columns.physical(
        spec,
        columns.masks(conditions_of(plan, [plan.pattern], parts)) if plan.conjuncts else (),
        (*(aggregates.project(item, shown) for item in plan.items), *_added(plan)),
        out,
        having=None if plan.having is None else _having(plan, aggregates.project(plan.having, shown)),
        windows_close=windows.kind != ALL,
        holds_aggregates=not is_counted and not any(measure.is_list for measure in spec.measures),
        computed=computed,
        takes_codes=True,
        passes_over=bool(plan.conjuncts) and not is_counted,
        **{**of_plan(plan), "reads": _read(plan), "keep_all": not plan.conjuncts},
    )
    return with_options(made, plan.options, plan.schema)


def _read(plan: Window) -> tuple[str, ...]:
    """Every column that the query reads, in schema order."""
    if plan.having is None:
        return read_columns(plan)
    return read_columns(replace(plan, items=(*plan.items, plan.having)))


def _having(plan: Window, column: SqlColumn) -> SqlColumn:
    """The condition on windows; an error where it is none."""
    assert plan.having is not None
    dtype = column.dtype
    if dtype is not None and not (pa.types.is_boolean(dtype) or pa.types.is_null(dtype)):
        message = f"HAVING is a condition, but this is {type_name(dtype)}"
        raise error_at(plan.query, plan.having.span, message, "compare it: HAVING count(*) > 3")
    return column


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
        every = plan.tree.every.amount if plan.tree.every is not None else 0
        complaint = broken_units(plan.time_type, plan.ts, (size, slide, origin, every))
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
    if plan.tree.every is not None:
        yield column_as(IS_FINAL, IS_FINAL)


@dataclass(slots=True)
class Aggregates(KeptAggregates[Measure]):
    """The measures of a query."""

    computed: dict[str, Computed] = field(default_factory=dict)  # by the text of the aggregate

    def add(self, item: Item) -> None:
        """Register what a RETURN column reads."""
        for node in item.tree.walk(prune=is_aggregate):
            if is_aggregate(node):
                self._column(node, item)

    def output_type(self, measure: Measure) -> pa.DataType:
        return output_type(measure)

    def over(self, node: exp.Expr, item: Item) -> exp.Expr | None:
        bound = bound_name(node)
        if bound is not None:
            return output_column(bound)
        return output_column(self._column(node, item)) if is_aggregate(node) else None

    def origin(self, tree: exp.Expr) -> str | None:
        if bound_name(tree) is not None:
            return None if kind_of(self.plan.tree) == COUNT else self.plan.ts  # type: ignore[attr-defined]
        return picked_column(tree) if is_kept(tree) else None

    def read(self, tree: exp.Expr, item: Item) -> tuple[str, pa.DataType | None]:
        value, dtype = self.value(tree, item)
        return self.columns.of_value(value), dtype

    def make(self, node: exp.Expr, item: Item) -> Measure:
        if isinstance(arguments_of(node)[0], exp.Star):
            return Measure("COUNT")
        name, columns = self.kept(node, item)
        return Measure(name, *columns)

    def _column(self, node: exp.Expr, item: Item) -> str:
        """The column of an aggregate: the operator's, or what the engine makes of the operator's lists."""
        if is_kept(node) and not self._is_wide(node, item):
            return f"a{self.measures[self.measure(node, item)]}"
        text = node.sql("spark")
        if text not in self.computed:
            self.computed[text] = self._compute(node, item)
        return self.computed[text].name

    def _is_wide(self, node: exp.Expr, item: Item) -> bool:
        """Whether a sum may need more than the halves of 64 bits that are kept."""
        if function_of(node) not in ("SUM", "AVG"):
            return False
        dtype = self.value(arguments_of(node)[0], item)[1]
        return is_wide(dtype)

    def _compute(self, node: exp.Expr, item: Item) -> Computed:
        whole, lists = Source(self.plan.query.text, item.span), dict[str, pa.DataType]()

        def read(tree: exp.Expression) -> exp.Expression:
            # A constant needs no list.
            if isinstance(tree, (exp.Literal, exp.Null, exp.Boolean)):
                return tree
            name, dtype = self.read(tree, item)
            lists.setdefault(name, need_type(dtype, whole, _BEFORE))
            return exp.Column(this=exp.to_identifier(str(list(lists).index(name)), quoted=True))

        general = general_of(node, item.span, self.plan)
        arguments = tuple(read(tree) for tree in general.trees)
        measure = list_of(list(lists.items()) or [(TS, pa.int64())])
        i = self.measures.setdefault(measure, len(self.measures))
        leaf = general.leaf(arguments, (), call_span(node, item.span, whole.text))
        columns = [(column.name, column.type.value_type) for column in measure_fields(i, measure)]
        text, dtype = aggregate_lists(leaf, columns, whole, before=_BEFORE)
        return Computed(f"g{len(self.computed)}", text, dtype, "RETURN")
