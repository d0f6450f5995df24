"""Types of expressions: Arrow types, grouped into the classes that the allow-list speaks of.

Goes in: a column's Arrow type, or two types that meet in an operator. Comes out: the class, the common type by
Spark's ANSI rules, and the type's name in messages and in DuckDB.
Intervals of days to microseconds are `duration("us")`; literals of months are `month_day_nano_interval()`. Arrow has
that type for DuckDB's INTERVAL too, which is all that DuckDB has for a duration: see `column_type`.
"""

from __future__ import annotations

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", tz="UTC")
TIMESTAMP_NTZ = pa.timestamp("us")
DURATION = pa.duration("us")
MONTHS = pa.month_day_nano_interval()

_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_KINDS = {
    **{dtype.id: "integer" for dtype in _INTEGERS},
    TIMESTAMP.id: "timestamp",
    pa.decimal128(1, 0).id: "decimal",
    pa.bool_().id: "boolean",
    pa.float32().id: "float",
    pa.float64().id: "double",
    pa.string().id: "string",
    pa.date32().id: "date",
    DURATION.id: "interval",
    MONTHS.id: "months",
    pa.null().id: "null",
}
_INTEGER_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
_WIDENED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
}
_NAMES = {
    pa.int8(): ("tinyint", "TINYINT"),
    pa.int16(): ("smallint", "SMALLINT"),
    pa.int32(): ("int", "INTEGER"),
    pa.int64(): ("bigint", "BIGINT"),
    pa.float32(): ("float", "FLOAT"),
    pa.float64(): ("double", "DOUBLE"),
    pa.bool_(): ("boolean", "BOOLEAN"),
    pa.string(): ("string", "VARCHAR"),
    pa.date32(): ("date", "DATE"),
    TIMESTAMP: ("timestamp", "TIMESTAMPTZ"),
    TIMESTAMP_NTZ: ("timestamp_ntz", "TIMESTAMP"),
    DURATION: ("interval", "BIGINT"),
    MONTHS: ("calendar interval", "INTEGER"),
    pa.null(): ("NULL", "INTEGER"),
}


def canonical(dtype: pa.DataType) -> pa.DataType:
    """The type an expression sees: what Spark would read the column as.

    >>> canonical(pa.timestamp("ns")), canonical(pa.dictionary(pa.int32(), pa.large_string()))
    (TimestampType(timestamp[us]), DataType(string))
    """
    if pa.types.is_dictionary(dtype):
        return canonical(dtype.value_type)
    if pa.types.is_timestamp(dtype):
        return TIMESTAMP_NTZ if dtype.tz is None else TIMESTAMP
    if pa.types.is_duration(dtype):
        return DURATION
    if pa.types.is_decimal(dtype) and dtype.precision <= 38 and 0 <= dtype.scale <= dtype.precision:
        return pa.decimal128(dtype.precision, dtype.scale)
    return _WIDENED.get(dtype, dtype)


def column_type(stored: pa.DataType) -> pa.DataType:
    """The canonical type of a column; DuckDB's INTERVAL counts as a length of time, a month in it as 30 days.

    >>> column_type(pa.month_day_nano_interval())
    DurationType(duration[us])
    """
    return DURATION if stored == MONTHS else canonical(stored)


def kind(dtype: pa.DataType) -> str:
    """The class of a canonical type.

    >>> [kind(t) for t in (pa.int8(), pa.decimal128(4, 2), pa.date32(), pa.list_(pa.int8()))]
    ['integer', 'decimal', 'date', 'other']
    """
    found = _KINDS.get(dtype.id, "other")
    return "other" if found == "interval" and dtype != DURATION else found


def is_number(dtype: pa.DataType) -> bool:
    """Whether arithmetic is defined on the type; NULL counts."""
    return kind(dtype) in ("integer", "decimal", "float", "double", "null")


def is_time(dtype: pa.DataType) -> bool:
    """Whether the type is a date or a timestamp."""
    return kind(dtype) in ("date", "timestamp")


def as_decimal(dtype: pa.DataType) -> pa.DataType:
    """The decimal that holds every value of an integer or decimal type.

    >>> as_decimal(pa.int32())
    Decimal128Type(decimal128(10, 0))
    """
    return dtype if kind(dtype) == "decimal" else pa.decimal128(_INTEGER_DIGITS[dtype], 0)


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type both sides are cast to where they are compared or chosen between; None when there is none.

    >>> common_type(pa.int32(), pa.decimal128(2, 1))
    Decimal128Type(decimal128(11, 1))
    >>> common_type(pa.string(), pa.int32()) is None
    True
    """
    if left == right or kind(right) == "null":
        return left
    if kind(left) == "null":
        return right
    kinds = {kind(left), kind(right)}
    if kinds == {"integer"}:
        return max(left, right, key=_INTEGERS.index)
    if kinds <= {"integer", "decimal"}:
        one, two = as_decimal(left), as_decimal(right)
        scale = max(one.scale, two.scale)
        precision = max(one.precision - one.scale, two.precision - two.scale) + scale
        return pa.decimal128(precision, scale) if precision <= 38 else None
    if kinds <= {"integer", "decimal", "float", "double"}:
        return pa.float64()
    if kinds <= {"date", "timestamp"}:
        # Without a zone only when neither side has one: a date becomes what it meets.
        return TIMESTAMP if TIMESTAMP in (left, right) else TIMESTAMP_NTZ
    return None


def type_name(dtype: pa.DataType) -> str:
    """The type as a Spark user knows it, for messages.

    >>> type_name(pa.decimal128(10, 2)), type_name(pa.int64())
    ('decimal(10,2)', 'bigint')
    """
    if kind(dtype) == "decimal":
        return f"decimal({dtype.precision},{dtype.scale})"
    return _NAMES[dtype][0] if dtype in _NAMES else str(dtype)


def duckdb_type(dtype: pa.DataType) -> str:
    """The DuckDB type that holds a canonical type; intervals are whole microseconds there.

    >>> duckdb_type(pa.decimal128(10, 2)), duckdb_type(DURATION)
    ('DECIMAL(10,2)', 'BIGINT')
    """
    if kind(dtype) == "decimal":
        return f"DECIMAL({dtype.precision},{dtype.scale})"
    return _NAMES[dtype][1]


def integer_range(dtype: pa.DataType) -> tuple[int, int]:
    """The least and the greatest value of an integer type.

    >>> integer_range(pa.int8())
    (-128, 127)
    """
    half = 1 << (dtype.bit_width - 1)
    return -half, half - 1
