"""Names, texts and files in DuckDB's SQL."""

from __future__ import annotations

from collections.abc import Iterable


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


def file_list(files: Iterable[str]) -> str:
    """The files that a table function reads.

    >>> print(file_list(["a.csv", "b.csv"]))
    ['a.csv', 'b.csv']
    """
    return f"[{', '.join(map(literal, files))}]"
