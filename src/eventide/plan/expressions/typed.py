"""Typed expressions: what the type check makes of a sqlglot tree, with implicit casts written out.

`Typed` has few operators: sugar is gone (IF and NVL2 are "case", BETWEEN is two comparisons), every operand has the
type its operator works on, and constants are folded into literals. The DuckDB writer and the code generator
read nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.lang.tree import Span


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
        yield self
        for arg in self.args:
            yield from arg.walk()


@dataclass(frozen=True, slots=True)
class Source:
    """The query text and where the expression stands in it: what an error message needs."""

    text: str
    span: Span

    def span_of(self, node: exp.Expression) -> Span:
        """The part of the text that a tree was read from.

        >>> import sqlglot
        >>> text = "a > sqrt( b ) + 1"
        >>> tree = sqlglot.parse_one(text, read="spark").expression.this
        >>> span = Source(text, Span(0, len(text))).span_of(tree)
        >>> text[span.start : span.end]
        'sqrt( b )'
        """
        metas = [n.meta for n in node.walk() if "start" in n.meta]
        if not metas:
            return self.span
        start, end = min(m["start"] for m in metas), max(m["end"] for m in metas) + 1
        start = self._include_name(node, start)
        while self.text.count("(", start, end) > self.text.count(")", start, end):
            closing = self.text.find(")", end)
            if closing < 0:
                break
            end = closing + 1
        return Span(start, min(end, len(self.text)))

    def _include_name(self, node: exp.Expression, start: int) -> int:
        # sqlglot gives positions to the names of unknown functions only.
        if not isinstance(node, exp.Func) or isinstance(node, (exp.Anonymous, exp.Connector, exp.Case)):
            return start
        before = self.text[:start].rstrip()
        if not before.endswith("("):
            return start
        name = before[:-1].rstrip()
        while name and (name[-1].isalnum() or name[-1] == "_"):
            name = name[:-1]
        return len(name)

    def error(self, message: str, span: Span, hint: str | None = None) -> QueryError:
        """A QueryError that underlines the span."""
        return QueryError(message, self.text, span.start, span.end, hint=hint)
