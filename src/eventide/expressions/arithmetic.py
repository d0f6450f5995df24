"""Types of arithmetic: + - * / % DIV, unary minus, ABS, ROUND, FLOOR, CEIL, by Spark's ANSI rules.

Goes in: a sqlglot node and its typed operands. Comes out: the operator with its operands cast, or an "unknown" where
the engines differ (division of decimals, ROUND of doubles to digits). Division by zero is NULL on every engine.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.literals import DAY_US, decimal_of, is_whole_days
from eventide.expressions.typed import Source, Typed, cast_to
from eventide.expressions.types import (
    DURATION,
    MONTHS,
    TIMESTAMP,
    as_decimal,
    common_type,
    is_number,
    is_time,
    kind,
    type_name,
)
from eventide.lang.tree import Span

OPERATORS: dict[type[exp.Expression], str] = {
    exp.Add: "add",
    exp.Sub: "sub",
    exp.Mul: "mul",
    exp.Div: "div",
    exp.Mod: "mod",
    exp.IntDiv: "int_div",
    exp.Neg: "neg",
    exp.Abs: "abs",
    exp.Round: "round",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
}
UNARY = (exp.Neg, exp.Abs, exp.Round, exp.Floor, exp.Ceil)
_VERBS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "mod": "divide",
    "int_div": "divide",
}


def typed_arithmetic(node: exp.Expression, args: list[Typed], source: Source, span: Span) -> Typed:
    """The typed operator; QueryError when the operands make no sense together.

    >>> import sqlglot
    >>> half = Typed("literal", (), pa.int32(), 2)
    >>> typed_arithmetic(sqlglot.parse_one("2 / 2"), [half, half], Source("", Span(0, 0)), Span(0, 0)).dtype
    DataType(double)
    """
    op = OPERATORS[type(node)]
    if isinstance(node, UNARY):
        return _unary(op, node, args, source, span)
    left, right = args
    moment = _time_arithmetic(op, node, left, right, span)
    if moment is not None:
        return moment
    if not (is_number(left.dtype) and is_number(right.dtype)):
        raise _mismatch(op, left, right, source, span)
    return _numbers(op, left, right, node, span)


def _numbers(op: str, left: Typed, right: Typed, node: exp.Expression, span: Span) -> Typed:
    kinds = {kind(left.dtype), kind(right.dtype)} - {"null"}
    if not kinds:
        return Typed("literal", (), pa.float64() if op == "div" else pa.int32(), None, span)
    if "decimal" in kinds and kinds <= {"integer", "decimal"} and op != "int_div":
        made = _decimals(op, left, right, span)
    else:
        dtype = _common_number(op, kinds, left, right)
        made = None if dtype is None else _cast_both(op, left, right, dtype, span)
    return made or Typed("unknown", (left, right), None, node.sql("spark"), span)


def _common_number(op: str, kinds: set[str], left: Typed, right: Typed) -> pa.DataType | None:
    if op == "int_div":
        return pa.int64() if kinds == {"integer"} else None
    return pa.float64() if op == "div" else common_type(left.dtype, right.dtype)


def _decimals(op: str, left: Typed, right: Typed, span: Span) -> Typed | None:
    one, two = _decimal_operand(left, right), _decimal_operand(right, left)
    if one is None or two is None:
        return None
    if op in ("add", "sub"):
        scale = max(one.scale, two.scale)
        precision = max(one.precision - one.scale, two.precision - two.scale) + scale + 1
        return None if precision > 38 else _cast_both(op, left, right, pa.decimal128(precision, scale), span)
    if op == "mul" and one.precision + two.precision + 1 <= 38:
        dtype = pa.decimal128(one.precision + two.precision + 1, one.scale + two.scale)
        return Typed(op, (cast_to(left, one), cast_to(right, two)), dtype, None, span)
    return None


def _decimal_operand(typed: Typed, other: Typed) -> pa.DataType | None:
    # Spark gives an integer literal next to a decimal just the digits it needs.
    if typed.op == "literal" and kind(typed.dtype) == "integer":
        return decimal_of(typed.value)
    return as_decimal(other.dtype if kind(typed.dtype) == "null" else typed.dtype)


def _time_arithmetic(op: str, node: exp.Expression, left: Typed, right: Typed, span: Span) -> Typed | None:
    """Sums and differences of times and intervals; None when the operands are something else."""
    one, two = kind(left.dtype), kind(right.dtype)
    if op == "add" and one in ("interval", "months", "integer") and is_time(right.dtype):
        return _shift("add", right, left, node.this, span)
    if op in ("add", "sub") and is_time(left.dtype) and two in ("interval", "months", "integer"):
        return _shift(op, left, right, node.expression, span)
    if op == "sub" and is_time(left.dtype) and is_time(right.dtype):
        dtype = common_type(left.dtype, right.dtype)
        return Typed("between_times", (cast_to(left, dtype), cast_to(right, dtype)), DURATION, None, span)
    if op in ("add", "sub") and one == two == "interval":
        return Typed(op, (left, right), DURATION, None, span)
    if op == "mul" and {one, two} == {"interval", "integer"}:
        args = (left, right) if one == "interval" else (right, left)
        return Typed(op, (args[0], cast_to(args[1], pa.int64())), DURATION, None, span)
    if op in ("div", "mul") and "interval" in (one, two) and is_number(right.dtype):
        return Typed("unknown", (left, right), None, node.sql("spark"), span)
    return None


def _shift(op: str, moment: Typed, by: Typed, by_node: exp.Expression, span: Span) -> Typed | None:
    """A time moved by an interval, or a date by a number of days."""
    if kind(by.dtype) == "integer":
        if kind(moment.dtype) != "date":
            return None
        return Typed(f"{op}_days", (moment, cast_to(by, pa.int32())), pa.date32(), None, span)
    if by.dtype == MONTHS:
        if by.op != "literal":
            return Typed("unknown", (moment, by), moment.dtype, "interval of months", span)
        return Typed(f"{op}_months", (moment, by), moment.dtype, None, span)
    if kind(moment.dtype) != "date":
        return Typed(f"{op}_interval", (moment, by), moment.dtype, None, span)
    if by.op == "literal" and is_whole_days(by_node):
        days = Typed("literal", (), pa.int32(), by.value // DAY_US, by.span)
        return Typed(f"{op}_days", (moment, days), pa.date32(), None, span)
    if by.op == "literal":
        return Typed(f"{op}_interval", (cast_to(moment, TIMESTAMP), by), TIMESTAMP, None, span)
    return Typed("unknown", (moment, by), None, "date and interval", span)


def _unary(op: str, node: exp.Expression, args: list[Typed], source: Source, span: Span) -> Typed:
    value = args[0]
    if op == "neg" and value.dtype == DURATION:
        return Typed("neg", (value,), DURATION, None, span)
    if not is_number(value.dtype):
        word = {"neg": "unary minus"}.get(op, op.upper())
        raise source.error(f"{word} needs a number, but this is {type_name(value.dtype)}", value.span)
    if kind(value.dtype) == "null":
        return Typed("literal", (), pa.float64(), None, span)
    if op in ("neg", "abs"):
        return Typed(op, (value,), value.dtype, None, span)
    digits = args[1].value if len(args) > 1 and args[1].op == "literal" else 0
    listed = len(args) == 1 or (args[1].op == "literal" and isinstance(digits, int) and digits >= 0)
    beyond = any(v is not None and k not in ("this", "decimals") for k, v in node.args.items())
    dtype = _rounded(op, value.dtype, digits, len(args) > 1) if listed and not beyond else None
    if dtype is None:
        return Typed("unknown", tuple(args), None, node.sql("spark"), span)
    if op == "round" and dtype == value.dtype and kind(dtype) == "integer":
        return value
    return Typed(op, (value,), dtype, digits, span)


def _rounded(op: str, dtype: pa.DataType, digits: int, has_digits: bool) -> pa.DataType | None:
    name = kind(dtype)
    if name == "decimal":
        scale = min(dtype.scale, digits)
        precision = dtype.precision - dtype.scale + 1 + scale
        return None if precision > 38 or (op != "round" and has_digits) else pa.decimal128(precision, scale)
    if op == "round":
        return dtype if name == "integer" or (digits == 0 and name == "double") else None
    return pa.int64() if not has_digits and name in ("integer", "double") else None


def _mismatch(op: str, left: Typed, right: Typed, source: Source, span: Span) -> Exception:
    names = f"{type_name(left.dtype)} and {type_name(right.dtype)}"
    hint = None
    for side, other in ((left, right), (right, left)):
        if kind(side.dtype) == "string" and hint is None:
            shown = source.text[side.span.start : side.span.end]
            if kind(other.dtype) == "string" and op == "add":
                hint = "strings are joined with ||"
            else:
                hint = f"cast the string: CAST({shown} AS DOUBLE)"
    return source.error(f"cannot {_VERBS[op]} {names}", span, hint)


def _cast_both(op: str, left: Typed, right: Typed, dtype: pa.DataType, span: Span) -> Typed:
    return Typed(op, (cast_to(left, dtype), cast_to(right, dtype)), dtype, None, span)
