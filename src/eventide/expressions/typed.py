"""Typed expressions: what the type check makes of a sqlglot tree, with implicit casts written out.

`Typed` has few operators: sugar is gone (IF and NVL2 are "case", BETWEEN is two comparisons), every operand has the
type its operator works on, and constants are folded into literals. The DuckDB writer and the code generator
read nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.types import kind, type_name
from eventide.lang.positions import span_of
from eventide.lang.tree import Span

_DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Typed:
    """One operator, its operands, its type; a `dtype` of None is unknown and so is everything above it.

    `value` belongs to the operator: a literal's value (dates are days, timestamps and intervals microseconds, all
    since 1970), a column's name, the allow-list entry of a "call", the Spark text of an "unknown".
    """

    op: str
    args: tuple[Typed, ...]
    dtype: pa.DataType | None
    value: Any = None
    span: Span = field(compare=False, repr=False, default=Span(0, 0))

    def walk(self) -> Iterator[Typed]:
        """This expression and all below it.

        >>> one = Typed("literal", (), pa.int32(), 1)
        >>> [t.op for t in Typed("neg", (one,), pa.int32()).walk()]
        ['neg', 'literal']
        """
        waiting = [self]
        while waiting:
            typed = waiting.pop()
            yield typed
            waiting += reversed(typed.args)


def off_the_list(typed: Typed) -> Typed | None:
    """The innermost part that is off the allow-list: the cause of everything unknown above it.

    >>> inner = Typed("unknown", (), None, "f(x)")
    >>> off_the_list(Typed("unknown", (inner,), pa.bool_(), "eq")) is inner
    True
    """
    waiting = [typed]
    found = put_in = None
    while waiting:
        part = waiting.pop()
        if part.op == "unknown":
            # What covers no more text than its argument sqlglot has put in: date_format(ts, ...) reads a cast of ts.
            if part is not typed and len(part.args) == 1 and part.args[0].span == part.span:
                put_in = put_in or part
            else:
                # Only what is below it can be nearer to the cause.
                found, waiting = part, []
        waiting += reversed(part.args)
    return found or put_in


def cast_to(typed: Typed, dtype: pa.DataType) -> Typed:
    """The expression in another type; a literal takes the type itself where that loses nothing.

    >>> cast_to(Typed("literal", (), pa.int32(), 2), pa.float64()).value
    2.0
    """
    if typed.dtype == dtype:
        return typed
    if typed.dtype == pa.null():
        return Typed("literal", (), dtype, None, typed.span)
    if typed.op == "literal":
        pair, value = (kind(typed.dtype), kind(dtype)), typed.value
        if value is None or pair in (("integer", "integer"), ("timestamp", "timestamp")):
            return Typed("literal", (), dtype, value, typed.span)
        if pair in (("integer", "double"), ("decimal", "double")):
            return Typed("literal", (), dtype, float(value), typed.span)
        if pair in (("integer", "decimal"), ("decimal", "decimal")):
            return Typed("literal", (), dtype, Decimal(value), typed.span)
        if pair == ("date", "timestamp"):
            return Typed("literal", (), dtype, value * _DAY_US, typed.span)
    return Typed("cast", (typed,), dtype, None, typed.span)


@dataclass(frozen=True, slots=True)
class Source:
    """The query text and where the expression stands in it: what an error message needs."""

    text: str
    span: Span

    def span_of(self, node: exp.Expr) -> Span:
        """The part of the text that a tree was read from."""
        return span_of(node, self.span)

    def error(self, message: str, span: Span, hint: str | None = None) -> QueryError:
        """A QueryError that underlines the span."""
        return QueryError(message, self.text, span.start, span.end, hint=hint)

    def need_boolean(self, typed: Typed) -> None:
        """Refuse a condition that is something else; one of unknown type is Catalyst's."""
        if typed.dtype is not None and kind(typed.dtype) not in ("boolean", "null"):
            message = f"a condition must be a boolean, but this is {type_name(typed.dtype)}"
            raise self.error(message, typed.span, "compare it with something")
