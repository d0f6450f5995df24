"""Conditions and measures written in SQL, as functions of a Scope; sqlglot reads them, this file gives them meaning.

Implements SQL:2016 row pattern expressions: `A.x` is `RUNNING LAST(A.x)`, `x` the same over all rows of the match;
an aggregate ranges over the rows of its argument's label; an expression inside FIRST, LAST, PREV, NEXT or an
aggregate is evaluated on one row, and is NULL when that row is not there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp

from tests.oracle.rows import values
from tests.oracle.rows.scope import ClauseError, Scope

Expression = Callable[[Scope], Any]

NAVIGATION = ("first", "last", "prev", "next")
AGGREGATES = ("count", "sum", "avg", "min", "max", "array_agg")

_QUOTED = r"'(?:[^']|'')*'" r'|"(?:[^"]|"")*"' r"|`(?:[^`]|``)*`"
_ROW_FUNCTION = re.compile(
    rf"(?P<quoted>{_QUOTED})|\b(?:(?P<mode>RUNNING|FINAL)\s+)?(?P<name>{'|'.join(NAVIGATION + AGGREGATES)})\s*\(",
    re.IGNORECASE,
)
_UNITS = {"MICROSECOND": 1, "MILLISECOND": 10**3, "SECOND": 10**6, "MINUTE": 60 * 10**6}
_UNITS |= {"HOUR": 3600 * 10**6, "DAY": 86400 * 10**6, "WEEK": 7 * 86400 * 10**6}


def as_expression(given: str | Expression, in_define: bool = False) -> Expression:
    """A condition or measure as a function; SQL text is read, a function stays as it is.

    >>> scope = Scope([{"x": 5}, {"x": 7}], 0, ("A", "B"), 1, 1, {"A": frozenset("A"), "B": frozenset("B")})
    >>> as_expression("B.x - FIRST(x) + count(*) = 4 AND CLASSIFIER() = 'B'")(scope)
    True
    """
    if callable(given):
        return given
    try:
        tree = sqlglot.parse_one(_ROW_FUNCTION.sub(_renamed, given))
    except sqlglot.ParseError as error:
        raise ClauseError(f"{given!r} is no expression: {error}") from None
    for node in tree.find_all(exp.Anonymous):
        if in_define and node.name.startswith("row_final_"):
            raise ClauseError("FINAL does not stand in DEFINE: the match is not known yet")
    return lambda scope: _evaluate(tree, _View(scope))


def columns_read(text: str) -> set[str]:
    """The columns of the table that an expression reads, in lower case.

    >>> sorted(columns_read("A.x > avg(B.Y) AND count(C.*) > 1 AND CLASSIFIER(D) <> s"))
    ['s', 'x', 'y']
    """
    tree = sqlglot.parse_one(_ROW_FUNCTION.sub(_renamed, text))
    return {
        column.name.lower()
        for column in tree.find_all(exp.Column)
        if not isinstance(column.this, exp.Star) and not _is_classifier(column.parent)
    }


def duration_us(number: str, unit: str) -> int:
    """Microseconds of a length such as `5 minutes`.

    >>> duration_us("5", "minutes")
    300000000
    """
    name = unit.upper().removesuffix("S")
    if name not in _UNITS:
        raise ClauseError(f"{unit} is no unit of time")
    return int(number) * _UNITS[name]


def _renamed(found: re.Match[str]) -> str:
    """`FINAL LAST(` as `row_final_last(`: sqlglot has functions of its own under the plain names."""
    if found["quoted"]:
        return '"' + found["quoted"][1:-1].replace("``", "`") + '"' if found["quoted"][0] == "`" else found["quoted"]
    return f"row_{(found['mode'] or 'running').lower()}_{found['name'].lower()}("


@dataclass(frozen=True)
class _View:
    """A scope, and the row an argument of a row function is evaluated on; outside of them there is none."""

    scope: Scope
    inside: bool = False
    place: int | None = None


@dataclass(frozen=True)
class _Call:
    """A function that looks at rows: `RUNNING LAST(A.x, 2)`."""

    mode: str
    name: str
    arguments: list[exp.Expression]


def _call(node: exp.Expression) -> _Call | None:
    node = node.unnest()
    parts = node.name.split("_", 2) if isinstance(node, exp.Anonymous) else []
    if len(parts) != 3 or parts[0] != "row":
        return None
    return _Call(parts[1], parts[2], node.expressions)


def _identifier(node: exp.Identifier) -> str:
    """A label as it was meant: upper-case, or exact in quotes."""
    return node.name if node.args.get("quoted") else node.name.upper()


def _is_classifier(node: exp.Expression) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "CLASSIFIER"


def _variable(argument: exp.Expression) -> str | None:
    """The one label or SUBSET the argument of a row function is about; None: all rows of the match."""
    found: set[str | None] = set()

    def collect(node: exp.Expression) -> None:
        if isinstance(node, exp.Select):
            return
        if _is_classifier(node):
            found.add(_identifier(node.expressions[0].this) if node.expressions else None)
        elif isinstance(node, exp.Column):
            found.add(_identifier(node.args["table"]) if node.args.get("table") else None)
        else:
            for child in node.iter_expressions():
                collect(child)

    collect(argument)
    if len(found) > 1:
        raise ClauseError(f"one argument is about the rows of one label, not of {found}")
    return found.pop() if found else None


def _evaluate(node: exp.Expression, view: _View) -> Any:
    """The value of a tree; None is NULL."""

    def value(child: exp.Expression) -> Any:
        return _evaluate(child, view)

    call = _call(node)
    if call is not None:
        if view.inside:
            raise ClauseError(
                f"{call.name} does not stand inside an argument of FIRST, LAST, PREV, NEXT, or an aggregate"
            )
        return _aggregated(call, view) if call.name in AGGREGATES else _navigated(call, view)
    if type(node) in _BINARY:
        return _BINARY[type(node)](value(node.this), value(node.expression))
    if type(node) in _UNARY:
        return _UNARY[type(node)](value(node.this))
    match node:
        case exp.Paren():
            return value(node.this)
        case exp.Column():
            table = node.args.get("table")
            place = view.place if view.inside else view.scope.last(_identifier(table) if table else None)
            return view.scope.value(node.name.lower(), place)
        case exp.Anonymous() if _is_classifier(node):
            return view.scope.classifier(view.place if view.inside else view.scope.last(_variable(node)))
        case exp.Anonymous() if node.name.upper() == "MATCH_NUMBER":
            return view.scope.match_number
        case exp.Literal() if node.is_string:
            return node.name
        case exp.Literal():
            return _number(node.name)
        case exp.Boolean():
            return bool(node.this)
        case exp.Null():
            return None
        case exp.Interval():
            return timedelta(microseconds=duration_us(node.this.name, node.args["unit"].name))
        case exp.Is():
            wanted = value(node.expression)
            return value(node.this) is None if wanted is None else value(node.this) is wanted
        case exp.In():
            return values.is_in(
                value(node.this), [value(item) for item in [*node.expressions, node.args.get("query")] if item]
            )
        case exp.Like():
            found = values.like(value(node.this), value(node.expression))
            return values.not_(found) if node.args.get("negate") else found  # sqlglot has no NOT around NOT LIKE
        case exp.Between():
            low, high, tested = value(node.args["low"]), value(node.args["high"]), value(node.this)
            return values.all_of([values.not_(values.less(tested, low)), values.not_(values.less(high, tested))])
        case exp.Case() | exp.If():
            return _chosen(node, view)
        case exp.Coalesce():
            return next((found for item in [node.this, *node.expressions] if (found := value(item)) is not None), None)
        case exp.Concat():
            return values.null_if_null(lambda *parts: "".join(map(values.text_of, parts)))(
                *map(value, node.expressions)
            )
        case exp.Cast():
            parameters = [int(parameter.name) for parameter in node.to.expressions]
            return values.cast(value(node.this), node.to.this.value, parameters)
        case exp.Exists():
            return _constant(node.this, view) is not _NO_ROW
        case exp.Subquery() | exp.Select():
            return _constant(node, view)
    raise ClauseError(f"the oracle does not have {node.sql()}")


_NO_ROW = object()


def _constant(query: exp.Expression, view: _View) -> Any:
    """A subquery of the form `(SELECT constant)`."""
    select = query.unnest()
    if (
        not isinstance(select, exp.Select)
        or len(select.expressions) != 1
        or list(select.find_all(exp.From, exp.Column))
    ):
        raise ClauseError(f"the oracle has only subqueries of the form (SELECT constant), not {query.sql()}")
    return _evaluate(select.expressions[0], view)


def _number(text: str) -> int | float | Decimal:
    if "e" in text.lower():
        return float(text)
    return Decimal(text) if "." in text else int(text)


def _chosen(node: exp.Case | exp.If, view: _View) -> Any:
    """CASE: the first branch whose condition is true."""
    branches = node.args["ifs"] if isinstance(node, exp.Case) else [node]
    for branch in branches:
        condition = _evaluate(branch.this, view)
        if isinstance(node, exp.Case) and node.this is not None:
            condition = values.equal(_evaluate(node.this, view), condition)
        if condition is True:
            return _evaluate(branch.args["true"], view)
    otherwise = node.args.get("default" if isinstance(node, exp.Case) else "false")
    return None if otherwise is None else _evaluate(otherwise, view)


def _offset(call: _Call, default: int) -> int:
    if len(call.arguments) not in (1, 2):
        raise ClauseError(f"{call.name} takes an expression and an offset")
    return int(call.arguments[1].name) if len(call.arguments) == 2 else default


def _logical_place(call: _Call, scope: Scope) -> int | None:
    find = scope.first if call.name == "first" else scope.last
    return find(_variable(call.arguments[0]), _offset(call, default=0), final=call.mode == "final")


def _navigated(call: _Call, view: _View) -> Any:
    """FIRST and LAST find a row by label; PREV and NEXT then count rows of the partition from there."""
    scope, argument = view.scope, call.arguments[0]
    if call.name in ("first", "last"):
        place = _logical_place(call, scope)
    else:
        inner = _call(argument)
        if inner is not None and inner.name in ("first", "last"):
            start, argument = _logical_place(inner, scope), inner.arguments[0]
        else:
            start = scope.last(_variable(argument))
        place = scope.shift(start, _offset(call, default=1) * (1 if call.name == "next" else -1))
    return None if place is None else _evaluate(argument, replace(view, inside=True, place=place))


def _aggregated(call: _Call, view: _View) -> Any:
    """The argument on every row of its label, NULLs left out; `count(*)` and `count(A.*)` count rows."""
    final = call.mode == "final"
    argument = call.arguments[0] if call.arguments else exp.Star()
    if len(call.arguments) > 1:
        raise ClauseError(f"{call.name} takes one argument")
    if isinstance(argument, exp.Star) or isinstance(argument.this, exp.Star):
        variable = None if isinstance(argument, exp.Star) else _identifier(argument.args["table"])
        return len(view.scope.places(variable, final))
    distinct = isinstance(argument, exp.Distinct)
    expression = argument.expressions[0] if distinct else argument
    found = [
        _evaluate(expression, replace(view, inside=True, place=place))
        for place in view.scope.places(_variable(expression), final)
    ]
    kept = [item for item in found if item is not None]
    return values.aggregate(call.name, list(dict.fromkeys(kept)) if distinct else kept)


_UNARY = {
    exp.Not: values.not_,
    exp.Neg: values.null_if_null(lambda value: -value),
    exp.Abs: values.null_if_null(abs),
    exp.Lower: values.null_if_null(str.lower),
    exp.Upper: values.null_if_null(str.upper),
    exp.Length: values.null_if_null(len),
}
_BINARY = {
    exp.And: lambda left, right: values.all_of([left, right]),
    exp.Or: lambda left, right: values.any_of([left, right]),
    exp.EQ: values.equal,
    exp.NEQ: lambda left, right: values.not_(values.equal(left, right)),
    exp.LT: values.less,
    exp.LTE: lambda left, right: values.not_(values.less(right, left)),
    exp.GT: lambda left, right: values.less(right, left),
    exp.GTE: lambda left, right: values.not_(values.less(left, right)),
    exp.NullSafeEQ: lambda left, right: left is right if left is None or right is None else values.equal(left, right),
    exp.Add: values.add,
    exp.Sub: values.subtract,
    exp.Mul: values.multiply,
    exp.Div: values.divide,
    exp.Mod: values.modulo,
    exp.DPipe: values.null_if_null(lambda left, right: values.text_of(left) + values.text_of(right)),
}
