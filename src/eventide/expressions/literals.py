"""Literals: from sqlglot's nodes to values.

Goes in: a node such as `1.5`, `3L`, `DATE '2024-01-31'`, `INTERVAL '5' MINUTE`, or one with a sign in front.
Comes out: a literal `Typed`, or None when the node is no literal. Numbers are typed as Spark types them:
`1.5` is a decimal, `1e3` and `1.5D` are doubles.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.typed import Source, Typed
from eventide.expressions.types import (
    DURATION,
    MONTHS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    integer_range,
    kind,
)
from eventide.lang.tree import Span

_UNIT_US = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 7 * 86_400_000_000,
}
_UNIT_MONTHS = {"MONTH": 1, "YEAR": 12}
DAY_US = _UNIT_US["DAY"]

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?")
_DAY_TO_SECOND = re.compile(r"([+-]?)(\d+) (\d+):(\d\d?):(\d\d?)(\.\d{1,6})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_GREATEST_FLOAT = 3.4028234663852886e38
_SPECIAL = {f"{sign}{word}": float(f"{sign}inf") for sign in ("", "+", "-") for word in ("inf", "infinity")}
_SPECIAL |= {"nan": math.nan}

_TYPES = {
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TEXT": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP,
    "TIMESTAMPNTZ": TIMESTAMP_NTZ,
}


def target_type(node: exp.DataType) -> pa.DataType | None:
    """The Arrow type of a cast's target, None when it is outside the list.

    >>> target_type(exp.DataType.build("decimal(10, 2)"))
    Decimal128Type(decimal128(10, 2))
    >>> target_type(exp.DataType.build("decimal(1e-320)")) is None
    True
    """
    name = node.this.name if hasattr(node.this, "name") else str(node.this)
    if name == "DECIMAL":
        given = [part.name for part in node.expressions]
        if not all(digits.isdecimal() and len(digits) < 3 for digits in given):
            return None
        precision, scale = ([int(digits) for digits in given] + [10, 0][len(given) :])[:2]
        return pa.decimal128(precision, scale) if 0 < precision <= 38 and scale <= precision else None
    return None if node.expressions else _TYPES.get(name)


def literal(node: exp.Expression, source: Source) -> Typed | None:
    """The literal that a node is, or None.

    >>> import sqlglot
    >>> source = Source("", Span(0, 0))
    >>> [literal(sqlglot.parse_one(t, read="spark"), source).value for t in ("-2", "1.50", "3L", "interval 2 days")]
    [-2, Decimal('1.50'), 3, 172800000000]
    """
    span = source.span_of(node)
    match node:
        case exp.Null():
            return Typed("literal", (), pa.null(), None, span)
        case exp.Boolean():
            return Typed("literal", (), pa.bool_(), bool(node.this), span)
        case exp.Literal() if node.is_string:
            return Typed("literal", (), pa.string(), node.this, span)
        case exp.Literal():
            return _number(node.this, source, span)
        case exp.Concat() if "safe" not in node.args:
            # sqlglot reads 'it''s' as two strings to join, where Spark reads a quote inside one.
            raise source.error("a quote inside a string cannot be written twice", span, "write it as \\'")
        case exp.Neg(this=inner):
            return _negated(inner, source, span)
        case exp.Paren(this=inner):
            return literal(inner, source)
        case exp.Interval():
            return _interval(node, source, span)
        case exp.Cast(this=exp.Literal() as inner) if not node.args.get("safe"):
            return _cast(inner, node.to, source, span)
    return None


def _number(text: str, source: Source, span: Span) -> Typed | None:
    if "e" in text.lower():
        return _double(text, source, span)
    value = Decimal(text)
    if "." not in text:
        for dtype in (pa.int32(), pa.int64()):
            low, high = integer_range(dtype)
            if low <= value <= high:
                return Typed("literal", (), dtype, int(value), span)
    dtype = decimal_of(value)
    return None if dtype is None else Typed("literal", (), dtype, value, span)


def _double(text: str, source: Source, span: Span) -> Typed:
    """A double as it is written; Spark refuses one that none is near enough to."""
    value = float(text)
    if math.isinf(value):
        hint = "the greatest is 1.7976931348623157E308; infinity is written CAST('Infinity' AS DOUBLE)"
        raise source.error(f"{text} is too great for a double", span, hint)
    return Typed("literal", (), pa.float64(), value, span)


def decimal_of(value: Decimal | int) -> pa.DataType | None:
    """The smallest decimal type that holds a number as it is written.

    >>> decimal_of(Decimal("1.50"))
    Decimal128Type(decimal128(3, 2))
    """
    _, digits, exponent = Decimal(value).as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits), scale)
    return pa.decimal128(precision, scale) if precision <= 38 else None


def _negated(inner: exp.Expression, source: Source, span: Span) -> Typed | None:
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return _number(f"-{inner.this}", source, span)
    if isinstance(inner, exp.Cast) and isinstance(inner.this, exp.Literal) and not inner.this.is_string:
        # -9223372036854775808L: only with its sign does the number fit.
        return _cast(exp.Literal(this=f"-{inner.this.this}", is_string=False), inner.to, source, span)
    value = literal(inner, source)
    if value is None or value.dtype not in (DURATION, MONTHS, pa.float64()):
        return None
    return Typed("literal", (), value.dtype, -value.value, span)


def _cast(inner: exp.Literal, to: exp.DataType, source: Source, span: Span) -> Typed | None:
    dtype = target_type(to)
    if dtype is None:
        return None
    text, name = inner.this, kind(dtype)
    if inner.is_string and name in ("date", "timestamp"):
        return Typed("literal", (), dtype, _moment(text, dtype, source, span), span)
    if inner.is_string and name == "decimal" and re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
        return Typed("literal", (), dtype, Decimal(text), span) if decimal_of(Decimal(text)) == dtype else None
    if inner.is_string and name == "double" and text.strip().lower() in _SPECIAL:
        return Typed("literal", (), dtype, _SPECIAL[text.strip().lower()], span)
    if inner.is_string:
        return None
    if name == "double":
        return _double(text, source, span)
    if name == "float" and abs(float(text)) > _GREATEST_FLOAT and source.text[span.start : span.end][-1:] in "fF":
        hint = f"the greatest is 3.4028235E38; a double is written {text.lstrip('-')}D"
        raise source.error(f"{text} is too great for a float", span, hint)
    if name == "integer" and re.fullmatch(r"-?\d+", text):
        low, high = integer_range(dtype)
        if not low <= int(text) <= high:
            raise source.error(f"{text} is out of range for its type", span, f"the range is {low} to {high}")
        return Typed("literal", (), dtype, int(text), span)
    return None


def _moment(text: str, dtype: pa.DataType, source: Source, span: Span) -> int:
    word = "date" if kind(dtype) == "date" else "timestamp"
    pattern = _DATE if word == "date" else _TIMESTAMP
    example = "DATE '2024-01-31'" if word == "date" else "TIMESTAMP '2024-01-31 12:30:00'"
    try:
        if not pattern.fullmatch(text.strip()):
            raise ValueError
        if word == "date":
            return (date.fromisoformat(text.strip()) - _EPOCH.date()).days
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise source.error(f"cannot read '{text}' as a {word}", span, f"write it as {example}") from None
    if moment.tzinfo is None or dtype == TIMESTAMP_NTZ:
        moment = moment.replace(tzinfo=UTC)
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _interval(node: exp.Interval, source: Source, span: Span) -> Typed | None:
    amount, unit = node.this, node.args.get("unit")
    if not isinstance(amount, exp.Literal) or unit is None:
        return None
    if isinstance(unit, exp.IntervalSpan):
        if (unit.this.name.upper(), unit.expression.name.upper()) != ("DAY", "SECOND"):
            return None
        parts = _DAY_TO_SECOND.fullmatch(amount.this.strip())
        if parts is None:
            return None
        sign, days, hours, minutes, seconds, fraction = parts.groups()
        total = (int(days) * 24 + int(hours)) * 3600 + int(minutes) * 60 + int(seconds)
        us = total * 1_000_000 + int(Decimal(fraction or "0") * 1_000_000)
        return Typed("literal", (), DURATION, -us if sign == "-" else us, span)
    name = unit.name.upper().removesuffix("S")
    try:
        number = Decimal(amount.this.strip())
    except ArithmeticError:
        raise source.error(f"cannot read '{amount.this}' as a number of {name.lower()}s", span) from None
    if number != number.to_integral_value() and name != "SECOND":
        raise source.error(f"an interval of {name.lower()}s needs a whole number", span, "use a smaller unit")
    if name in _UNIT_US:
        return Typed("literal", (), DURATION, int(number * _UNIT_US[name]), span)
    if name in _UNIT_MONTHS:
        return Typed("literal", (), MONTHS, int(number * _UNIT_MONTHS[name]), span)
    return None


def is_whole_days(node: exp.Expression) -> bool:
    """Whether an interval is written in days or weeks, so that a date plus it stays a date.

    >>> import sqlglot
    >>> [is_whole_days(sqlglot.parse_one(t, read="spark")) for t in ("interval 1 day", "interval 24 hours")]
    [True, False]
    """
    while isinstance(node, (exp.Paren, exp.Neg)):
        node = node.this
    unit = node.args.get("unit")
    return (
        isinstance(node, exp.Interval)
        and isinstance(unit, exp.Var)
        and unit.name.upper().rstrip("S") in ("DAY", "WEEK")
    )
