"""Aggregates and window functions of a statement: those that are equal on Spark and on DuckDB, with Spark's types.

Sums of integers are BIGINT on Spark and 128 bits wide on DuckDB, ranks are INT and BIGINT: casts stand around the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.spark_names import SPARK_FUNCTIONS
from eventide.expressions.types import canonical, column_type, duckdb_type, is_number, kind, type_name
from eventide.plan.statements.scopes import Value

Write = Callable[[exp.Expression], Value]


@dataclass(frozen=True, slots=True)
class Call:
    """A call on DuckDB, behind which FILTER and OVER may stand; `around` has {} where the whole goes."""

    sql: str
    dtype: pa.DataType
    around: str = "{}"


_NAMED = {"mean": "avg", "std": "stddev", "every": "bool_and", "some": "bool_or", "bool_and": "bool_and"}
_NAMED |= {"bool_or": "bool_or", "stddev": "stddev", "variance": "variance", "var_samp": "variance"}
_NODES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.CountIf: "count_if",
    exp.AnyValue: "any_value",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.Stddev: "stddev",
    exp.StddevSamp: "stddev",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "variance",
    exp.VariancePop: "var_pop",
    exp.Median: "median",
    exp.ArrayAgg: "array_agg",
}
_RANKS: dict[type[exp.Expr], str] = {
    exp.RowNumber: "row_number()",
    exp.Rank: "rank()",
    exp.DenseRank: "dense_rank()",
}
_SHARES: dict[type[exp.Expr], str] = {exp.PercentRank: "percent_rank()", exp.CumeDist: "cume_dist()"}
_NEIGHBOURS = (exp.Lag, exp.Lead)
_EDGES = (exp.FirstValue, exp.LastValue, exp.First, exp.Last)


def _spelt(nodes: Iterable[type[exp.Expr]]) -> list[tuple[str, type[exp.Expr]]]:
    """The names of Spark SQL for functions that sqlglot knows."""
    names = [(name.lower(), node) for node in nodes if issubclass(node, exp.Func) for name in node.sql_names()]
    return [(name, node) for name, node in names if name in SPARK_FUNCTIONS]


# Each name of an aggregate on the list, and what computes it; the names of functions that need OVER.
AGGREGATES = {name: _NODES[node] for name, node in _spelt(_NODES)} | _NAMED | {"collect_list": "array_agg"}
WINDOW_FUNCTIONS = tuple(name for name, _ in _spelt((*_RANKS, *_SHARES, exp.Ntile, *_NEIGHBOURS, *_EDGES)))
_FLOATING = {"stddev": "stddev_samp", "stddev_pop": "stddev_pop", "variance": "var_samp", "var_pop": "var_pop"}
_MOST_DIGITS = 38


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node aggregates rows, on the list or not."""
    return _name(node) is not None or isinstance(node, exp.AggFunc)


def _name(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Anonymous):
        return _NAMED.get(node.name.lower())
    if isinstance(node, exp.Any) and not isinstance(node.parent, exp.Binary):
        return "bool_or"
    return _NODES.get(type(node))


def aggregate_call(node: exp.Expr, write: Write) -> Call | None:
    """The call of an aggregate; None when it is off the list."""
    name = _name(node)
    arguments = list(node.expressions) if isinstance(node, exp.Anonymous) else [node.this]
    beyond = any(value for key, value in node.args.items() if key not in ("this", "expressions", *_HARMLESS))
    if name is None or beyond or len(arguments) != 1 or (isinstance(node, exp.Count) and node.expressions):
        return None
    argument, distinct = arguments[0], ""
    if isinstance(argument, exp.Distinct):
        if len(argument.expressions) != 1 or argument.args.get("on"):
            return None
        argument, distinct = argument.expressions[0], "DISTINCT "
    if name == "count" and isinstance(argument, exp.Star):
        return Call("count(*)", pa.int64())
    value = write(argument)
    return _call(name, distinct, value, column_type(value.dtype))


_HARMLESS = ("big_int", "nulls_excluded")


def _call(name: str, distinct: str, value: Value, dtype: pa.DataType) -> Call | None:
    sql, group = f"{distinct}{value.sql}", kind(dtype)
    if name == "count":
        return Call(f"count({sql})", pa.int64())
    if name in ("min", "max") and group not in ("other", "months"):
        return Call(f"{name}({sql})", value.dtype)
    if name == "any_value":  # DuckDB's leaves NULLs out
        return Call(f"first({sql})", value.dtype)
    if name in ("bool_and", "bool_or", "count_if"):
        if group not in ("boolean", "null"):
            return None
        if name == "count_if":  # DuckDB's is NULL where no condition is known
            return Call(f"count_if({sql})", pa.int64(), "coalesce(CAST({} AS BIGINT), 0)")
        return Call(f"{name}({sql})", pa.bool_())
    if name == "array_agg":
        kept = f"list({sql}) FILTER (WHERE {value.sql} IS NOT NULL)"
        return None if distinct else Call(kept, pa.list_(value.dtype), "coalesce({}, [])")
    if not is_number(dtype) or group == "null":
        return None
    if name == "sum":
        return _sum(sql, dtype, group)
    if group == "decimal":
        return None
    double = f"{distinct}CAST({value.sql} AS DOUBLE)"
    called = {"avg": f"avg({sql})", "median": f"median({double})"}
    return Call(called.get(name) or f"{_FLOATING[name]}({double})", pa.float64())


def _sum(sql: str, dtype: pa.DataType, group: str) -> Call:
    if group == "integer":
        return Call(f"sum({sql})", pa.int64(), "CAST({} AS BIGINT)")
    if group == "decimal":
        wide = pa.decimal128(min(_MOST_DIGITS, dtype.precision + 10), dtype.scale)
        return Call(f"sum({sql})", wide, f"CAST({{}} AS {duckdb_type(wide)})")
    return Call(f"sum({sql})", pa.float64(), "CAST({} AS DOUBLE)")


def window_call(node: exp.Expr, write: Write) -> Call | None:
    """The call of a window function, or of an aggregate over a window; None when it is off the list."""
    if isinstance(node, exp.RespectNulls):
        return window_call(node.this, write)
    for kinds, dtype, around in ((_RANKS, pa.int32(), "CAST({} AS INTEGER)"), (_SHARES, pa.float64(), "{}")):
        if type(node) in kinds:
            return Call(kinds[type(node)], dtype, around)
    if isinstance(node, exp.Ntile) and isinstance(node.this, exp.Literal):
        return Call(f"ntile({write(node.this).sql})", pa.int32(), "CAST({} AS INTEGER)")
    if isinstance(node, _NEIGHBOURS):
        return _neighbour(node, write)
    if isinstance(node, _EDGES):
        beyond = any(value for key, value in node.args.items() if key != "this")
        name = "first_value" if isinstance(node, (exp.FirstValue, exp.First)) else "last_value"
        value = write(node.this)
        return None if beyond else Call(f"{name}({value.sql})", value.dtype)
    return aggregate_call(node, write)


def _neighbour(node: exp.Expr, write: Write) -> Call | None:
    value, offset, default = write(node.this), node.args.get("offset"), node.args.get("default")
    if offset is not None and not (isinstance(offset, exp.Literal) and offset.this.isdigit()):
        return None
    items = [value.sql, offset.this if offset is not None else "1"]
    if default is not None:
        if kind(column_type(value.dtype)) in ("other", "interval"):
            return None
        items.append(write(exp.Cast(this=default, to=_spark_type(value.dtype))).sql)
    return Call(f"{'lag' if isinstance(node, exp.Lag) else 'lead'}({', '.join(items)})", value.dtype)


def _spark_type(dtype: pa.DataType) -> exp.DataType:
    return exp.DataType.build(type_name(canonical(dtype)), dialect="spark")
