"""Query text in, `EventQuery`, `SituationQuery`, `WindowQuery` or `JoinQuery` out.

The clauses stand in any order, each at most once. Nothing is checked against a schema here.
"""

from __future__ import annotations

import re

from eventide.errors import QueryError, did_you_mean
from eventide.lang.clauses import Clause, split_clauses
from eventide.lang.conditions import read_where
from eventide.lang.cursor import Cursor
from eventide.lang.durations import read_window
from eventide.lang.joins import is_join, read_join
from eventide.lang.patterns import read_pattern
from eventide.lang.scalars import read_scalar
from eventide.lang.shared_clauses import cursor_of, read_columns, read_options, read_returns, read_source, split_commas
from eventide.lang.situations import is_situations, read_situations
from eventide.lang.tokens import Kind, check_words, tokenize
from eventide.lang.tree import AnyQuery, Definition, EventQuery, Pattern, Span, Strategy
from eventide.lang.windows import is_windows, read_windows

# A text of this length, whatever it holds, is parsed within seconds.
MAX_TEXT = 100_000
_STRATEGIES = {
    "any": Strategy.ANY,
    "skiptillany": Strategy.ANY,
    "next": Strategy.NEXT,
    "skiptillnext": Strategy.NEXT,
    "contiguous": Strategy.CONTIGUOUS,
}


def parse(text: str) -> AnyQuery:
    """Parse a query: of situations where PATTERN has relations; without PATTERN a join, or one of windows.

    The only error it raises is `QueryError`.

    >>> query = parse("PATTERN SEQ(Order o, Pay p) WHERE [user] AND p.sum < o.sum WITHIN 5 minutes")
    >>> query.pattern
    Seq(parts=(Step(type='Order', symbol='o'), Step(type='Pay', symbol='p')))
    >>> query.same, query.window.length.amount
    ((Name(text='user'),), 300000000)
    """
    if len(text) > MAX_TEXT:
        message = f"the query has {len(text):,} characters"
        hint = f"at most {MAX_TEXT:,} are allowed; keep long lists in a table and join them before"
        raise QueryError(message, text[:80], 0, 0, hint=hint)
    tokens = tokenize(text)
    check_words(text, tokens, "the query")
    clauses = split_clauses(text, tokens)
    if is_join(clauses):
        return read_join(text, clauses)
    if is_windows(clauses):
        return read_windows(text, clauses)
    _refuse_windows(text, clauses)
    if is_situations(clauses):
        return read_situations(text, clauses)
    return _read_events(text, clauses)


def parse_events(text: str) -> EventQuery:
    """The same for a text that is an event-pattern query."""
    query = parse(text)
    assert isinstance(query, EventQuery)
    return query


def _refuse_windows(text: str, clauses: dict[str, Clause]) -> None:
    for keyword in ("SESSION", "HAVING", "EMIT EVERY", "EMIT EMPTY"):
        if keyword in clauses:
            span = clauses[keyword].span
            message = f"{keyword} belongs to a query of windows, which has no PATTERN"
            raise QueryError(message, text, span.start, span.end, hint="leave out PATTERN, or filter the result")


def _read_events(text: str, clauses: dict[str, Clause]) -> EventQuery:
    if "EMIT ON" in clauses:
        span = clauses["EMIT ON"].span
        hint = "relate situations: PATTERN A overlaps B; or leave EMIT ON out"
        message = "EMIT ON belongs to situation queries, and this pattern has no relation such as 'before'"
        raise QueryError(message, text, span.start, span.end, hint=hint)
    same, where = read_where(text, clauses["WHERE"]) if "WHERE" in clauses else ((), ())
    complete_trends = "RETURN" in clauses and _returns_complete_trends(text, clauses["RETURN"])
    whole_events = "RETURN" in clauses and _returns_whole_events(text, clauses["RETURN"])
    has_items = "RETURN" in clauses and not complete_trends and not whole_events
    return EventQuery(
        text=text,
        source=read_source(text, clauses["FROM"]) if "FROM" in clauses else None,
        partition_by=read_columns(text, clauses, "PARTITION BY"),
        define=_definitions(text, clauses["DEFINE"]) if "DEFINE" in clauses else (),
        same=same,
        where=where,
        semantics=_strategy(text, clauses["SEMANTICS"]) if "SEMANTICS" in clauses else None,
        group_by=read_columns(text, clauses, "GROUP BY"),
        window=read_window(cursor_of(text, clauses["WITHIN"])) if "WITHIN" in clauses else None,
        min_length=_min_length(text, clauses["MIN LENGTH"]) if "MIN LENGTH" in clauses else None,
        returns=read_returns(text, clauses["RETURN"]) if has_items else (),
        complete_trends=complete_trends,
        whole_events=whole_events,
        options=read_options(text, clauses["OPTIONS"]) if "OPTIONS" in clauses else (),
        pattern=_pattern(text, clauses),  # last: a misspelt PATTERN shows up in the clause before it
    )


def _pattern(text: str, clauses: dict[str, Clause]) -> Pattern:
    if "PATTERN" not in clauses:
        start = min(clause.span.start for clause in clauses.values())
        hint = "say what to look for: PATTERN SEQ(A, B); a query without PATTERN says what it returns: RETURN count(*)"
        raise QueryError("the query has no PATTERN clause", text, start, start, hint=hint)
    return read_pattern(cursor_of(text, clauses["PATTERN"]))


def _definitions(text: str, clause: Clause) -> tuple[Definition, ...]:
    definitions: dict[str, Definition] = {}
    usage = "DEFINE Big AS amount > 1000"
    for tokens, after in split_commas(clause):
        cursor = Cursor(text, (*tokens, after), clause.keyword)
        name = cursor.name("an event type to define", usage=f"write {usage}")
        if not cursor.accept_word("AS"):
            cursor.fail(f"expected AS after '{name.text}', found {cursor.next}", hint=f"write {usage}")
        if name.text in definitions:
            cursor.fail(f"'{name.text}' is defined twice", at=name.span, hint="join the two conditions with OR")
        condition = read_scalar(text, tokens[2:], after, f"the condition of '{name.text}'", usage)
        definitions[name.text] = Definition(name, condition, Span(name.span.start, condition.span.end))
    return tuple(definitions.values())


def _strategy(text: str, clause: Clause) -> Strategy:
    cursor = cursor_of(text, clause)
    known = ", ".join([*(strategy.value for strategy in Strategy), "any", "next"])
    if cursor.ended:
        cursor.fail(f"expected a strategy after SEMANTICS, found {cursor.next}", hint=f"known: {known}")
    end = 0
    while not cursor.ended and (cursor.next.kind is Kind.WORD or cursor.at("-")):
        end = cursor.take().end
    span = Span(clause.tokens[0].start, max(end, clause.tokens[0].end))
    written = text[span.start : span.end]
    folded = re.sub(r"[-_\s]", "", written.lower()).removesuffix("match")
    strategy = _STRATEGIES.get(folded)
    if strategy is None:
        hint = did_you_mean(written[:40], [*(strategy.value for strategy in Strategy), "any", "next"])
        cursor.fail(f"unknown strategy '{written[:40]}'", at=span, hint=hint)
    cursor.finish("the strategy", hint=f"SEMANTICS takes one strategy: {strategy.value}")
    return strategy


def _min_length(text: str, clause: Clause) -> int:
    cursor = cursor_of(text, clause)
    token = cursor.next
    if cursor.ended or not re.fullmatch("[0-9]{1,9}", token.text) or int(token.text) == 0:
        cursor.fail(f"MIN LENGTH takes a whole number from 1 up, found {token}", hint="write MIN LENGTH 3")
    cursor.take()
    cursor.finish("the number of MIN LENGTH", hint="MIN LENGTH counts events, it has no unit")
    return int(token.text)


def _returns_complete_trends(text: str, clause: Clause) -> bool:
    cursor = cursor_of(text, clause)
    if not (cursor.accept_word("COMPLETE") and cursor.accept_word("TRENDS")):
        return False
    cursor.finish("RETURN COMPLETE TRENDS", hint="it returns whole trends and takes no columns")
    return True


def _returns_whole_events(text: str, clause: Clause) -> bool:
    cursor = cursor_of(text, clause)
    if not cursor.accept("*"):
        return False
    cursor.finish("RETURN *", hint="it returns whole events and takes no columns; or name the columns alone")
    return True
