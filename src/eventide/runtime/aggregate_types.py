"""The types of aggregates, as Spark has them."""

from __future__ import annotations

import pyarrow as pa


def sum_type(dtype: pa.DataType) -> pa.DataType:
    """The type of a sum, as Spark has it.

    >>> sum_type(pa.int8()), sum_type(pa.decimal128(10, 2))
    (DataType(int64), Decimal128Type(decimal128(20, 2)))
    """
    if pa.types.is_integer(dtype):
        return pa.int64()
    if pa.types.is_decimal(dtype):
        return pa.decimal128(min(38, dtype.precision + 10), dtype.scale)
    return pa.float64()


def average_type(dtype: pa.DataType) -> pa.DataType:
    """The type of an average, as Spark has it.

    >>> average_type(pa.int8()), average_type(pa.decimal128(10, 2))
    (DataType(double), Decimal128Type(decimal128(14, 6)))
    """
    if pa.types.is_decimal(dtype):
        return pa.decimal128(min(38, dtype.precision + 4), min(38, dtype.scale + 4))
    return pa.float64()
