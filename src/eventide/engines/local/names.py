"""Names and texts in DuckDB's SQL; for files see `engines.names`."""

from __future__ import annotations


def quoted(name: str) -> str:
    """The name of a column or table.

    >>> print(quoted('a "b"'))
    "a \"\"b\"\""
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text.

    >>> print(literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"
