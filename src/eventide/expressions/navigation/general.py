"""Calls of aggregates over lists: whether they are as Spark SQL has them, and what they read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.navigation.aggregates import (
    AGGREGATES,
    CONSTANTS,
    FLAG,
    FOREIGN,
    FRACTION,
    REFUSED,
    SIZE,
    TEXT,
    known_aggregate,
)
from eventide.expressions.navigation.calls import Call
from eventide.expressions.navigation.leaves import AggregateLeaf, ListLeaf
from eventide.lang.tree import Span

# An error of a message about a node, with a hint.
Fail = Callable[[str, exp.Expr, str | None], QueryError]


@dataclass(frozen=True, slots=True)
class General:
    """An aggregate over lists, a key of `AGGREGATES`.

    `trees` are its arguments that are no constants, then the keys of WITHIN GROUP, then the condition of FILTER.
    """

    function: str
    call: Call
    trees: tuple[exp.Expression, ...]
    constants: tuple[object, ...]
    ignores_nulls: bool

    def leaf(self, arguments: tuple[exp.Expression, ...], lists: tuple[ListLeaf, ...], span: Span) -> AggregateLeaf:
        """The leaf, for arguments that read the items of lists."""
        call = self.call
        return AggregateLeaf(
            self.function,
            arguments,
            lists,
            call.distinct or self.function == "COLLECT_SET",
            span,
            self.constants,
            tuple(map(_direction, call.order)),
            0 if AGGREGATES[self.function].key else len(call.order),
            call.condition is not None,
            self.ignores_nulls,
            call.shown,
        )


def general_call(call: Call, function: str, fail: Fail) -> General:
    """What a call reads; an error where a constant is none."""
    aggregate = AGGREGATES[function]
    flags: list[object] = []
    constants: list[object] = []
    trees: list[exp.Expression] = []
    for i, argument in enumerate(call.arguments):
        param = aggregate.params[min(i, len(aggregate.params) - 1)]
        if param in CONSTANTS:
            (flags if param == FLAG else constants).append(_constant(argument, param, call, fail))
        else:
            trees.append(argument)
    nulls = call.ignores_nulls
    if flags and nulls is None and aggregate.nulls:
        nulls = bool(flags[0])
    trees += [key.this for key in call.order]
    trees += [] if call.condition is None else [call.condition]
    ignores_nulls = aggregate.nulls == "ignored" if nulls is None else nulls
    return General(function, call, tuple(trees), tuple(constants), ignores_nulls)


def check_call(
    call: Call, node: exp.Expr, fail: Fail, where: str = "in MATCH_RECOGNIZE", query: str = "MATCH_RECOGNIZE (...)"
) -> str:
    """The aggregate's key in `AGGREGATES`; an error when there is none, or when it is not called like that."""
    function, shown = known_aggregate(call.name), call.shown
    if function is None and call.name in REFUSED:
        reason, hint = REFUSED[call.name]
        raise fail(f"{shown} cannot be computed {where}: {reason}", node, hint.format(query=query))
    if function is None:
        hint = f"in Spark SQL it is {FOREIGN[call.name]}" if call.name in FOREIGN else "is it one of Spark SQL's?"
        raise fail(f"there is no aggregate {shown}", node, hint)
    aggregate = AGGREGATES[function]
    usage = f"write {shown}{aggregate.usage}"
    at_least, at_most = len(aggregate.params) - aggregate.optional, len(aggregate.params)
    n_arguments, n_keys = len(call.arguments), len(call.order)
    if function == "MODE" and n_keys == 1 and not n_arguments:
        return function
    if n_arguments < at_least or (n_arguments > at_most and not aggregate.variadic):
        wanted = str(at_most) if at_least == at_most else f"{at_least} or {at_most}"
        if function in ("MIN", "MAX") and n_arguments > 1:
            usage += f"; of several values take {'least' if function == 'MIN' else 'greatest'}(x, y)"
        plural = "s" if wanted != "1" else ""
        raise fail(f"{shown} takes {wanted} argument{plural}, found {n_arguments}", node, usage)
    if not aggregate.keys[0] <= n_keys <= aggregate.keys[1] or (function == "MODE" and n_keys):
        what = "takes no WITHIN GROUP" if n_keys and not aggregate.keys[0] else "needs WITHIN GROUP with one key"
        raise fail(f"{shown} {what}", node, usage)
    if call.ignores_nulls is not None and not aggregate.nulls:
        word = "IGNORE" if call.ignores_nulls else "RESPECT"
        raise fail(f"{shown} takes no {word} NULLS", node, "leave NULL out: FILTER (WHERE x IS NOT NULL)")
    return function


def _constant(node: exp.Expression, param: str, call: Call, fail: Fail) -> object:
    """The value of an argument that must be a constant."""
    if param == FRACTION and isinstance(node, exp.Array):
        return tuple(_constant(item, param, call, fail) for item in node.expressions)
    inner = node.this if isinstance(node, exp.Cast) else node
    if param == TEXT and (isinstance(node, exp.Null) or (isinstance(node, exp.Literal) and node.is_string)):
        return "" if isinstance(node, exp.Null) else str(node.this)
    if param == FLAG and isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(inner, exp.Literal) and not inner.is_string:
        if param == FRACTION and 0 <= float(inner.this) <= 1:
            return float(inner.this)
        if param == SIZE and inner.this.isdigit() and int(inner.this) > 0:
            return int(inner.this)
    hint = f"write {call.shown}{AGGREGATES[known_aggregate(call.name) or ''].usage}"
    raise fail(f"this argument of {call.shown} must be {param}, and a constant", node, hint)


def _direction(key: exp.Ordered) -> str:
    """How a key of WITHIN GROUP sorts."""
    return f"{'DESC' if key.args.get('desc') else 'ASC'} NULLS {'FIRST' if key.args.get('nulls_first') else 'LAST'}"
