"""The aggregates of a situation query: those that can be kept while events come, by Spark's names."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from eventide.lang.positions import span_of
from eventide.lang.situations import END
from eventide.operators.situations.measures import output_type
from eventide.operators.situations.spec import Measure
from eventide.plan.bound import Bound, Item
from eventide.plan.columns import Columns
from eventide.plan.expressions.split import EventValue
from eventide.plan.expressions.typecheck import bind, columns_of
from eventide.plan.expressions.typed import Source
from eventide.plan.expressions.types import canonical, is_number, type_name
from eventide.plan.physical import SqlColumn
from eventide.plan.places import error_at
from eventide.plan.references import is_orderable
from eventide.plan.results import project_item, renamed
from eventide.plan.trends.aggregates import without_symbol

_NODES: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
    exp.First: "FIRST",
    exp.FirstValue: "FIRST",
    exp.AnyValue: "FIRST",
    exp.Last: "LAST",
    exp.LastValue: "LAST",
    exp.Stddev: "STDDEV_SAMP",
    exp.StddevSamp: "STDDEV_SAMP",
    exp.StddevPop: "STDDEV_POP",
    exp.Variance: "VAR_SAMP",
    exp.VariancePop: "VAR_POP",
    exp.CountIf: "COUNT_IF",
    exp.LogicalAnd: "MIN",
    exp.LogicalOr: "MAX",
}
_NAMES = {
    "EVERY": "MIN",
    "SOME": "MAX",
    "ANY": "MAX",
    "MEAN": "AVG",
    "STD": "STDDEV_SAMP",
    "STDDEV_POP": "STDDEV_POP",
    "VAR_SAMP": "VAR_SAMP",
}
_NUMBERS = ("SUM", "AVG", "STDDEV_SAMP", "STDDEV_POP", "VAR_SAMP", "VAR_POP")
_DIGITS = 18  # of a decimal that 64 bits hold


def function_of(node: exp.Expr) -> str | None:
    """The aggregate that a node is, by the name that operators have for it; None for anything else."""
    if isinstance(node, exp.Anonymous):
        return _NAMES.get(str(node.this).upper())
    return _NODES.get(type(node))


def bound_of(node: exp.Expr) -> tuple[str, str] | None:
    """For `start(A)` and `end(A)`: which of the two, and the situation."""
    if not isinstance(node, exp.Anonymous) or len(node.expressions) != 1:
        return None
    word = {"START": "start", END: "end"}.get(str(node.this).upper())
    argument = node.expressions[0]
    return (word, argument.name) if word is not None and isinstance(argument, exp.Identifier) else None


@dataclass(slots=True)
class Aggregates:
    """The measures of a query, each once, the values that they read, and the ends that are returned."""

    plan: Bound
    columns: Columns
    numbers: dict[str, int]  # of the situations
    measures: dict[Measure, int] = field(default_factory=dict)
    starts: dict[int, None] = field(default_factory=dict)
    ends: dict[int, None] = field(default_factory=dict)
    _made: dict[str, Measure] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        """Register what a RETURN column reads."""
        for node in item.tree.walk():
            ends = bound_of(node)
            if ends is not None:
                (self.starts if ends[0] == "start" else self.ends).setdefault(self.numbers[ends[1]])
            elif function_of(node) is not None:
                self._measure(node, item)

    def project(self, item: Item, schema: pa.Schema) -> SqlColumn:
        """The RETURN column over the operator's columns."""
        partition = self.plan.partition

        def replaced(node: exp.Expr) -> exp.Expr:
            ends = bound_of(node)
            if ends is not None:
                name = f"{'s' if ends[0] == 'start' else 'e'}{self.numbers[ends[1]]}"
                return exp.Column(this=exp.Identifier(this=name, quoted=True))
            if function_of(node) is not None:
                name = f"a{self.measures[self._measure(node, item)]}"
                return exp.Column(this=exp.Identifier(this=name, quoted=True))
            return renamed(node, lambda column: f"p{partition.index(column.name)}")

        tree = item.tree.copy().transform(replaced)
        if not isinstance(tree, exp.Column):
            return project_item(item, tree, schema, self.plan, self.columns)
        origin = None
        ends = bound_of(item.tree)
        if ends is not None:
            origin = self.plan.ts
        elif function_of(item.tree) in ("FIRST", "LAST", "MIN", "MAX") and isinstance(item.tree.this, exp.Column):
            origin = item.tree.this.name
        elif isinstance(item.tree, exp.Column):
            origin = item.tree.name
        return SqlColumn(item.name, f"`{tree.name}`", f'"{tree.name}"', origin)

    def _measure(self, node: exp.Expr, item: Item) -> Measure:
        text = node.sql("spark")
        if text not in self._made:
            measure = self._make(node, item)
            self.measures.setdefault(measure, len(self.measures))
            self._made[text] = measure
        return self._made[text]

    def _make(self, node: exp.Expr, item: Item) -> Measure:
        function = function_of(node)
        assert function is not None
        argument = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
        if isinstance(argument, exp.Identifier):
            return Measure(self.numbers[argument.name], "COUNT")
        (symbol,) = {column.table for column in argument.find_all(exp.Column)}
        if function == "COUNT_IF":
            argument = exp.Case(ifs=[exp.If(this=argument.copy(), true=exp.Literal.number(1))])
            function = "COUNT"
        value = self._value(argument, item)
        self.columns.add_values([value])
        dtype = value.dtype if not isinstance(value.expression, exp.Column) else self._given(value.expression)
        measure = Measure(self.numbers[symbol], function, self.columns.value_names.pop(), dtype)
        self._check(measure, node, item)
        return measure

    def _check(self, measure: Measure, node: exp.Expr, item: Item) -> None:
        dtype, query = measure.dtype, self.plan.query
        assert dtype is not None
        word = measure.function.split("_")[0].lower()
        span = span_of(node, item.span)
        if measure.function in _NUMBERS and not is_number(canonical(dtype)):
            hint = "count, min, max, first and last take other types"
            raise error_at(query, span, f"{word} needs a number, but this is {type_name(dtype)}", hint)
        if measure.function in _NUMBERS and pa.types.is_decimal(dtype) and dtype.precision > _DIGITS:
            hint = f"cast it to DECIMAL({_DIGITS}, {min(dtype.scale, _DIGITS)}) or to DOUBLE"
            raise error_at(query, span, f"{word} takes decimals of at most {_DIGITS} digits", hint)
        if measure.function in ("MIN", "MAX") and not is_orderable(dtype):
            raise error_at(query, span, f"{word} needs a plain value, but this is {type_name(dtype)}")

    def fields(self) -> list[pa.Field]:
        """The columns of the measures."""
        return [pa.field(f"a{i}", output_type(measure)) for measure, i in self.measures.items()]

    def _given(self, column: exp.Column) -> pa.DataType:
        return self.plan.schema.field(column.name).type

    def _value(self, tree: exp.Expr, item: Item) -> EventValue:
        plan = self.plan
        plain = tree.copy().transform(without_symbol)
        assert isinstance(plain, exp.Expression)
        source = Source(plan.query.text, item.span)
        typed = bind(plain, columns_of(plan.schema, plan.query.text, item.span), plan.query.text, item.span)
        return EventValue(plain, typed, source)
