"""Casts that are equal on both engines, and their text on DuckDB.

Left out: double to decimal and to string (the digits differ), double to float (overflow differs), string to decimal,
timestamp to number. Strings are checked first: DuckDB would read '1.5' as the integer 2, where Spark stops.
"""

from __future__ import annotations

import pyarrow as pa

from eventide.expressions.types import TIMESTAMP, duckdb_type, kind

_PLAIN = {
    ("integer", "integer"),
    ("integer", "float"),
    ("integer", "double"),
    ("integer", "decimal"),
    ("integer", "string"),
    ("integer", "boolean"),
    ("boolean", "integer"),
    ("boolean", "string"),
    ("float", "double"),
    ("decimal", "decimal"),
    ("decimal", "string"),
    ("date", "timestamp"),
    ("timestamp", "date"),
    ("timestamp", "timestamp"),
}
_TRUNCATED = {("float", "integer"), ("double", "integer"), ("decimal", "integer")}
_CHECKED = {
    "integer": " *[+-]?[0-9]+ *",
    "double": " *([+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|(?i:[+-]?inf|[+-]?infinity|nan)) *",
    "date": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "timestamp": "[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?)?",
}
_TRUE, _FALSE = "('t', 'true', 'y', 'yes', '1')", "('f', 'false', 'n', 'no', '0')"
# Doubles hold every integer of 15 digits; beyond, DuckDB divides two rounded numbers and Spark rounds once.
_EXACT_DIGITS = 15


def is_equal_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether a cast is on the list.

    >>> is_equal_cast(pa.float64(), pa.int32()), is_equal_cast(pa.float64(), pa.string())
    (True, False)
    """
    pair = kind(source), kind(target)
    if source == target or pair[0] == "null" or pair in _PLAIN or pair in _TRUNCATED:
        return True
    if pair[0] == "string":
        return pair[1] in _CHECKED or pair[1] == "boolean"
    return pair == ("decimal", "double") or (pair[0] in ("date", "timestamp") and pair[1] == "string")


def duckdb_cast(text: str, source: pa.DataType, target: pa.DataType) -> str:
    """A listed cast on DuckDB.

    >>> duckdb_cast("x", pa.float64(), pa.int32())
    'CAST(trunc(x) AS INTEGER)'
    """
    pair, name = (kind(source), kind(target)), duckdb_type(target)
    if source == target:
        return text
    if pair in _TRUNCATED:
        return f"CAST(trunc({text}) AS {name})"
    if pair == ("decimal", "double") and source.precision > _EXACT_DIGITS:
        return f"CAST(CAST({text} AS VARCHAR) AS DOUBLE)"
    if pair[0] == "string" and pair[1] == "boolean":
        word = f"lower(trim({text}, ' '))"
        return (
            f"CASE WHEN {word} IN {_TRUE} THEN true WHEN {word} IN {_FALSE} THEN false "
            f"WHEN {text} IS NOT NULL THEN {_refuse(text, target)} END"
        )
    if pair[0] == "string" and pair[1] in _CHECKED:
        test = f"regexp_full_match({text}, '{_CHECKED[pair[1]]}')"
        return f"CASE WHEN {test} THEN CAST({text} AS {name}) WHEN {text} IS NOT NULL THEN {_refuse(text, target)} END"
    if pair[0] in ("date", "timestamp") and pair[1] == "string":
        # Spark writes +10000-01-01 and -0044-03-15, DuckDB 10000-01-01 and 0045-03-15 (BC).
        shown = f"CAST({text} AS TIMESTAMP)" if source == TIMESTAMP else text
        return (
            f"CASE WHEN year({text}) BETWEEN 1 AND 9999 THEN CAST({shown} AS VARCHAR) "
            f"WHEN {text} IS NOT NULL THEN error('a year outside 1 to 9999 cannot become text') END"
        )
    return f"CAST({text} AS {name})"


def _refuse(text: str, target: pa.DataType) -> str:
    return f"CAST(error('cannot cast to {duckdb_type(target)}: ' || {text}) AS {duckdb_type(target)})"
