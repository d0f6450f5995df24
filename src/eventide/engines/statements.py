"""A SQL statement around the parts that Eventide runs: how it is read, and which tables it names."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp

from eventide.engines.complaints import Complaint, complain, syntax_error
from eventide.engines.filled import Filled
from eventide.errors import InputError, QueryError
from eventide.lang.chains import balance
from eventide.lang.doors import check_node
from eventide.lang.positions import place, span_of
from eventide.lang.rows.tree import RowQuery
from eventide.lang.tokens import Kind, Token, tokenize
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


@dataclass(frozen=True, slots=True)
class Common:
    """One entry of a WITH: its name, and where `name AS (...)` stands."""

    name: str
    span: Span
    recursive: bool = False


def common_tables(tokens: Sequence[Token], place: int) -> list[Common]:
    """The entries of all WITHs around a place that end before it, the outermost first.

    >>> [entry.name for entry in common_tables(tokenize("WITH a AS (SELECT 1), b AS (SELECT 2) SELECT * FROM b"), 25)]
    ['a']
    >>> [entry.name for entry in common_tables(tokenize("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a)"), 50)]
    ['a']
    """
    found: list[Common] = []
    for at, token in enumerate(tokens):
        if token.start >= place:
            break
        if token.word == "WITH" and _scope_end(tokens, at) > place:
            found += _entries(tokens, at, place)
    return found


def _scope_end(tokens: Sequence[Token], at: int) -> int:
    """Where the brackets around a token close."""
    depth = 0
    for token in tokens[at:]:
        depth += _depth(token)
        if depth < 0:
            return token.start
    return tokens[-1].end + 1


def _depth(token: Token) -> int:
    return {"(": 1, ")": -1}.get(token.text, 0) if token.kind is Kind.PUNCTUATION else 0


def _entries(tokens: Sequence[Token], at: int, place: int) -> list[Common]:
    """The entries of the WITH at a token; none where it is another kind of WITH."""
    recursive = tokens[at + 1].word == "RECURSIVE"
    at += 2 if recursive else 1
    found: list[Common] = []
    while at + 1 < len(tokens) and (tokens[at + 1].word == "AS" or tokens[at + 1].is_punctuation("(")):
        first, depth = tokens[at], 0
        while at < len(tokens) - 1:
            # The entry ends where brackets close and no AS follows: `name (columns) AS (query)`.
            depth += _depth(tokens[at])
            at += 1
            if depth == 0 and tokens[at - 1].is_punctuation(")") and tokens[at].word != "AS":
                break
        end = tokens[at - 1].end
        if end > place:
            break
        found.append(Common(first.value, Span(first.start, end), recursive))
        if not tokens[at].is_punctuation(","):
            break
        at += 1
    return found


def parse_sql(filled: Filled, statement: str) -> exp.Query:
    """The query as sqlglot reads it; `statement` is what the user wrote, for messages."""
    try:
        trees = sqlglot.parse(filled.text, read="spark", error_message_context=len(filled.text))
    except RecursionError:
        raise QueryError("the statement is nested too deeply", statement, 0, 0, hint="split it") from None
    except Exception as error:  # sqlglot is large: whatever else it raises is still about this text
        raise syntax_error(error, filled, statement) from error
    trees = [tree for tree in trees if tree is not None]
    if len(trees) > 1:
        semicolon = next(token for token in tokenize(statement, any_character=True) if token.is_punctuation(";"))
        hint = "run the statements one after the other"
        raise QueryError("ev.sql runs one statement", statement, semicolon.start, semicolon.end, hint=hint)
    if not trees or not isinstance(trees[0], exp.Query):
        raise QueryError("ev.sql runs a query", statement, 0, len(statement), hint="begin with SELECT or WITH")
    tree = balance(trees[0])
    assert isinstance(tree, exp.Query)
    with told_in(filled, statement):
        place(tree, tokenize(filled.text, any_character=True), offset=0)
        for node in tree.walk():
            check_node(node, filled.text, Span(0, len(filled.text)))
            if isinstance(node, exp.Into):
                raise QueryError("ev.sql returns rows and makes no table", filled.text, 0, 0, hint="leave out INTO")
    return tree


@contextmanager
def told_in(filled: Filled, statement: str) -> Iterator[None]:
    """Errors about the filled text are told about what the user wrote."""
    try:
        yield
    except QueryError as error:
        if error.text != filled.text:
            raise
        raise complain(
            Complaint(error.message, hint=error.hint), filled, statement, Span(error.start, error.end)
        ) from None


def named_tables(tree: exp.Query, names: Mapping[str, object]) -> list[tuple[exp.Table, str]]:
    """The tables of a statement that are among `names`, by any case, and not a CTE that they see."""
    known = {name.lower(): name for name in names}
    found = []
    for table in tree.find_all(exp.Table):
        name = table.name.lower()
        if name in known and not table.db and not table.catalog and name not in visible_names(table):
            found.append((table, known[name]))
    return found


def visible_names(table: exp.Table) -> set[str]:
    """The names of the CTEs that a table sees where it stands, in lower case: a CTE does not see itself.

    >>> inner, outer = sqlglot.parse_one("WITH t AS (SELECT * FROM t AS i) SELECT * FROM t AS o").find_all(exp.Table)
    >>> {node.alias: visible_names(node) for node in (inner, outer)} == {"i": set(), "o": {"t"}}
    True
    """
    names: set[str] = set()
    node: exp.Expr = table
    while (parent := node.parent) is not None:
        if isinstance(parent, exp.With):
            entries = list(parent.expressions)
            at = next(i for i, entry in enumerate(entries) if entry is node)
            names |= {entry.alias.lower() for entry in entries[: at + 1 if parent.recursive else at]}
        elif parent.args.get("with_") not in (None, node):
            names |= {entry.alias.lower() for entry in parent.args["with_"].expressions}
        node = parent
    return names


def common_names(tree: exp.Query) -> set[str]:
    """The names of a statement's CTEs, in lower case."""
    return {cte.alias.lower() for cte in tree.find_all(exp.CTE)}


Rows = list[tuple[Any, ...]]


def without_subqueries(clause: RowQuery, run: Callable[[Filled], Rows]) -> RowQuery:
    """The clause with its subqueries run, once, and replaced by what they gave."""

    def rows(query: exp.Expr) -> Rows:
        # The place of a subquery is that of its parentheses.
        around = span_of(query, clause.span)
        return run(Filled.of(clause.text, Span(around.start + 1, around.end - 1)))

    def quantified(node: exp.Binary) -> exp.Expr:
        """`x > ALL (SELECT ...)`: all comparisons with what the query gives, or with ANY one of them."""
        query, left = node.expression.this, exp.paren(node.this.transform(rewrite))
        values = [_constant(row[0]) for row in rows(query)]
        tests = [type(node)(this=left.copy(), expression=value) for value in values]
        if isinstance(node.expression, exp.All):
            return exp.paren(exp.and_(*tests)) if tests else exp.true()
        return exp.paren(exp.or_(*tests)) if tests else exp.false()

    def rewrite(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Exists):
            return exp.true() if rows(node.this) else exp.false()
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            found = rows(node.args["query"])
            return exp.In(this=node.this, expressions=[_constant(row[0]) for row in found]) if found else exp.false()
        if isinstance(node, exp.Binary) and isinstance(node.expression, exp.Any | exp.All):
            return quantified(node)
        if isinstance(node, exp.Subquery):
            found = rows(node)
            if len(found) > 1:
                around = span_of(node, clause.span)
                message = "a subquery in MATCH_RECOGNIZE gives more than one row"
                raise QueryError(message, clause.text, around.start, around.end, hint="add LIMIT 1")
            return _constant(found[0][0]) if found else exp.null()
        return node

    def done(scalar: Scalar) -> Scalar:
        if not any(isinstance(node, exp.Query) for node in scalar.tree.walk()):
            return scalar
        tree = scalar.tree.transform(rewrite)
        assert isinstance(tree, exp.Expression)
        # The text is not what the tree was read from any more.
        return replace(scalar, tree=tree, line="")

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
