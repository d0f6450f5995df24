"""A SQL statement around MATCH_RECOGNIZE: which tables it names, and its text with other tables put in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from eventide.errors import InputError, QueryError
from eventide.lang.rows.tree import Recognition, RowQuery, Statement
from eventide.lang.tree import Scalar, Span

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


def parse_sql(text: str, original: str) -> exp.Query:
    """The statement as sqlglot reads it; `original` is what the user wrote, for messages."""
    try:
        tree = sqlglot.parse_one(text, read="spark")
    except SqlglotError as error:
        first = str(error).splitlines()[0]
        hint = "is it a Spark SQL statement?"
        raise QueryError(
            f"the statement around MATCH_RECOGNIZE is wrong: {first}", original, 0, 0, hint=hint
        ) from error
    if not isinstance(tree, exp.Query):
        raise QueryError("ev.sql runs a query", original, 0, len(original), hint="begin with SELECT or WITH")
    return tree


def named_tables(tree: exp.Query, names: Mapping[str, object]) -> list[tuple[exp.Table, str]]:
    """The tables of a statement that are among `names`, by any case, and not one of its own CTEs."""
    known = {name.lower(): name for name in names}
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    found = []
    for table in tree.find_all(exp.Table):
        name = table.name.lower()
        if name in known and not table.db and not table.catalog and name not in ctes:
            found.append((table, known[name]))
    return found


Rows = list[tuple[Any, ...]]


def without_subqueries(clause: RowQuery, run: Callable[[str], Rows]) -> RowQuery:
    """The clause with its subqueries run, once, and replaced by what they gave; `run` takes Spark SQL."""

    def rewrite(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Exists):
            return exp.true() if run(node.this.sql("spark")) else exp.false()
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            found = run(node.args["query"].this.sql("spark"))
            return exp.In(this=node.this, expressions=[_constant(row[0]) for row in found]) if found else exp.false()
        if isinstance(node, exp.Subquery):
            found = run(node.this.sql("spark"))
            if len(found) > 1:
                raise InputError("a subquery in MATCH_RECOGNIZE gives more than one row", hint="add LIMIT 1")
            return _constant(found[0][0]) if found else exp.null()
        return node

    def done(scalar: Scalar) -> Scalar:
        if not any(isinstance(node, exp.Query) for node in scalar.tree.walk()):
            return scalar
        tree = scalar.tree.copy().transform(rewrite)
        assert isinstance(tree, exp.Expression)
        return replace(scalar, tree=tree)

    return replace(
        clause,
        define=tuple(replace(item, condition=done(item.condition)) for item in clause.define),
        measures=tuple(replace(item, value=done(item.value)) for item in clause.measures),
    )


def _constant(value: Any) -> exp.Expr:
    """A value as SQL.

    >>> _constant(Decimal("1.50")).sql("spark"), _constant("it's").sql("spark")
    ('CAST(1.50 AS DECIMAL(3, 2))', "'it\\\\'s'")
    """
    if value is None:
        return exp.null()
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    if isinstance(value, float):
        return exp.Cast(this=exp.Literal.string(repr(value)), to=exp.DataType.build("double"))
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        scale = max(0, -int(exponent))
        to = exp.DataType.build(f"decimal({max(len(digits), scale)}, {scale})")
        return exp.Cast(this=exp.Literal.number(str(value)), to=to)
    if isinstance(value, dt.datetime):
        return exp.Cast(this=exp.Literal.string(str(value)), to=exp.DataType.build("timestamp"))
    if isinstance(value, dt.date):
        return exp.Cast(this=exp.Literal.string(str(value)), to=exp.DataType.build("date"))
    if isinstance(value, (int, str)):
        return exp.convert(value)
    raise InputError(f"a subquery in MATCH_RECOGNIZE gives {type(value).__name__}, not a plain value")
