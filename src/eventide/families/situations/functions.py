"""The aggregates that can be kept while events come: Spark's names for them, what they take and are made of."""

from __future__ import annotations

from sqlglot import exp

from eventide.families.situations.moments import PAIRED

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
    exp.ArgMax: "MAX_BY",
    exp.ArgMin: "MIN_BY",
    exp.Stddev: "STDDEV_SAMP",
    exp.StddevSamp: "STDDEV_SAMP",
    exp.StddevPop: "STDDEV_POP",
    exp.Variance: "VAR_SAMP",
    exp.VariancePop: "VAR_POP",
    exp.Skewness: "SKEWNESS",
    exp.Kurtosis: "KURTOSIS",
    exp.Corr: "CORR",
    exp.CovarPop: "COVAR_POP",
    exp.CovarSamp: "COVAR_SAMP",
    exp.RegrCount: "REGR_COUNT",
    exp.RegrAvgx: "REGR_AVGX",
    exp.RegrAvgy: "REGR_AVGY",
    exp.RegrSxx: "REGR_SXX",
    exp.RegrSyy: "REGR_SYY",
    exp.RegrSxy: "REGR_SXY",
    exp.RegrSlope: "REGR_SLOPE",
    exp.RegrIntercept: "REGR_INTERCEPT",
    exp.RegrR2: "REGR_R2",
    exp.CountIf: "COUNT_IF",
    exp.LogicalAnd: "BOOL_AND",
    exp.LogicalOr: "BOOL_OR",
    exp.Any: "BOOL_OR",
    exp.BitwiseAndAgg: "BIT_AND",
    exp.BitwiseOrAgg: "BIT_OR",
    exp.BitwiseXorAgg: "BIT_XOR",
}
_NAMES = {
    "EVERY": "BOOL_AND",
    "SOME": "BOOL_OR",
    "ANY": "BOOL_OR",
    "MEAN": "AVG",
    "STD": "STDDEV_SAMP",
    "STDDEV_POP": "STDDEV_POP",
    "VAR_SAMP": "VAR_SAMP",
}
_OF_TWO = (*PAIRED, "REGR_COUNT", "REGR_AVGX", "REGR_AVGY", "MAX_BY", "MIN_BY")
# Aggregates of Spark that the parser has no class for.
_OTHERS = (
    "TRY_SUM",
    "TRY_AVG",
    "PRODUCT",
    "HISTOGRAM_NUMERIC",
    "PERCENTILE_APPROX",
    "APPROX_TOP_K",
    "COUNT_MIN_SKETCH",
    "HLL_SKETCH_AGG",
    "HLL_UNION_AGG",
    "BITMAP_AND_AGG",
    "SCHEMA_OF_JSON_AGG",
    "SCHEMA_OF_VARIANT_AGG",
)


def function_of(node: exp.Expr) -> str | None:
    """The aggregate that a node is, by the name that operators have for it; None for anything else."""
    if isinstance(node, exp.IgnoreNulls):
        inner = _NODES.get(type(node.this))
        return f"{inner}_PRESENT" if inner in ("FIRST", "LAST") else None
    if isinstance(node.parent, exp.IgnoreNulls):
        return None
    if isinstance(node, exp.Anonymous):
        return _NAMES.get(str(node.this).upper())
    return _NODES.get(type(node))


def is_other_aggregate(node: exp.Expr) -> bool:
    """Whether a node is one of the aggregates that cannot be kept."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper() in _OTHERS
    return isinstance(node, exp.AggFunc) and function_of(node) is None and not isinstance(node.parent, exp.IgnoreNulls)


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
    elif isinstance(inner.this, exp.Identifier):
        inner.set("this", _where(condition, exp.Literal.number(1)))
    else:
        key = "expression" if function in ("MAX_BY", "MIN_BY") else "this"
        inner.set(key, _where(condition, inner.args[key]))
    return aggregate


def _where(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _all_known(arguments: list[exp.Expr]) -> exp.Expr:
    return exp.and_(*(exp.Not(this=exp.Is(this=each.copy(), expression=exp.Null())) for each in arguments))
