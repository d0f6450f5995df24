"""A SQL statement in, the MATCH_RECOGNIZE clauses and table functions of windows in it out; the rest stays text.

`relation MATCH_RECOGNIZE (...) [AS] alias [(columns)]` and `TABLE(HOP(...)) [AS] alias` are found by tokens and
brackets, so that the statement may hold whatever the engine understands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from eventide.errors import QueryError
from eventide.lang.rows.keywords import meant_keyword
from eventide.lang.rows.names import is_name
from eventide.lang.rows.parse import read_clause, too_long
from eventide.lang.rows.places import keyword_at, read_alias, separates_tables
from eventide.lang.rows.tree import Recognition, Statement
from eventide.lang.rows.window_functions import FUNCTIONS, is_window_function, read_function
from eventide.lang.tokens import Kind, Token, check_words, match_brackets, tokenize
from eventide.lang.tree import Span

MAX_TEXT = 1_000_000
MAX_RECOGNITIONS = 200
# What a table stands behind; a comma too, when it separates tables.
_BEFORE_TABLE = frozenset({"FROM", "JOIN", "LATERAL"})
_NEVER_IN_TABLE = """
    SELECT WHERE ON USING BY HAVING LIMIT OFFSET AND OR NOT SET WHEN THEN ELSE CASE DISTINCT IN IS LIKE UNION EXCEPT
    INTERSECT MINUS VIEW
"""
_NOT_IN_TABLE = frozenset(_NEVER_IN_TABLE.split())
_MAY_HOLD_PARTS = re.compile(rf"match_recognize|descriptor|\b({'|'.join(FUNCTIONS)}|interval)\b", re.IGNORECASE)


def parse_statement(text: str) -> Statement:
    """Parse the parts of a SQL statement that Eventide runs; the only error it raises is `QueryError`.

    >>> statement = parse_statement("SELECT * FROM trades t MATCH_RECOGNIZE (PATTERN (A B)) AS m WHERE m.x > 1")
    >>> [(found.relation, found.alias) for found in statement.recognitions]
    [('trades t', 'm')]
    >>> statement = parse_statement("SELECT * FROM TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL '1' MINUTE) AS w")
    >>> [(found.name, found.relation, found.alias) for found in statement.functions]
    [('TUMBLE', 'trades', 'w')]
    """
    if _MAY_HOLD_PARTS.search(text) is None:
        return Statement(text)
    if len(text) > MAX_TEXT:
        raise too_long(text, "the statement", 0, len(text), MAX_TEXT)
    tokens = tokenize(text, any_character=True)
    places = [idx for idx in range(len(tokens)) if _is_recognition(tokens, idx)]
    calls = [idx for idx in range(len(tokens)) if is_window_function(tokens, idx)]
    if not places and not calls:
        return Statement(text)
    check_words(text, tokens, "the statement")
    for what, found in (("MATCH_RECOGNIZE", places), ("table functions", calls)):
        if len(found) > MAX_RECOGNITIONS:
            token = tokens[found[MAX_RECOGNITIONS]]
            hint = f"at most {MAX_RECOGNITIONS} are allowed; split the statement"
            raise QueryError(f"the statement holds {len(found)} {what}", text, token.start, token.end, hint=hint)
    partner = match_brackets(text, tokens)
    recognitions = [_recognition(text, tokens, partner, idx) for idx in places]
    functions = [read_function(text, tokens, partner, idx) for idx in calls]
    return Statement(
        text,
        tuple(sorted(recognitions, key=lambda recognition: recognition.span.end)),
        tuple(sorted(functions, key=lambda function: function.span.end)),
        tuple(tokens),
    )


def _is_recognition(tokens: Sequence[Token], idx: int) -> bool:
    if tokens[idx].word != "MATCH_RECOGNIZE":
        return False
    return tokens[idx + 1].is_punctuation("(") and not (idx and tokens[idx - 1].is_punctuation("."))


def _recognition(text: str, tokens: Sequence[Token], partner: dict[int, int], idx: int) -> Recognition:
    start = _relation_start(text, tokens, partner, idx)
    close = partner[idx + 1]
    clause = read_clause(text, tokens[idx + 2 : close + 1])
    alias, columns, end = read_alias(text, tokens, partner, close)
    relation = text[tokens[start].start : tokens[idx - 1].end]
    return Recognition(relation, clause, alias, columns, Span(tokens[start].start, tokens[end].end))


def _relation_start(text: str, tokens: Sequence[Token], partner: dict[int, int], idx: int) -> int:
    """The index of the first token of the relation before MATCH_RECOGNIZE."""
    at = idx - 1
    while at >= 0:
        word = keyword_at(tokens, at)
        if word in _NOT_IN_TABLE:
            _fail_relation(text, tokens, idx)
        if word in _BEFORE_TABLE or tokens[at].text in ("(", "[", "{", ";"):
            break
        if tokens[at].is_punctuation(","):
            inline = _inline_table_start(tokens, partner, at)
            if inline is None and not separates_tables(tokens, partner, at):
                _fail_relation(text, tokens, idx)
            at = at if inline is None else inline - 1
            break
        at = min(at, partner.get(at, at)) - 1
    start = at + 1
    if at < 0 or start == idx or not (is_name(tokens[start]) or tokens[start].text == "("):
        _fail_relation(text, tokens, idx)
    return start


def _inline_table_start(tokens: Sequence[Token], partner: dict[int, int], comma: int) -> int | None:
    """Where `VALUES (1), (2)` starts, when the comma is one of it."""
    at = comma - 1
    while at >= 0:
        if tokens[at].text == ")":
            at = partner[at]
        elif tokens[at].word == "VALUES":
            return at
        elif tokens[at].kind not in (Kind.NUMBER, Kind.STRING) and tokens[at].text not in (",", "-"):
            return None
        at -= 1
    return None


def _fail_relation(text: str, tokens: Sequence[Token], idx: int) -> NoReturn:
    hint = meant_keyword(tokens, idx - 1) if idx else None
    hint = hint or "write FROM trades MATCH_RECOGNIZE (...), or FROM (SELECT ...) MATCH_RECOGNIZE (...)"
    raise QueryError("MATCH_RECOGNIZE must follow a table", text, tokens[idx].start, tokens[idx].end, hint=hint)
