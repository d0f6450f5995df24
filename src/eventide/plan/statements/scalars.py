"""Scalar expressions of a statement as DuckDB's text, by the allow-list that queries have.

Columns, aggregates, window functions and subqueries are leaves: each is written first, and stands in the expression as
a column of its type. The rest is typed and written as in a query.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.typecheck import bind
from eventide.expressions.typed import Source
from eventide.expressions.types import DURATION, MONTHS, column_type, common_type, kind, type_name
from eventide.expressions.write_sql import write_typed
from eventide.lang.nodes import copied
from eventide.lang.tree import Span
from eventide.plan.statements.aggregates import Call, aggregate_call, is_aggregate, window_call
from eventide.plan.statements.scopes import Scope, Value

# What stands for a leaf: a name in characters that mean nothing in any text.
_LEAF = "\ue000{}\ue001"
_WRITTEN_LEAF = re.compile('"\ue000([0-9]+)\ue001"')
INSTEAD = "run the statement on Spark, ev.sql(text, spark=spark), or compute it from the result"

Subquery = Callable[[exp.Expr, Scope], tuple[str, list[pa.DataType]]]


class Scalars:
    """Writes the expressions of one SELECT; `subquery` writes a query inside one, and tells its columns' types."""

    def __init__(self, text: str, subquery: Subquery) -> None:
        self.text = text
        self.subquery = subquery
        self.windows: dict[str, exp.Window] = {}

    def write(self, node: exp.Expr, scope: Scope) -> Value:
        """An expression; QueryError when it is off the list."""
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            value, fields = scope.find(node)
            if not fields:
                return value
        leaves: list[Value] = []
        prepared = copied(node, lambda part: self._leaf(part, scope, leaves))
        source = Source(self.text, scope.source.span_of(node))
        assert isinstance(prepared, exp.Expression)
        typed = bind(prepared, lambda column: _field(column, leaves), self.text, source.span)
        sql = write_typed(typed, source, INSTEAD)
        sql = _WRITTEN_LEAF.sub(lambda found: leaves[int(found[1])].sql, sql)
        assert typed.dtype is not None
        if typed.dtype == MONTHS:
            raise source.error("an interval of months cannot be computed in this process", typed.span, INSTEAD)
        return Value(f"to_microseconds({sql})" if typed.dtype == DURATION else sql, typed.dtype)

    def type_of(self, node: exp.Expr, scope: Scope) -> pa.DataType | None:
        """The type of an expression; None when it cannot stand alone, such as an interval of months."""
        try:
            return self.write(node, scope).dtype
        except QueryError:
            return None

    def condition(self, node: exp.Expr, scope: Scope, word: str) -> str:
        """What must be true or false."""
        value = self.write(node, scope)
        if kind(column_type(value.dtype)) not in ("boolean", "null"):
            message = f"{word} needs a boolean, but this is {type_name(column_type(value.dtype))}"
            raise scope.source.error(message, scope.source.span_of(node), "compare it with something")
        return value.sql

    def _leaf(self, node: exp.Expr, scope: Scope, leaves: list[Value]) -> exp.Expr | None:
        """What stands for a node; None when it is no leaf."""
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            value, fields = scope.find(node)
            leaf: exp.Expr = self._placed(value, node, scope, leaves)
            for name in fields:
                leaf = exp.Dot(this=leaf, expression=name.copy())
            return leaf
        if isinstance(node, (exp.Lambda, exp.Star)):
            raise self._refused(node, scope)
        made = self._made(node, scope)
        return None if made is None else self._placed(made, node, scope, leaves)

    def _placed(self, value: Value, node: exp.Expr, scope: Scope, leaves: list[Value]) -> exp.Column:
        leaf = exp.column(_LEAF.format(len(leaves)))
        span = scope.source.span_of(node)
        leaf.meta["start"], leaf.meta["end"] = span.start, span.end - 1
        leaves.append(value)
        return leaf

    def _made(self, node: exp.Expr, scope: Scope) -> Value | None:
        """A leaf other than a column; None when the node is none."""
        if isinstance(node, exp.Window):
            return self._window(node, scope)
        if isinstance(node, exp.Filter) or is_aggregate(node):
            call, condition = self._aggregate(node, scope)
            return Value(call.around.format(f"{call.sql}{condition}"), call.dtype)
        if isinstance(node, exp.Exists) and isinstance(node.this, exp.Query):
            return Value(f"EXISTS ({self.subquery(node.this, scope)[0]})", pa.bool_())
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            return self._in(node, scope)
        if isinstance(node, exp.Query):
            sql, types = self.subquery(node, scope)
            if len(types) != 1:
                message = f"a subquery that is used as a value gives {len(types)} columns"
                raise scope.source.error(message, scope.source.span_of(node), "select one")
            return Value(f"({sql})", types[0])
        return None

    def _in(self, node: exp.In, scope: Scope) -> Value:
        value, (sql, types) = self.write(node.this, scope), self.subquery(node.args["query"], scope)
        if len(types) != 1 or common_type(column_type(value.dtype), column_type(types[0])) is None:
            raise self._refused(node, scope)
        return Value(f"({value.sql} IN ({sql}))", pa.bool_())

    def _aggregate(self, node: exp.Expr, scope: Scope) -> tuple[Call, str]:
        """The call, and its FILTER; its arguments are columns, whatever a result is called."""
        condition, scope = "", scope.seeing((), first=False)
        if isinstance(node, exp.Filter):
            inside = self.condition(node.expression.this, scope, "FILTER")
            node, condition = node.this, f" FILTER (WHERE {inside})"
        call = aggregate_call(node, lambda part: self.write(part, scope))
        if call is None or (condition and " FILTER " in call.sql):
            raise self._refused(node, scope)
        return call, condition

    def _window(self, node: exp.Window, scope: Scope) -> Value:
        named = node.args.get("alias")
        shape = node
        if named is not None:
            found = self.windows.get(named.name.lower())
            if found is None or node.args.get("partition_by") or node.args.get("order"):
                raise scope.source.error(f"unknown window '{named.name}'", scope.source.span_of(named))
            shape = found
        function = node.this
        if isinstance(function, exp.Filter):
            call, condition = self._aggregate(function, scope)
        else:
            made = window_call(function, lambda part: self.write(part, scope))
            if made is None:
                raise self._refused(function, scope)
            call, condition = made, ""
        sql = f"{call.sql}{condition} OVER ({self._over(shape, scope)})"
        return Value(call.around.format(sql), call.dtype)

    def _over(self, shape: exp.Window, scope: Scope) -> str:
        parts = []
        keys = [self.write(key, scope).sql for key in shape.args.get("partition_by") or ()]
        if keys:
            parts.append(f"PARTITION BY {', '.join(keys)}")
        order = shape.args.get("order")
        if order is not None:
            parts.append(f"ORDER BY {', '.join(self.ordered(item, scope) for item in order.expressions)}")
        spec = shape.args.get("spec")
        if spec is not None:
            bounds = [_bound(spec, side) for side in ("start", "end")]
            if None in bounds or spec.args.get("exclude") or (spec.args["kind"] not in ("ROWS", "RANGE")):
                raise self._refused(shape, scope)
            parts.append(f"{spec.args['kind']} BETWEEN {bounds[0]} AND {bounds[1]}")
        return " ".join(parts)

    def ordered(self, item: exp.Expr, scope: Scope) -> str:
        """One key of a window's ORDER BY, with its place of NULLs; a number is just a number there."""
        return f"{self.write(item.this, scope).sql} {direction(item)}"

    def _refused(self, node: exp.Expr, scope: Scope) -> QueryError:
        span: Span = scope.source.span_of(node)
        shown = " ".join(self.text[span.start : span.end].split()) or node.sql("spark")
        return scope.source.error(f"the local engine cannot compute {shown}", span, INSTEAD)


def direction(item: exp.Expr) -> str:
    """What stands behind a key of ORDER BY: DuckDB's default place of NULLs is another."""
    nulls = "FIRST" if item.args.get("nulls_first") else "LAST"
    return f"{'DESC' if item.args.get('desc') else 'ASC'} NULLS {nulls}"


def _field(column: exp.Column, leaves: list[Value]) -> pa.Field:
    return pa.field(column.name, leaves[int(column.name[1:-1])].dtype)


def _bound(spec: exp.Expr, side: str) -> str | None:
    """One end of a frame, None when it is computed."""
    amount, way = spec.args.get(side), spec.args.get(f"{side}_side")
    if amount is None or amount == "CURRENT ROW":
        return "CURRENT ROW"
    if amount == "UNBOUNDED":
        return f"UNBOUNDED {way}"
    return f"{amount.this} {way}" if isinstance(amount, exp.Literal) and amount.this.isdigit() else None
