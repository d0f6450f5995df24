"""The average of decimals as Spark gives it: exact, rounded half up to four more places.

Goes in: the type. Comes out: an expression over the sum `s` of the whole units and their count `n`, which the
matcher's code, DuckDB and Catalyst evaluate alike.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import sqlglot
from sqlglot import exp

from eventide.runtime.aggregate_types import average_type

_ONE = 10_000


def has_exact_average(dtype: pa.DataType) -> bool:
    """Whether the units fit into 64 bits, and what is made of them into 38 digits.

    >>> has_exact_average(pa.decimal128(18, 2)), has_exact_average(pa.decimal128(20, 2))
    (True, False)
    """
    return bool(dtype.precision <= 18 and dtype.precision + dtype.scale <= 32)


def exact_average(dtype: pa.DataType) -> exp.Expression:
    """The average, over columns `s` and `n`.

    >>> exact_average(pa.decimal128(4, 0)).sql("spark")[:60]
    'CAST(CAST(s DIV n AS DECIMAL(4, 0)) + CAST((s % n * 20000 + '
    """
    result = average_type(dtype)
    # Quotient and rest apart: a sum times 10,000 would leave 64 bits.
    whole = f"CAST(s DIV n AS DECIMAL({dtype.precision}, 0)){_times(dtype.scale)}"
    half = "CASE WHEN s < 0 THEN -n ELSE n END"
    rest = f"CAST((s % n * {2 * _ONE} + {half}) DIV (2 * n) AS DECIMAL(5, 0)){_times(result.scale)}"
    made = sqlglot.parse_one(f"CAST({whole} + {rest} AS DECIMAL({result.precision}, {result.scale}))", read="spark")
    for node in made.walk():
        node.meta.clear()
    assert isinstance(made, exp.Expression)
    return made


def _times(scale: int) -> str:
    """A factor that moves the point."""
    return f" * {Decimal(1).scaleb(-scale):f}" if scale else ""
