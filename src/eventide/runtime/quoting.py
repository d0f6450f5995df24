"""Names and texts as the SQL of DuckDB and of Spark has them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """The name of a column or table for DuckDB.

    >>> print(quoted('a "b"'))
    "a \"\"b\"\""
    """
    return '"' + name.replace('"', '""') + '"'


def backticked(name: str) -> str:
    """The name of a column for Spark.

    >>> print(backticked("a `b`"))
    `a ``b```
    """
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text.

    >>> print(literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"
