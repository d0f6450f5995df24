"""What an engine or sqlglot says about a statement, as errors in our words, at the place in the user's text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from eventide.engines.filled import Filled
from eventide.errors import EventideError, InputError, QueryError, did_you_mean
from eventide.lang.positions import span_of
from eventide.lang.rows.keywords import meant_keyword
from eventide.lang.rows.names import is_name
from eventide.lang.tokens import match_brackets, tokenize
from eventide.lang.tree import Span

_QUERY = "is it a Spark SQL query?"


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong, the name that it is about, and what to try."""

    message: str
    name: str | None = None
    hint: str | None = None


def complain(complaint: Complaint, filled: Filled, statement: str, span: Span | None) -> EventideError:
    """The error; `span` is the place in the filled text, where it is known."""
    place = None if span is None else filled.place(span)
    if place is None:
        return InputError(complaint.message, hint=complaint.hint)
    return QueryError(complaint.message, statement, place.start, place.end, hint=complaint.hint)


def syntax_error(error: Exception, filled: Filled, statement: str) -> QueryError:
    """The error about a text that sqlglot cannot read."""
    tokens = tokenize(statement, any_character=True)
    match_brackets(statement, tokens)
    details = (getattr(error, "errors", None) or [{}])[0]
    start = len(details.get("start_context") or "")
    place = filled.place(Span(start, start + len(details.get("highlight") or ""))) if details else None
    if place is None:
        return QueryError("the statement cannot be read", statement, 0, 0, hint=_QUERY)
    idx = next((i for i, token in enumerate(tokens) if token.end > place.start), len(tokens) - 1)
    token = tokens[idx]
    hint = meant_keyword(tokens, idx) or _QUERY
    if idx == len(tokens) - 2 and "Unexpected token" not in str(details.get("description")):
        message = f"the statement ends too early, after {token}"
        return QueryError(message, statement, token.start, token.end, hint=f"something must follow {token}")
    return QueryError(f"unexpected {token} in the statement", statement, token.start, token.end, hint=hint)


def unknown_table(table: exp.Table, filled: Filled, statement: str, known: Iterable[str], usage: str) -> EventideError:
    """The error about a table that nobody has; `usage` says how to pass one."""
    shown = ".".join(part.name for part in table.parts)
    hint = did_you_mean(table.name, known) or usage
    if shown.upper() == "TABLE":
        hint = "only TUMBLE, HOP, CUMULATE and SESSION take TABLE t: write t, or (SELECT * FROM t)"
    span = span_of(table.this, Span(0, 0))
    return complain(Complaint(f"unknown table '{shown}'", hint=hint), filled, statement, span)


def name_spans(text: str, name: str) -> list[Span]:
    """Where a name stands in a text; as an alias only where it stands nowhere else.

    >>> name_spans("SELECT a AS b, B FROM t", "b")
    [Span(start=15, end=16)]
    """
    try:
        tokens = tokenize(text, any_character=True)
    except QueryError:
        return []
    found = [i for i, token in enumerate(tokens) if is_name(token) and token.value.lower() == name.lower()]
    used = [i for i in found if not (i and tokens[i - 1].word == "AS")]
    return [tokens[i].span for i in used or found]
