"""Aggregates of RETURN that are kept while events come: what they read, and what they take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.kept_aggregates import arguments_of, function_of, kept_form
from eventide.expressions.typed import Source
from eventide.expressions.types import canonical, is_number, type_name
from eventide.lang.positions import call_span
from eventide.lang.tree import Span
from eventide.plan.aggregates import Aggregates
from eventide.plan.list_aggregates import need_type
from eventide.plan.logical import Item
from eventide.plan.places import error_at
from eventide.plan.scope import is_orderable
from eventide.runtime.moments import N_PARTS

_BITS = ("BIT_AND", "BIT_OR", "BIT_XOR")
_BY = ("MAX_BY", "MIN_BY")
_PICKS = ("FIRST", "LAST", "FIRST_PRESENT", "LAST_PRESENT", "MIN", "MAX", *_BY)  # some event's value
_DIGITS = 18  # of a decimal that 64 bits hold

Measure = TypeVar("Measure")


def picked_column(tree: exp.Expr) -> str | None:
    """The user's column of which an aggregate picks one value."""
    picked = arguments_of(tree)[0] if function_of(tree) in _PICKS else None
    return picked.name if isinstance(picked, exp.Column) else None


def is_wide(dtype: pa.DataType | None) -> bool:
    """Whether sums of a type need more than whole numbers of 64 bits are kept for."""
    if dtype is None:
        return False
    return bool(pa.types.is_uint64(dtype) or (pa.types.is_decimal(dtype) and dtype.precision > _DIGITS))


@dataclass(slots=True)
class KeptAggregates(Aggregates[Measure]):
    """The measures of a query, by Spark's names for them."""

    def kept(self, node: exp.Expr, item: Item) -> tuple[str, list[str | pa.DataType | None]]:
        """The function of an aggregate, and the block columns that it reads, each before its type."""
        written = function_of(node)
        assert written is not None
        span = call_span(node, item.span, self.plan.query.text)
        function, arguments = kept_form(written, arguments_of(node))
        columns: list[str | pa.DataType | None] = []
        for argument in arguments:
            column, dtype = self.read(argument, item)
            if function != "COUNT":
                dtype = need_type(dtype, Source(self.plan.query.text, span), "the query")
            self._check(function, written, dtype, span)
            columns += [column, dtype]
        by = columns[3] if function in _BY else None
        if by is not None and not is_orderable(by):
            message = f"{written.lower()} needs a plain value to go by, but this is {type_name(by)}"
            raise error_at(self.plan.query, span, message)
        return function, columns

    def _check(self, function: str, written: str, dtype: pa.DataType | None, span: Span) -> None:
        query, word = self.plan.query, written.lower().removesuffix("_samp")
        if dtype is None:
            return
        if function in ("SUM", "AVG", *N_PARTS) and not is_number(canonical(dtype)):
            hint = "count, min, max, first and last take other types"
            raise error_at(query, span, f"{word} needs a number, but this is {type_name(dtype)}", hint)
        if function in _BITS and not pa.types.is_integer(dtype):
            raise error_at(query, span, f"{word} needs a whole number, but this is {type_name(dtype)}")
        if function in ("SUM", "AVG") and pa.types.is_decimal(dtype) and dtype.precision > _DIGITS:
            hint = f"cast it to DECIMAL({_DIGITS}, {min(dtype.scale, _DIGITS)}) or to DOUBLE"
            raise error_at(query, span, f"{word} takes decimals of at most {_DIGITS} digits", hint)
        if written in ("BOOL_AND", "BOOL_OR", "COUNT_IF") and function != "COUNT" and not pa.types.is_boolean(dtype):
            raise error_at(query, span, f"{word} needs a condition, but this is {type_name(dtype)}")
        if function in ("MIN", "MAX") and not is_orderable(dtype):
            raise error_at(query, span, f"{word} needs a plain value, but this is {type_name(dtype)}")
