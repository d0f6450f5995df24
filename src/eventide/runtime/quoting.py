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
    r"""A text for DuckDB, where no NUL character is allowed in a statement.

    >>> print(literal("it's"))
    'it''s'
    >>> print(literal("a\0"))
    ('a' || chr(0) || '')
    """
    parts = ["'" + part.replace("'", "''") + "'" for part in text.split("\0")]
    return parts[0] if len(parts) == 1 else "(" + " || chr(0) || ".join(parts) + ")"
