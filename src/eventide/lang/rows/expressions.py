"""Scalar expressions of MEASURES and DEFINE: Spark SQL with the standard's navigation, in the form of `RowQuery`.

`RUNNING LAST(x)` and `"b".price` are read by a parser of their own; FIRST and LAST are no aggregates here. Labels
are spelt as in PATTERN. Subqueries pass unseen, and their places cover their parentheses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token as SqlToken
from sqlglot.tokenizer_core import TokenType

from eventide.errors import QueryError
from eventide.lang.keywords import AGGREGATES
from eventide.lang.positions import span_of
from eventide.lang.rows.keywords import misplaced_hint
from eventide.lang.rows.names import is_plain_label, unknown_label_hint
from eventide.lang.scalars import BoundedParser, Rules, fail_at, read_scalar
from eventide.lang.tokens import Kind, Token, check_character, match_brackets, tokenize
from eventide.lang.tree import Scalar, Span

NAVIGATION = frozenset({"PREV", "NEXT", "FIRST", "LAST"})
SCOPES = frozenset({"RUNNING", "FINAL"})
_CALLS = NAVIGATION | {"CLASSIFIER", "MATCH_NUMBER"}
_OPERATORS = frozenset({"AND", "OR", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "IS", "NOT", "DIV", "AS"})
_SUBQUERY = frozenset({"SELECT", "WITH", "VALUES"})
_MOST_ROWS = 2**31 - 1


def parse_expression(text: str, what: str, labels: Collection[str] = (), usage: str | None = None) -> Scalar:
    """The expression that a whole text is.

    >>> parse_expression("temp >= 1.1 * prev(temp)", "the condition").tree.sql("spark")
    'temp >= 1.1 * PREV(temp)'
    """
    tokens = tokenize(text)
    match_brackets(text, tokens)
    return read_expression(text, tokens[:-1], tokens[-1], what, labels, usage)


def refuse_calls(scalar: Scalar, text: str, refused: Mapping[str, str], where: str) -> None:
    """An error about a function that means nothing here, with what to write instead, or about a subquery."""
    for node in walk(scalar.tree):
        name = node.name.upper() if isinstance(node, exp.Anonymous) else ""
        is_query = isinstance(node, exp.Query)
        if name in refused or is_query:
            hint = "join the other table to the events before" if is_query else refused[name]
            span = span_of(node, scalar.span)
            message = f"{'a subquery' if is_query else name} is not allowed {where}"
            raise QueryError(message, text, span.start, span.end, hint=hint)


def read_expression(
    text: str,
    tokens: Sequence[Token],
    after: Token,
    what: str,
    labels: Collection[str],
    usage: str | None = None,
) -> Scalar:
    """The expression that the tokens spell; `labels` are those of PATTERN and SUBSET.

    >>> from eventide.lang.tokens import tokenize
    >>> text = "running last(a.price, 2) > price"
    >>> tokens = tokenize(text)
    >>> read_expression(text, tokens[:-1], tokens[-1], "the condition", {"A"}).tree.sql("spark")
    'RUNNING(LAST(A.price, 2)) > price'
    """
    for idx, token in enumerate(tokens):
        if token.kind is Kind.PUNCTUATION:
            check_character(text, token.start)
        elif token.kind is Kind.WORD and not (idx and tokens[idx - 1].is_punctuation(".")):
            _check_word(text, token, tokens[idx + 1 : idx + 3])
    scalar = read_scalar(text, tokens, after, what, usage, _RULES)
    _place_subqueries(scalar.tree, tokens)
    for node in walk(scalar.tree):
        if isinstance(node, exp.Column):
            _spell_label(node, labels)
        elif isinstance(node, exp.Anonymous) and node.name == "CLASSIFIER":
            _spell_classifier(text, node, scalar.span, labels)
        elif isinstance(node, exp.Count) and node.this is None:
            node.set("this", exp.Star())
    return scalar


def _check_word(text: str, token: Token, after: Sequence[Token]) -> None:
    behind = after[0] if after else None
    called = behind is not None and behind.is_punctuation("(")
    if token.word == "MATCH_RECOGNIZE" and called:
        hint = "give its result a name before: WITH m AS (SELECT ...)"
        raise QueryError(
            "MATCH_RECOGNIZE is not allowed in an expression of another", text, token.start, token.end, hint=hint
        )
    if token.word not in SCOPES or behind is None:
        return
    hint = f"write {token.word} LAST(A.price), or {token.word} sum(A.price)"
    if called:
        raise QueryError(f"{token.word} takes no parentheses", text, token.start, token.end, hint=hint)
    if behind.kind is Kind.WORD and behind.word not in _OPERATORS and not (after[1:] and after[1].text == "("):
        message = f"{token.word} must be followed by FIRST, LAST or an aggregate, found {behind}"
        raise QueryError(message, text, token.start, behind.end, hint=hint)


# --- sqlglot ----------------------------------------------------------------------------------------------


def _call(name: str, arguments: list[exp.Expr]) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=arguments)


class _RowParser(BoundedParser):
    """Aggregates but COUNT are calls like any other: sqlglot would refuse, reorder or lose arguments."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {
        **{name: build for name, build in BoundedParser.FUNCTIONS.items() if name not in _CALLS},
        **{name: partial(_call, name) for name in AGGREGATES},
    }
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: parse for name, parse in BoundedParser.FUNCTION_PARSERS.items() if name not in AGGREGATES
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        **{name: parse for name, parse in BoundedParser.NO_PAREN_FUNCTION_PARSERS.items() if name not in AGGREGATES},
        **{scope: lambda self: self._parse_scope() for scope in SCOPES},
    }

    def parse_into(self, expression_types: Any, raw_tokens: list[SqlToken], sql: str | None = None) -> Any:
        return super().parse_into(expression_types, _name_quoted(raw_tokens, sql or ""), sql)

    def _parse_scope(self) -> exp.Expr | None:
        scope = self._prev
        call = None
        if self._curr and self._curr.text.upper() not in _OPERATORS and self._next.token_type == TokenType.L_PAREN:
            call = self._parse_function()
        if call is None:
            self._retreat(self._index - 1)
            return None
        return exp.Anonymous(this=scope.text.upper(), expressions=[call]).update_positions(scope)


def _name_quoted(tokens: list[SqlToken], sql: str) -> list[SqlToken]:
    """Texts in double quotes beside a dot, and in CLASSIFIER(...), are names."""
    renamed = list(tokens)
    for idx, token in enumerate(tokens):
        if token.token_type != TokenType.STRING or sql[token.start] != '"':
            continue
        before = tokens[max(idx - 2, 0) : idx]
        beside_dot = any(other.token_type == TokenType.DOT for other in (*before[-1:], *tokens[idx + 1 : idx + 2]))
        classified = [other.text.upper() for other in before] == ["CLASSIFIER", "("]
        if beside_dot or classified:
            renamed[idx] = SqlToken(
                TokenType.IDENTIFIER, token.text, token.line, token.col, token.start, token.end, token.comments
            )
    return renamed


# --- after sqlglot ----------------------------------------------------------------------------------------


def _check_node(text: str, node: exp.Expr, whole: Span) -> None:
    if isinstance(node, (exp.IgnoreNulls, exp.RespectNulls)):
        name = next((name for name in map(_call_name, (node.this, node.parent)) if name in NAVIGATION), None)
        if name:
            message = f"{name} takes rows as they are, also with NULL"
            fail_at(text, node, whole, message, "remove IGNORE or RESPECT NULLS")
    if isinstance(node, exp.Order) and not isinstance(node.parent, exp.WithinGroup):
        fail_at(text, node, whole, "ORDER BY is not allowed in an expression", "rows are in the order of ORDER BY")
    name = _call_name(node)
    if name not in _CALLS or not isinstance(node, exp.Anonymous):
        return
    node.set("this", name)
    n_arguments = len(node.expressions)
    if name == "MATCH_NUMBER" and n_arguments:
        fail_at(text, node, whole, "MATCH_NUMBER takes no argument", "write MATCH_NUMBER()")
    if name == "CLASSIFIER" and n_arguments > 1:
        fail_at(text, node, whole, "CLASSIFIER takes at most one label", "write CLASSIFIER(), or CLASSIFIER(A)")
    if name in NAVIGATION:
        if n_arguments not in (1, 2) or isinstance(node.expressions[0], exp.Distinct):
            message = f"{name} takes a value and, if need be, an offset"
            fail_at(text, node, whole, message, f"write {name}(A.price), or {name}(A.price, 2)")
        offset = node.expressions[-1]
        if n_arguments == 2 and not (offset.is_int and isinstance(offset, exp.Literal)):
            message = f"the offset of {name} must be a whole number from 0 up"
            fail_at(text, offset, span_of(node, whole), message, f"write {name}(A.price, 2)")
        if n_arguments == 2 and int(offset.name) > _MOST_ROWS:
            message = f"the offset of {name} is more than any partition has rows"
            fail_at(text, offset, span_of(node, whole), message, f"at most {_MOST_ROWS}")


def _call_name(node: object) -> str:
    return node.name.upper() if isinstance(node, exp.Anonymous) else ""


_RULES = Rules(
    refused=(
        (exp.UDTF, "a table function is not allowed in an expression", "compute it before MATCH_RECOGNIZE"),
        (
            exp.Window,
            "a window function is not allowed in MATCH_RECOGNIZE",
            "look at other rows by PREV, NEXT and labels: sum(A.price)",
        ),
        (exp.Limit, "LIMIT is not allowed in an expression", "limit the result"),
        (exp.Lambda, "a lambda is not allowed in MATCH_RECOGNIZE", "compute it as a column before MATCH_RECOGNIZE"),
        (exp.Alias, "an alias is not allowed here", "AS names measures, and comes after the whole expression"),
        (exp.Kwarg, "a named argument is not allowed in MATCH_RECOGNIZE", "give the arguments in order"),
        (exp.Slice, "a slice is not allowed in MATCH_RECOGNIZE", "index one element: A.items[0], or use slice(...)"),
        (exp.Command, "this is not an expression", "is it a Spark SQL expression?"),
    ),
    check_node=_check_node,
    misplaced_hint=misplaced_hint,
    alias_hint="AS names measures, and comes after the whole expression",
    bracket_error=("unexpected '[' in the expression", "an array is written ARRAY(1, 2)"),
    parser=_RowParser,
    subqueries=True,
)


def walk(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes outside subqueries; of a subquery its topmost node."""
    return tree.walk(bfs=False, prune=lambda node: isinstance(node, exp.Query))


def _spell_label(column: exp.Column, labels: Collection[str]) -> None:
    first = column.parts[0]
    if len(column.parts) > 1 and isinstance(first, exp.Identifier):
        _spell(first, labels)


def _spell(identifier: exp.Identifier, labels: Collection[str]) -> bool:
    """Write a label as in PATTERN; whether it is one."""
    label = identifier.name if identifier.args.get("quoted") else identifier.name.upper()
    if label not in labels:
        return False
    identifier.set("this", label)
    identifier.set("quoted", not is_plain_label(label))
    return True


def _spell_classifier(text: str, call: exp.Anonymous, whole: Span, labels: Collection[str]) -> None:
    if not call.expressions:
        return
    argument = call.expressions[0]
    if not isinstance(argument, exp.Column) or len(argument.parts) > 1 or not isinstance(argument.this, exp.Identifier):
        fail_at(
            text, argument, span_of(call, whole), "CLASSIFIER takes a label", "write CLASSIFIER(), or CLASSIFIER(A)"
        )
    if not _spell(argument.this, labels):
        hint = unknown_label_hint(argument.name, labels)
        fail_at(text, argument, whole, f"'{argument.name}' is not a label of PATTERN", hint)


def _place_subqueries(tree: exp.Expr, tokens: Sequence[Token]) -> None:
    """sqlglot records no place for the words around a subquery: stretch it to its parentheses."""
    brackets = list(_subquery_brackets(tokens))
    for node in walk(tree):
        if not brackets or not isinstance(node, exp.Query):
            continue
        inside = span_of(node, Span(-1, -1))
        place = next((span for span in brackets if span.start <= inside.start < span.end), brackets[0])
        brackets.remove(place)
        node.meta["start"], node.meta["end"] = place.start, place.end - 1


def _subquery_brackets(tokens: Sequence[Token]) -> Iterator[Span]:
    start = depth = 0
    for idx, token in enumerate(tokens):
        if depth:
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0:
                yield Span(tokens[start].start, token.end)
        elif token.is_punctuation("(") and idx + 1 < len(tokens) and tokens[idx + 1].word in _SUBQUERY:
            start, depth = idx, 1
