"""Conjuncts on aggregates of a repeated symbol, such as `avg(c.price) > 10`: tested when their symbols close.

In: a bound conjunct. Out: a `ClosingTest`, whose tree has leaves "aggregate" k and "value" (slot, value), and the
source of its function over the entries of a match.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.folds import DOUBLES, INTEGERS, Fold, Folds, folded
from eventide.expressions.split import EventValue
from eventide.expressions.typecheck import Types, bind, columns_of
from eventide.expressions.typed import Source, Typed
from eventide.expressions.types import is_number, kind, type_name
from eventide.expressions.write_code import Encoded, TestWriter
from eventide.lang.nodes import every_node
from eventide.lang.positions import span_of
from eventide.lang.tree import Scalar, Span
from eventide.plan.logical import Match
from eventide.plan.places import error_at
from eventide.runtime.aggregate_types import average_type, sum_type

_FUNCTIONS: dict[type[exp.AggFunc], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
_KEPT = {"avg": "SUM"}  # what an aggregate is made of besides its count


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate: over which symbol's events, of which value; no value: the events themselves are counted."""

    function: str
    symbol: str
    value: int | None
    dtype: pa.DataType


@dataclass(frozen=True, slots=True)
class ClosingTest:
    """A conjunct over all events of its symbols; `slots` are symbols of single events that it reads besides."""

    tree: Typed
    aggregates: tuple[Aggregate, ...]
    slots: tuple[str, ...]
    source: Source

    @property
    def compared(self) -> Typed:
        """The tree with a string's MIN and MAX as what they are to code spaces: a choice by order."""
        return self._compared(self.tree)

    def _compared(self, typed: Typed) -> Typed:
        if typed.op == "aggregate" and typed.dtype == pa.string():
            value = Typed("value", (), typed.dtype, (0, self.aggregates[typed.value].value), typed.span)
            return Typed("least", (value, value), typed.dtype)
        # Literals are known by their identity.
        if not typed.args:
            return typed
        return Typed(typed.op, tuple(map(self._compared, typed.args)), typed.dtype, typed.value, typed.span)

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset([*(aggregate.symbol for aggregate in self.aggregates), *self.slots])


def is_closing(conjunct: Scalar) -> bool:
    """Whether a conjunct has an aggregate."""
    return conjunct.tree.find(exp.AggFunc) is not None


def bind_closing(conjunct: Scalar, plan: Match, at_most_one: frozenset[str], values: list[EventValue]) -> ClosingTest:
    """The test of a conjunct; values that it needs per event are added to `values`."""
    return _Binder(conjunct, plan, at_most_one, values).bind()


class _Binder:
    def __init__(self, conjunct: Scalar, plan: Match, at_most_one: frozenset[str], values: list[EventValue]) -> None:
        self._conjunct = conjunct
        self._plan = plan
        self._at_most_one = at_most_one
        self._values = values
        self._source = Source(plan.query.text, conjunct.span)
        self._aggregates: list[Aggregate] = []
        self._slots: list[str] = []

    def bind(self) -> ClosingTest:
        types, tree, source = Types(), self._conjunct.tree, self._source
        for node in every_node(tree, lambda node: isinstance(node, exp.AggFunc | exp.Column)):
            if isinstance(node, exp.AggFunc):
                types.keep(node, self._aggregate(node))
            elif isinstance(node, exp.Column):
                types.keep(node, self._single(node))
        typed = bind(tree, columns_of(self._plan.schema), source.text, source.span, types)
        return ClosingTest(typed, tuple(self._aggregates), tuple(self._slots), source)

    def _aggregate(self, node: exp.AggFunc) -> Typed:
        span = span_of(node, self._conjunct.span)
        function = _FUNCTIONS.get(type(node))
        if function is None or node.expressions or isinstance(node.this, exp.Distinct | exp.Star):
            hint = "COUNT(symbol), and COUNT, SUM, MIN, MAX and AVG of one value are"
            if isinstance(node, exp.First | exp.Last):
                hint += "; FIRST and LAST belong in RETURN"
            shown = " ".join(self._plan.query.text[span.start : span.end].split())
            raise self._error(span, f"{shown} is not an aggregate over the events of a symbol", hint)
        made = self._made(node, function, span)
        self._aggregates.append(made)
        return Typed("aggregate", (), made.dtype, len(self._aggregates) - 1, span)

    def _made(self, node: exp.AggFunc, function: str, span: Span) -> Aggregate:
        if isinstance(node.this, exp.Identifier):
            return Aggregate(function, node.this.name, None, pa.int64())
        names = {column.table for column in node.find_all(exp.Column)}
        if len(names) != 1:
            raise self._error(span, f"{function.upper()} goes over the events of one symbol")
        value = self._value(node.this, span)
        dtype = self._values[value].dtype
        name = "other" if dtype is None else kind(dtype)
        if function == "count":
            return Aggregate(function, names.pop(), value, pa.int64())
        if dtype is None:
            raise self._error(span, f"the type of what {function.upper()} goes over is not known", "cast it")
        if function in ("sum", "avg"):
            if not is_number(dtype):
                message = f"{function.upper()} of a repeated symbol needs a number, but this is {type_name(dtype)}"
                raise self._error(span, message, "cast it to DOUBLE")
            return Aggregate(
                function, names.pop(), value, sum_type(dtype) if function == "sum" else average_type(dtype)
            )
        if name in ("other", "months", "null"):
            message = f"{function.upper()} of a repeated symbol cannot go over {type_name(dtype)}"
            raise self._error(span, message, "compare the events with one another instead")
        return Aggregate(function, names.pop(), value, dtype)

    def _single(self, node: exp.Column) -> Typed:
        span = span_of(node, self._conjunct.span)
        symbol = node.table
        if symbol not in self._at_most_one:
            message = f"'{symbol}' binds several events: which of them is compared with the aggregate?"
            raise self._error(span, message, f"aggregate it too: max({symbol}.{node.name})")
        if symbol not in self._slots:
            self._slots.append(symbol)
        value = self._value(node, span)
        dtype = self._values[value].dtype
        if dtype is None:
            raise self._error(span, "the type of this is not known before the query runs")
        return Typed("value", (), dtype, (self._slots.index(symbol), value), span)

    def _value(self, node: exp.Expr, span: Span) -> int:
        plan, text = self._plan, self._plan.query.text
        assert isinstance(node, exp.Expression)
        typed = bind(node, columns_of(plan.schema, text, span, plan.types), text, span, plan.types)
        made = EventValue(node, typed, Source(text, span))
        for i, known in enumerate(self._values):
            if known.spark == made.spark:
                return i
        self._values.append(made)
        return len(self._values) - 1

    def _error(self, span: Span, message: str, hint: str | None = None) -> Exception:
        return error_at(self._plan.query, span, message, hint)


class ClosingWriter(TestWriter):
    """Writes the function of one closing test: `closing_k(symbols, rows, base, n, cols)`."""

    may_miss = True  # a single event may be absent

    def __init__(self, encoded: Encoded, test: ClosingTest, numbers: Mapping[str, int]) -> None:
        super().__init__(encoded, test.source)
        self._test = test
        self._numbers = numbers
        folds = Folds()
        self._folds = [
            folds.add(Fold(_KEPT.get(one.function, one.function.upper()), (numbers[one.symbol],), one.value), one.dtype)
            for one in test.aggregates
        ]

    def closing(self, name: str) -> str:
        """The source of the function."""
        return self.function(name, self._test.tree, "symbols, rows, base, n, cols")

    def begin(self) -> None:
        made = list(dict.fromkeys(self._folds))
        for fold in made:
            self.line(f"c{fold.number}, a{fold.number} = 0, {fold.zero}")
        for slot in range(len(self._test.slots)):
            self.line(f"row_{slot} = -1")
        self.line("for i in range(base, n):")
        self.depth += 1
        self.line("row = rows[i]")
        for slot, symbol in enumerate(self._test.slots):
            self.line(f"if symbols[i] == {self._numbers[symbol]}:")
            self.line(f"    row_{slot} = row")
        for fold in made:
            (number,) = fold.members or ()
            self.line(f"if symbols[i] == {number}:")
            for line in folded(fold, self.read, f"c{fold.number}", f"a{fold.number}"):
                self.line(f"    {line}")
            if fold.function == "SUM" and fold.array == INTEGERS:
                self.called.add("add_int")
        self.depth -= 1

    def _aggregate(self, typed: Typed) -> tuple[str, str]:
        aggregate, fold = self._test.aggregates[typed.value], self._folds[typed.value]
        total, count = f"a{fold.number}", f"c{fold.number}"
        if aggregate.function != "avg":
            return self.kept(replace(typed, value=fold), total, count)
        if fold.array == DOUBLES:
            return self.guarded(typed, f"{count} == 0", f"{total} / {count}")
        # Four more places, rounded half up; quotient and rest apart, so that only a large result leaves 64 bits.
        whole = self.call("mul_int", f"abs({total}) // {count}", "10000")
        text = f"{whole} + (abs({total}) % {count} * 20000 + {count}) // (2 * {count})"
        x, n = self.guarded(typed, f"{count} == 0", text)
        self.line(f"if {total} < 0:")
        self.line(f"    {x} = -{x}")
        return x, n
