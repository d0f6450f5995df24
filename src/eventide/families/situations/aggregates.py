"""The aggregates of a situation query: those that can be kept while events come, by Spark's names."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.types import canonical, is_number, type_name
from eventide.families.situations.functions import arguments_of, function_of, kept_form
from eventide.families.situations.measures import BITS, BY, output_type
from eventide.families.situations.moments import N_PARTS
from eventide.families.situations.refusals import call_span
from eventide.families.situations.spec import Measure
from eventide.lang.situations import END
from eventide.lang.tree import Span
from eventide.plan import aggregates
from eventide.plan.logical import Item
from eventide.plan.places import error_at
from eventide.plan.scope import is_orderable

_PICKS = ("FIRST", "LAST", "FIRST_PRESENT", "LAST_PRESENT", "MIN", "MAX", *BY)  # some event's value
_DIGITS = 18  # of a decimal that 64 bits hold


def bound_of(node: exp.Expr) -> tuple[str, str] | None:
    """For `start(A)` and `end(A)`: which of the two, and the situation."""
    if not isinstance(node, exp.Anonymous) or len(node.expressions) != 1:
        return None
    word = {"START": "start", END: "end"}.get(str(node.this).upper())
    argument = node.expressions[0]
    return (word, argument.name) if word is not None and isinstance(argument, exp.Identifier) else None


@dataclass(slots=True)
class Aggregates(aggregates.Aggregates[Measure]):
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
        picked = arguments_of(tree)[0] if function_of(tree) in _PICKS else None
        return picked.name if isinstance(picked, exp.Column) else None

    def make(self, node: exp.Expr, item: Item) -> Measure:
        written = function_of(node)
        assert written is not None
        span = call_span(node, item.span, self.plan.query.text)
        arguments = arguments_of(node)
        if isinstance(arguments[0], exp.Identifier):
            return Measure(self.numbers[arguments[0].name], "COUNT")
        (symbol,) = {column.table for argument in arguments for column in argument.find_all(exp.Column)}
        function, arguments = kept_form(written, arguments)
        columns: list[str | pa.DataType | None] = []
        for argument in arguments:
            column, dtype = self.read(argument, item)
            self._check(function, written, dtype, span)
            columns += [column, dtype]
        measure = Measure(self.numbers[symbol], function, *columns)
        by = measure.other_dtype
        if function in BY and by is not None and not is_orderable(by):
            message = f"{written.lower()} needs a plain value to go by, but this is {type_name(by)}"
            raise error_at(self.plan.query, span, message)
        return measure

    def _check(self, function: str, written: str, dtype: pa.DataType | None, span: Span) -> None:
        query, word = self.plan.query, written.lower().removesuffix("_samp")
        assert dtype is not None
        if function in ("SUM", "AVG", *N_PARTS) and not is_number(canonical(dtype)):
            hint = "count, min, max, first and last take other types"
            raise error_at(query, span, f"{word} needs a number, but this is {type_name(dtype)}", hint)
        if function in BITS and not pa.types.is_integer(dtype):
            raise error_at(query, span, f"{word} needs a whole number, but this is {type_name(dtype)}")
        if function in ("SUM", "AVG") and pa.types.is_decimal(dtype) and dtype.precision > _DIGITS:
            hint = f"cast it to DECIMAL({_DIGITS}, {min(dtype.scale, _DIGITS)}) or to DOUBLE"
            raise error_at(query, span, f"{word} takes decimals of at most {_DIGITS} digits", hint)
        if written in ("BOOL_AND", "BOOL_OR", "COUNT_IF") and function != "COUNT" and not pa.types.is_boolean(dtype):
            raise error_at(query, span, f"{word} needs a condition, but this is {type_name(dtype)}")
        if function in ("MIN", "MAX") and not is_orderable(dtype):
            raise error_at(query, span, f"{word} needs a plain value, but this is {type_name(dtype)}")
