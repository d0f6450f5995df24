"""The aggregates that can be kept while events come: Spark's names for them, what they take and are made of."""

from __future__ import annotations

from sqlglot import exp

from eventide.expressions.navigation.aggregates import known_aggregate
from eventide.expressions.navigation.calls import read_call
from eventide.runtime.moments import PAIRED

# Those that look at all values at once.
_NOT_KEPT = ("TRY_", "ARRAY_AGG", "COLLECT_", "STRING_AGG", "MODE", "MEDIAN", "PERCENTILE")
_ENDS = {"FIRST": "FIRST", "FIRST_VALUE": "FIRST", "ANY_VALUE": "FIRST", "LAST": "LAST", "LAST_VALUE": "LAST"}
_OF_TWO = (*PAIRED, "REGR_COUNT", "REGR_AVGX", "REGR_AVGY", "MAX_BY", "MIN_BY")
_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.RespectNulls)
_UNKNOWN = ("PRODUCT", "SCHEMA_OF_JSON_AGG")  # aggregates of Spark that MATCH_RECOGNIZE has no word about


def function_of(node: exp.Expr) -> str | None:
    """The aggregate that a node is, by the name that operators have for it; None for anything else.

    >>> import sqlglot
    >>> [function_of(sqlglot.parse_one(text, read="spark")) for text in ("std(A.x)", "any_value(A.x)", "median(A.x)")]
    ['STDDEV_SAMP', 'FIRST', None]
    """
    if isinstance(node, _WRAPPERS) or isinstance(node.parent, exp.IgnoreNulls):
        return None
    if isinstance(node, exp.IgnoreNulls):
        call = read_call(node.this)
        inner = None if call is None else _ENDS.get(call.name)
        return None if inner is None else f"{inner}_PRESENT"
    if isinstance(node, exp.Any):
        return "BOOL_OR"
    call = read_call(node)
    function = None if call is None else _ENDS.get(call.name) or known_aggregate(call.name)
    return None if function is None or function.startswith(_NOT_KEPT) else function


def is_other_aggregate(node: exp.Expr) -> bool:
    """Whether a node is one of the aggregates that cannot be kept."""
    if isinstance(node, exp.Anonymous) and node.name.upper() in _UNKNOWN:
        return True
    if isinstance(node, (exp.IgnoreNulls, *_WRAPPERS)) or isinstance(node.parent, exp.IgnoreNulls):
        return False
    return read_call(node) is not None and function_of(node) is None


def arguments_of(node: exp.Expr) -> list[exp.Expr]:
    """What stands between the brackets of an aggregate."""
    if isinstance(node, exp.IgnoreNulls):
        return arguments_of(node.this)
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    first = node.this.this if isinstance(node, exp.Any) and isinstance(node.this, exp.Paren) else node.this
    rest = [node.args.get("expression"), *(node.args.get("expressions") or ()), node.args.get("count")]
    return [each for each in (first, *rest) if isinstance(each, exp.Expr)]


def takes(function: str) -> tuple[int, int | None]:
    """The least and the most number of arguments."""
    if function == "COUNT":
        return 1, None
    return (2, 2) if function in _OF_TWO else (1, 1)


def kept_form(function: str, arguments: list[exp.Expr]) -> tuple[str, list[exp.Expr]]:
    """The function that operators keep, and its arguments: some are others over a CASE."""
    if function == "COUNT" and len(arguments) > 1:
        return "COUNT", [_where(_all_known(arguments), exp.Literal.number(1))]
    if function == "COUNT_IF":
        return "COUNT", [_where(arguments[0], exp.Literal.number(1))]
    if function == "REGR_COUNT":
        return "COUNT", [_where(_all_known(arguments), exp.Literal.number(1))]
    if function in ("REGR_AVGX", "REGR_AVGY"):
        y, x = arguments
        return "AVG", [_where(_all_known([x]), y) if function == "REGR_AVGY" else _where(_all_known([y]), x)]
    return {"BOOL_AND": "MIN", "BOOL_OR": "MAX"}.get(function, function), arguments


def filtered(node: exp.Filter) -> exp.Expr:
    """`sum(A.x) FILTER (WHERE c)` as `sum(CASE WHEN c THEN A.x END)`: what is NULL does not count."""
    aggregate: exp.Expr = node.this.copy()
    condition = node.expression.this
    function = function_of(aggregate)
    inner = aggregate.this if isinstance(aggregate, exp.IgnoreNulls) else aggregate
    if isinstance(inner, exp.Anonymous):
        inner.set("expressions", [_where(condition, inner.expressions[0]), *inner.expressions[1:]])
    elif isinstance(inner.this, exp.Identifier | exp.Star):
        inner.set("this", _where(condition, exp.Literal.number(1)))
    else:
        key = "expression" if function in ("MAX_BY", "MIN_BY") else "this"
        inner.set(key, _where(condition, inner.args[key]))
    return aggregate


def _where(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _all_known(arguments: list[exp.Expr]) -> exp.Expr:
    return exp.and_(*(exp.Not(this=exp.Is(this=each.copy(), expression=exp.Null())) for each in arguments))
