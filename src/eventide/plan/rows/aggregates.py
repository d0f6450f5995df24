"""Aggregates of MEASURES besides count, sum, avg, min and max: their names in DuckDB and their types.

Each gives on DuckDB what it gives in Spark SQL; those that differ (skewness, kurtosis, approximations) are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from sqlglot import exp

Types = Sequence[pa.DataType]


def _double(types: Types) -> pa.DataType:
    return pa.float64()


def _first(types: Types) -> pa.DataType:
    return types[0]


def _list(types: Types) -> pa.DataType:
    return pa.list_(types[0])


def _bigint(types: Types) -> pa.DataType:
    return pa.int64()


def _boolean(types: Types) -> pa.DataType:
    return pa.bool_()


def _string(types: Types) -> pa.DataType:
    return pa.string()


def _sum(types: Types) -> pa.DataType:
    if pa.types.is_integer(types[0]):
        return pa.int64()
    if pa.types.is_decimal(types[0]):
        return pa.decimal128(min(38, types[0].precision + 10), types[0].scale)
    return pa.float64()


# Name in Spark SQL -> DuckDB text with {0}, {1} for the arguments and {d} for DISTINCT, and the result's type.
AGGREGATES: dict[str, tuple[str, Callable[[Types], pa.DataType]]] = {
    "COUNT": ("count({d}{0})", _bigint),
    "SUM": ("sum({d}{0})", _sum),
    "AVG": ("avg({d}CAST({0} AS DOUBLE))", _double),
    "MIN": ("min({0})", _first),
    "MAX": ("max({0})", _first),
    "ARRAY_AGG": ("coalesce(list({d}{0}) FILTER ({0} IS NOT NULL), [])", _list),
    "COLLECT_SET": ("coalesce(list(DISTINCT {0}) FILTER ({0} IS NOT NULL), [])", _list),
    "STDDEV_SAMP": ("stddev_samp({0})", _double),
    "STDDEV_POP": ("stddev_pop({0})", _double),
    "VAR_SAMP": ("var_samp({0})", _double),
    "VAR_POP": ("var_pop({0})", _double),
    "CORR": ("corr({0}, {1})", _double),
    "COVAR_SAMP": ("covar_samp({0}, {1})", _double),
    "COVAR_POP": ("covar_pop({0}, {1})", _double),
    "BOOL_AND": ("bool_and({0})", _boolean),
    "BOOL_OR": ("bool_or({0})", _boolean),
    "ANY_VALUE": ("first({0})", _first),
    "MAX_BY": ("arg_max_null({0}, {1})", _first),
    "MIN_BY": ("arg_min_null({0}, {1})", _first),
    "MEDIAN": ("quantile_cont(CAST({0} AS DOUBLE), 0.5)", _double),
    "PERCENTILE": ("quantile_cont(CAST({0} AS DOUBLE), {1})", _double),
    "BIT_AND": ("bit_and({0})", _first),
    "BIT_OR": ("bit_or({0})", _first),
    "BIT_XOR": ("bit_xor({0})", _first),
    "STRING_AGG": ("string_agg({0}, {1})", _string),
}

_CLASSES: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
    exp.ArrayAgg: "ARRAY_AGG",
    exp.ArrayUniqueAgg: "COLLECT_SET",
    exp.Stddev: "STDDEV_SAMP",
    exp.StddevSamp: "STDDEV_SAMP",
    exp.StddevPop: "STDDEV_POP",
    exp.Variance: "VAR_SAMP",
    exp.VariancePop: "VAR_POP",
    exp.Corr: "CORR",
    exp.CovarSamp: "COVAR_SAMP",
    exp.CovarPop: "COVAR_POP",
    exp.LogicalAnd: "BOOL_AND",
    exp.LogicalOr: "BOOL_OR",
    exp.AnyValue: "ANY_VALUE",
    exp.ArgMax: "MAX_BY",
    exp.ArgMin: "MIN_BY",
    exp.Median: "MEDIAN",
    exp.Quantile: "PERCENTILE",
    exp.GroupConcat: "STRING_AGG",
    exp.BitwiseAndAgg: "BIT_AND",
    exp.BitwiseOrAgg: "BIT_OR",
    exp.BitwiseXorAgg: "BIT_XOR",
}
_ANONYMOUS = {
    "EVERY": "BOOL_AND",
    "SOME": "BOOL_OR",
    "ANY": "BOOL_OR",
    "PERCENTILE": "PERCENTILE",
    "STRING_AGG": "STRING_AGG",
    "LISTAGG": "STRING_AGG",
    "BIT_AND": "BIT_AND",
    "BIT_OR": "BIT_OR",
    "BIT_XOR": "BIT_XOR",
    "STDDEV_POP": "STDDEV_POP",
    "VAR_SAMP": "VAR_SAMP",
    "VAR_POP": "VAR_POP",
}


def aggregate_name(node: exp.Expr) -> str | None:
    """The key in `AGGREGATES`; None for what is no aggregate, or none of these.

    >>> import sqlglot
    >>> aggregate_name(sqlglot.parse_one("collect_list(x)", read="spark"))
    'ARRAY_AGG'
    """
    if isinstance(node, exp.Anonymous):
        return _ANONYMOUS.get(node.name.upper())
    return _CLASSES.get(type(node))
