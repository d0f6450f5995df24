"""A SQL statement around MATCH_RECOGNIZE: which tables it names, and its text with other tables put in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from eventide.errors import QueryError
from eventide.lang.rows.tree import Recognition, Statement
from eventide.lang.tree import Span

Edit = tuple[Span, str]


def replace_spans(text: str, edits: Iterable[Edit]) -> str:
    """The text with spans replaced; they do not overlap.

    >>> replace_spans("a b c", [(Span(2, 3), "x")])
    'a x c'
    """
    for span, new in sorted(edits, key=lambda edit: -edit[0].start):
        text = text[: span.start] + new + text[span.end :]
    return text


def outer_recognitions(statement: Statement) -> list[Recognition]:
    """Those that stand in no other one's relation."""
    found = statement.recognitions
    return [r for r in found if not any(_inside(r, other) for other in found)]


def inner_recognitions(statement: Statement, outer: Recognition) -> list[Recognition]:
    """Those directly inside the relation of another one."""
    inside = [r for r in statement.recognitions if _inside(r, outer)]
    return [r for r in inside if not any(_inside(r, other) for other in inside)]


def _inside(recognition: Recognition, other: Recognition) -> bool:
    a, b = recognition.span, other.span
    return a != b and b.start <= a.start and a.end <= b.end


def called(recognition: Recognition, name: str) -> str:
    """A table in the place of a recognition, with the alias and the columns that it had."""
    alias = f" AS `{recognition.alias}`" if recognition.alias else ""
    columns = ", ".join(f"`{column}`" for column in recognition.columns)
    return f"{name}{alias}{f'({columns})' if columns else ''}"


def parse_sql(text: str, original: str) -> exp.Expression:
    """The statement as sqlglot reads it; `original` is what the user wrote, for messages."""
    try:
        tree = sqlglot.parse_one(text, read="spark")
    except SqlglotError as error:
        first = str(error).splitlines()[0]
        hint = "is it a Spark SQL statement?"
        raise QueryError(f"the statement around MATCH_RECOGNIZE is wrong: {first}", original, 0, 0, hint=hint) from error
    if not isinstance(tree, exp.Query):
        raise QueryError("ev.sql runs a query", original, 0, len(original), hint="begin with SELECT or WITH")
    return tree


def named_tables(tree: exp.Expression, names: Mapping[str, object]) -> list[tuple[exp.Table, str]]:
    """The tables of a statement that are among `names`, by any case, and not one of its own CTEs."""
    known = {name.lower(): name for name in names}
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    found = []
    for table in tree.find_all(exp.Table):
        name = table.name.lower()
        if name in known and not table.db and not table.catalog and name not in ctes:
            found.append((table, known[name]))
    return found
