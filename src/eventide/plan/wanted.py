"""Which events some step wants, as a filter that storage can use: statistics of Parquet files, Spark's pushdown.

The mask of an event says the same. But `mask <> 0` compares a sum, by which no file format can rule anything out. So
the conditions of the steps are also written as they are, joined by OR.

Statistics leave out NaN, which is greater than all numbers in SQL. So Spark and DuckDB both lose a row with NaN for
`x > 5` where all other numbers of a row group are less. Such conditions stay with the mask.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from eventide.expressions.split import EventValue
from eventide.expressions.typed import Typed
from eventide.plan.physical import Comparison, SqlColumn, Wanted

_TURNED = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def wanted_of(conditions: Sequence[Sequence[EventValue]], column: Callable[[EventValue], SqlColumn]) -> Wanted:
    """The filter of steps; each has a list of conditions, of which all must hold."""
    usable = [[column(value) for value in values if is_usable(value.typed)] for values in conditions]
    duckdb = all(one.duckdb is not None for texts in usable for one in texts)
    return Wanted(
        _any([[one.spark for one in texts] for texts in usable]),
        _any([[one.duckdb or "" for one in texts] for texts in usable]) if duckdb else None,
        all(len(texts) == len(values) for texts, values in zip(usable, conditions, strict=True)),
        tuple(tuple(found for value in values for found in comparisons(value.typed)) for values in conditions),
    )


def _any(steps: Sequence[Sequence[str]]) -> str:
    """The texts of steps, joined; a step without one may want any event."""
    texts = dict.fromkeys(" AND ".join(f"({text})" for text in dict.fromkeys(each)) for each in steps)
    return "" if "" in texts else " OR ".join(f"({text})" for text in texts)


def comparisons(typed: Typed) -> Iterator[Comparison]:
    """What a condition says about single columns; what it says besides is left out.

    >>> price, two = Typed("column", (), pa.int64(), ("price", pa.int64())), Typed("literal", (), pa.int64(), 2)
    >>> [(each.column, each.op, each.values) for each in comparisons(Typed("gt", (two, price), pa.bool_()))]
    [('price', 'lt', (2,))]
    """
    if typed.op == "and":
        for arg in typed.args:
            yield from comparisons(arg)
    elif typed.op in (*_TURNED, "in"):
        op, (column, *values) = typed.op, typed.args
        if column.op == "literal" and op in _TURNED:
            op, column, values = _TURNED[op], values[0], [column]
        name, kind = _column(column), values[0].dtype
        if name is not None and kind is not None and all(_is_told(op, value) for value in values):
            yield Comparison(name, op, tuple(value.value for value in values), kind)


def _column(typed: Typed) -> str | None:
    """The column of the user's that an operand is; a time with a zone in place of one without is the same instant."""
    if typed.op == "cast" and typed.args[0].op == "column":
        inner = typed.args[0]
        return _column(inner) if _is_time(inner.dtype) and _is_time(typed.dtype) else None
    return str(typed.value[0]) if typed.op == "column" and not typed.args else None


def _is_time(kind: pa.DataType | None) -> bool:
    return kind is not None and pa.types.is_timestamp(kind)


def _is_told(op: str, value: Typed) -> bool:
    """Whether statistics tell all about a comparison of a column with a constant."""
    if value.op != "literal" or value.value is None:
        return False
    if not isinstance(value.value, float):
        return True
    # Of zero there are two, which are equal and differ in files.
    return not math.isnan(value.value) and (op in ("lt", "le") or (op in ("eq", "in") and value.value != 0))


def is_usable(typed: Typed, is_negated: bool = False) -> bool:
    """Whether storage may use a condition: comparisons of columns with constants, and what is made of them."""
    if typed.op == "literal":
        return True
    if typed.op in ("and", "or", "not"):
        return all(is_usable(arg, is_negated or typed.op == "not") for arg in typed.args)
    if typed.op == "is_null":
        return _column(typed.args[0]) is not None
    args: Any = [arg for arg in typed.args if arg.op != "column" or arg.args]
    if typed.op not in (*_TURNED, "ne", "in") or len(args) != len(typed.args) - 1:
        return False
    is_turned = typed.args[0].op == "literal"
    op = _TURNED.get(typed.op, typed.op) if is_turned else typed.op
    is_float = any(isinstance(arg.value, float) for arg in args)
    return all(_is_told(op, arg) for arg in args) and not (is_float and is_negated)
