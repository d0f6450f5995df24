"""Where a message about a query points: at a span, at a whole clause, or at an option given in the text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eventide.errors import EventideError, QueryError
from eventide.lang.clauses import split_clauses
from eventide.lang.tokens import tokenize
from eventide.lang.tree import AnyQuery, Span


def error_at(query: AnyQuery, span: Span, message: str, hint: str | None = None) -> QueryError:
    """An error that underlines the span."""
    return QueryError(message, query.text, span.start, span.end, hint=hint)


def option_error(query: AnyQuery, option: str, message: str, hint: str | None = None) -> EventideError:
    """An error about an option: it underlines the option in the text, or has no place when given as an argument."""
    for written in query.options:
        if written.name.text.lower() == option:
            return error_at(query, written.span, message, hint)
    return EventideError(message, hint=hint)


def clause_span(query: AnyQuery, keyword: str) -> Span:
    """A clause from its keyword to its end.

    >>> from eventide.lang import parse
    >>> text = "PATTERN SEQ(A, B) MIN LENGTH 3 RETURN A.x"
    >>> span = clause_span(parse(text), "MIN LENGTH")
    >>> text[span.start : span.end]
    'MIN LENGTH 3'
    """
    clause = split_clauses(query.text, tokenize(query.text))[keyword]
    # The last token is the one behind the clause.
    end = clause.tokens[-2].end if len(clause.tokens) > 1 else clause.span.end
    return Span(clause.span.start, end)


@contextmanager
def within_the_stack(text: str) -> Iterator[None]:
    """What is nested too deeply for Python's stack is an error about the text that is planned."""
    try:
        yield
    except RecursionError:
        hint = "compute parts of it as columns before the query; a deep stack of the calling program counts, too"
        raise QueryError(
            "the query is too long or nested too deeply to be planned", text, 0, len(text), hint=hint
        ) from None
