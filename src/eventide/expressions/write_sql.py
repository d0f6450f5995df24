"""Expressions as SQL text: for Catalyst as written, for DuckDB so that the results are the same.

Goes in: a tree over the columns of one event. Comes out: text with every name quoted. On both engines a division
by zero is NULL. DuckDB's text is written from the typed expression, with every cast that Spark makes by itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pyarrow as pa
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator

from eventide.errors import QueryError
from eventide.expressions.arrays import write_array
from eventide.expressions.casts import duckdb_cast
from eventide.expressions.known_functions import is_known, not_here
from eventide.expressions.readings import is_next, is_reading
from eventide.expressions.typecheck import Resolve, bind
from eventide.expressions.typed import Source, Typed, off_the_list
from eventide.expressions.types import DURATION, TIMESTAMP, as_decimal, canonical, column_type, duckdb_type, kind
from eventide.lang.nodes import copied, every_node
from eventide.lang.tree import Span
from eventide.runtime.quoting import literal, quoted

_SPARK = Spark()
# Nodes that Spark reads as sqlglot writes them.
_AS_WRITTEN = frozenset(
    {exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between}
    | {exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Add, exp.Sub, exp.Mul}
)
_DIVISIONS = (exp.Div, exp.Mod, exp.IntDiv)
_SUFFIXES = {exp.DType.TINYINT: "Y", exp.DType.SMALLINT: "S", exp.DType.BIGINT: "L"}
IN_PROCESS = "compute it before, as a column, such as df['y'] = ... in pandas; on Spark the query works as it is"
FROM_RESULT = "return what it is made of, and compute it from the result; on Spark the query works as it is"
_BASES = {"2": "LOG2", "10": "LOG10"}


Names = Callable[[exp.Column], str]  # what a column is called in the text


def write_spark(tree: exp.Expr, names: Names | None = None) -> str:
    """The expression for Catalyst; columns without their symbols, or under the names given.

    >>> import sqlglot
    >>> write_spark(sqlglot.parse_one("a.price / a.volume > 1.5D", read="spark"))
    '`price` / NULLIF(`volume`, 0) > CAST(1.5 AS DOUBLE)'
    """
    if not all(type(node) in _AS_WRITTEN for node in every_node(tree, is_reading)):
        # The generator may change what it writes.
        tree = copied(tree).transform(_for_spark, copy=False)
    writer = _SparkWriter(dialect=_SPARK, identify=True, comments=False)
    writer.names = names
    return writer.generate(tree, copy=False)


class _SparkWriter(SparkGenerator):
    names: Names | None = None

    def column_sql(self, expression: exp.Column) -> str:
        return _quoted(expression.name if self.names is None else self.names(expression))

    def dot_sql(self, expression: exp.Dot) -> str:
        return _quoted(expression.expression.name) if is_next(expression) else super().dot_sql(expression)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _for_spark(node: exp.Expression) -> exp.Expression:
    if isinstance(node, _DIVISIONS) and not isinstance(node.expression, exp.Nullif):
        divisor = node.expression
        if not (isinstance(divisor, exp.Literal) and float(divisor.this) != 0):
            node.set("expression", exp.Nullif(this=divisor, expression=exp.Literal.number(0)))
    elif isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and not node.args.get("safe"):
        # sqlglot reads 3L as a cast; as a literal again it is as narrow a decimal as it can be, and may carry a sign.
        suffix = _SUFFIXES.get(node.to.this)
        if suffix is not None and not node.this.is_string and node.this.this.isdigit():
            return exp.Var(this=f"{node.this.this}{suffix}")
    elif isinstance(node, exp.Log) and isinstance(node.this, exp.Literal) and node.this.this in _BASES:
        # sqlglot reads LOG10(x) as LOG(10, x), which Spark rounds differently.
        return exp.Anonymous(this=_BASES[node.this.this], expressions=[node.expression])
    elif isinstance(node, exp.Anonymous) and node.name.upper() == "PMOD" and len(node.expressions) == 2:
        value, by = node.expressions
        if not (isinstance(by, exp.Literal) and float(by.this) != 0):
            return exp.Anonymous(this="PMOD", expressions=[value, exp.func("NULLIF", by, exp.Literal.number(0))])
    elif isinstance(node, exp.DPipe) and isinstance(node.expression, exp.DPipe):
        # Catalyst's tree is as deep as the text says.
        node.set("expression", exp.Paren(this=node.expression))
    elif isinstance(node, exp.Bracket) and node.args.get("offset") == 1:
        (index,) = node.expressions
        if not isinstance(index, exp.Literal | exp.Neg) or index.this == "0":
            # There is no item 0, which Spark takes for a mistake.
            index = exp.Nullif(this=index, expression=exp.Literal.number(0))
        return exp.Anonymous(this="TRY_ELEMENT_AT", expressions=[node.this, index])
    elif isinstance(node, exp.Bracket) and node.args.get("safe") and not node.args.get("offset"):
        return exp.Anonymous(this="GET", expressions=[node.this, *node.expressions])
    return node


def write_duckdb(
    tree: exp.Expression, resolve: Resolve, text: str, default_span: Span, instead: str = IN_PROCESS
) -> str:
    """The expression for DuckDB; QueryError when it is off the allow-list.

    >>> import sqlglot
    >>> from eventide.expressions.typecheck import columns_of
    >>> columns = columns_of(pa.schema([("n", pa.int32())]))
    >>> write_duckdb(sqlglot.parse_one("n / 2 > 1", read="spark"), columns, "n / 2 > 1", Span(0, 9))
    '((CAST("n" AS DOUBLE) / nullif(2.0::DOUBLE, 0)) > 1.0::DOUBLE)'
    """
    return write_typed(bind(tree, resolve, text, default_span), Source(text, default_span), instead)


def write_typed(typed: Typed, source: Source, instead: str = IN_PROCESS) -> str:
    """A typed expression for DuckDB; QueryError, with what to do instead, when it is off the allow-list."""
    cause = off_the_list(typed)
    if cause is not None:
        raise _refused(cause, source, instead)
    return _write(typed)


def _refused(part: Typed, source: Source, instead: str) -> QueryError:
    shown = source.text[part.span.start : part.span.end] or str(part.value)
    called = re.match(r"(\w+)\s*\(", shown)
    if called and not is_known(called[1]):
        return not_here(called[1], source, part.span)
    return source.error(f"the local engine cannot compute {shown}", part.span, instead)


def _literal(typed: Typed) -> str:
    assert typed.dtype is not None
    name, value = duckdb_type(typed.dtype), typed.value
    if value is None:
        return f"NULL::{name}"
    match kind(typed.dtype):
        case "string":
            return literal(value)
        case "boolean":
            return "true" if value else "false"
        case "double" | "float":
            if not math.isfinite(value):
                return f"'{value!r}'::{name}"
            return f"{value!r}::{name}" if value >= 0 else f"({value!r})::{name}"
        case "date":
            return f"(DATE '1970-01-01' + ({value}))"
        case "timestamp":
            return f"make_timestamp{'tz' if typed.dtype == TIMESTAMP else ''}({value})"
        case "decimal":
            return f"'{value:f}'::{name}"
    return f"({value})::{name}" if value < 0 else f"{value}::{name}"


def _column(typed: Typed) -> str:
    name, stored = typed.value
    text = f"struct_extract({_write(typed.args[0])}, {literal(name)})" if typed.args else quoted(name)
    if column_type(stored) == DURATION:
        return f"epoch_us({text})"
    wanted = canonical(stored)
    is_zoned_us = pa.types.is_timestamp(stored) and stored.tz is not None and stored.unit == "us"
    if stored == wanted or kind(wanted) == "other" or is_zoned_us or pa.types.is_large_string(stored):
        return text
    return f"CAST({text} AS {duckdb_type(wanted)})"


def _mod(typed: Typed) -> str:
    left, right = (_write(arg) for arg in typed.args)
    rest = f"{left} % nullif({right}, 0)"
    # DuckDB reports an overflow for the least integer % -1, which is 0.
    return f"(CASE WHEN {right} = -1 THEN {left} - {left} ELSE {rest} END)" if _is_int(typed) else f"({rest})"


def _is_int(typed: Typed) -> bool:
    return typed.dtype is not None and kind(typed.dtype) == "integer"


def _like(typed: Typed) -> str:
    value, pattern = typed.args
    return f"({_write(value)} LIKE {_write(pattern)} ESCAPE '\\')"


def _case(typed: Typed) -> str:
    texts = [_write(arg) for arg in typed.args]
    branches = " ".join(f"WHEN {texts[i]} THEN {texts[i + 1]}" for i in range(0, len(texts) - 1, 2))
    return f"(CASE {branches} ELSE {texts[-1]} END)"


def _cast(typed: Typed) -> str:
    (arg,) = typed.args
    assert arg.dtype is not None and typed.dtype is not None
    return duckdb_cast(_write(arg), arg.dtype, typed.dtype)


def _between_times(typed: Typed) -> str:
    left, right = typed.args
    if left.dtype == pa.date32():
        return f"(CAST({_write(left)} - {_write(right)} AS BIGINT) * 86400000000)"
    return f"(epoch_us({_write(left)}) - epoch_us({_write(right)}))"


def _shift(typed: Typed) -> str:
    moment, by = (_write(arg) for arg in typed.args)
    op, unit = typed.op.split("_")
    sign = "+" if op == "add" else "-"
    if unit == "interval":
        make = "make_timestamptz" if typed.dtype == TIMESTAMP else "make_timestamp"
        return f"{make}(epoch_us({moment}) {sign} {by})"
    step = by if unit == "days" else f"to_months({by})"
    return f"CAST({moment} {sign} {step} AS {duckdb_type(typed.dtype)})"


def _round(typed: Typed) -> str:
    text = _write(typed.args[0])
    if typed.dtype == pa.float64():
        # Spark has no negative zero here.
        return f"(round({text}) + 0.0)"
    if typed.op == "round":
        return f"CAST(round({text}, {typed.value}) AS {duckdb_type(typed.dtype)})"
    if typed.args[0].dtype == pa.float64():
        return f"(CASE WHEN isnan({text}) THEN 0 ELSE CAST({typed.op}({text}) AS BIGINT) END)"
    return f"CAST({typed.op}({text}) AS {duckdb_type(typed.dtype)})"


def _infix(symbol: str) -> Callable[[Typed], str]:
    def write(typed: Typed) -> str:
        text = "(" + f" {symbol} ".join(_write(arg) for arg in typed.args) + ")"
        if kind(typed.dtype) == "decimal":
            return f"CAST({text} AS {duckdb_type(typed.dtype)})"
        return text

    return write


def _mul(typed: Typed) -> str:
    left, right = typed.args
    if kind(typed.dtype) != "decimal":
        return f"({_write(left)} * {_write(right)})"
    # DuckDB multiplies decimals of up to 18 digits in 64 bits, even when the product has more.
    wide = f"CAST({_write(left)} AS DECIMAL(38,{as_decimal(left.dtype).scale}))"
    return f"CAST({wide} * {_write(right)} AS {duckdb_type(typed.dtype)})"


def _division(symbol: str) -> Callable[[Typed], str]:
    return lambda t: f"({_write(t.args[0])} {symbol} nullif({_write(t.args[1])}, 0))"


def _prefix(name: str) -> Callable[[Typed], str]:
    return lambda t: f"{name}({', '.join(_write(arg) for arg in t.args)})"


_WRITERS: dict[str, Callable[[Typed], str]] = {
    "literal": _literal,
    "column": _column,
    "field": _column,
    "add": _infix("+"),
    "sub": _infix("-"),
    "mul": _mul,
    "div": _division("/"),
    "int_div": _division("//"),
    "mod": _mod,
    "neg": lambda t: f"(-{_write(t.args[0])})",
    "eq": _infix("="),
    "ne": _infix("<>"),
    "lt": _infix("<"),
    "le": _infix("<="),
    "gt": _infix(">"),
    "ge": _infix(">="),
    "same": _infix("IS NOT DISTINCT FROM"),
    "and": _infix("AND"),
    "or": _infix("OR"),
    "not": lambda t: f"(NOT {_write(t.args[0])})",
    "is_null": lambda t: f"({_write(t.args[0])} IS NULL)",
    "in": lambda t: f"({_write(t.args[0])} IN ({', '.join(_write(a) for a in t.args[1:])}))",
    "like": _like,
    "matches": lambda t: f"regexp_matches({_write(t.args[0])}, {_write(t.args[1])})",
    "seconds": lambda t: f"(epoch_us({_write(t.args[0])}) // 1000000)",
    "case": _case,
    "coalesce": _prefix("coalesce"),
    "least": _prefix("least"),
    "greatest": _prefix("greatest"),
    "abs": _prefix("abs"),
    "concat": _infix("||"),
    "cast": _cast,
    "round": _round,
    "floor": _round,
    "ceil": _round,
    "between_times": _between_times,
    "add_interval": _shift,
    "sub_interval": _shift,
    "add_days": _shift,
    "sub_days": _shift,
    "add_months": _shift,
    "sub_months": _shift,
    "call": lambda t: t.value.duckdb_text([_write(arg) for arg in t.args]),
    "array": lambda t: write_array(t, [_write(arg) for arg in t.args]),
}


def _write(typed: Typed) -> str:
    return _WRITERS[typed.op](typed)
