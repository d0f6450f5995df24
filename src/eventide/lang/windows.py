"""Queries without PATTERN: filters, and aggregates over windows."""

from __future__ import annotations

from eventide.errors import QueryError
from eventide.lang.clauses import Clause
from eventide.lang.durations import read_length, read_window, write_length
from eventide.lang.scalars import Rules, read_scalar
from eventide.lang.shared_clauses import cursor_of, read_columns, read_options, read_returns, read_source
from eventide.lang.tree import Length, Scalar, Span, Windowing, WindowQuery
from eventide.lang.window_expressions import WINDOW_RULES

_ALLOWED = (
    "FROM",
    "WHERE",
    "GROUP BY",
    "WITHIN",
    "SESSION",
    "EMIT EVERY",
    "EMIT EMPTY",
    "RETURN",
    "HAVING",
    "OPTIONS",
)
_INSTEAD = {
    "PARTITION BY": "write GROUP BY: each group has windows of its own",
    "SEMANTICS": "a strategy says how events of a PATTERN follow one another",
    "MIN LENGTH": "HAVING count(*) >= 3 leaves out windows with few events",
    "EMIT ON": "a window is returned when it is over; EMIT EVERY 10 seconds returns it before, too, EMIT EMPTY also "
    "those without events",
}


def is_windows(clauses: dict[str, Clause]) -> bool:
    """Whether a query without PATTERN says what it returns; without that, its PATTERN was forgotten."""
    return "PATTERN" not in clauses and "DEFINE" not in clauses and "RETURN" in clauses


def read_windows(text: str, clauses: dict[str, Clause]) -> WindowQuery:
    """The query of the clauses."""
    for keyword, clause in clauses.items():
        if keyword not in _ALLOWED:
            message = f"{keyword} belongs to a query with PATTERN"
            raise QueryError(message, text, clause.span.start, clause.span.end, hint=_INSTEAD.get(keyword))
    windowing = _windowing(text, clauses)
    whole = cursor_of(text, clauses["RETURN"])
    whole_events = whole.accept("*") is not None
    if whole_events:
        whole.finish("RETURN *", hint="it returns whole events and takes no columns; or name the columns alone")
    return WindowQuery(
        text=text,
        returns=() if whole_events else read_returns(text, clauses["RETURN"], rules=WINDOW_RULES),
        whole_events=whole_events,
        source=read_source(text, clauses["FROM"]) if "FROM" in clauses else None,
        where=_condition(text, clauses["WHERE"], "WHERE price > 10", None) if "WHERE" in clauses else None,
        group_by=read_columns(text, clauses, "GROUP BY"),
        windowing=windowing,
        every=_every(text, clauses["EMIT EVERY"], windowing) if "EMIT EVERY" in clauses else None,
        empty="EMIT EMPTY" in clauses and _empty(text, clauses, windowing),
        having=_condition(text, clauses["HAVING"], "HAVING n >= 3", WINDOW_RULES) if "HAVING" in clauses else None,
        options=read_options(text, clauses["OPTIONS"]) if "OPTIONS" in clauses else (),
    )


def _condition(text: str, clause: Clause, usage: str, rules: Rules | None) -> Scalar:
    *tokens, after = clause.tokens
    return read_scalar(text, tuple(tokens), after, f"the {clause.keyword} condition", usage, rules)


def _windowing(text: str, clauses: dict[str, Clause]) -> Windowing | None:
    if "SESSION" in clauses:
        if "WITHIN" in clauses:
            span = clauses["SESSION"].span
            hint = "sessions have no other length than the gap that ends them"
            raise QueryError("a query has WITHIN or SESSION, not both", text, span.start, span.end, hint=hint)
        cursor = cursor_of(text, clauses["SESSION"])
        length = _time(text, read_length(cursor), "a session ends after a time without events")
        cursor.finish("the gap of SESSION", hint="write SESSION 30 seconds")
        return Windowing("session", length, None, length.span)
    if "WITHIN" not in clauses:
        return None
    cursor = cursor_of(text, clauses["WITHIN"])
    if not cursor.accept_word("UP"):
        window = read_window(cursor, gaps=True)
        return Windowing("time", window.length, window.slide, window.span)
    usage = "write WITHIN UP TO 1 day STEP 1 hour"
    start = clauses["WITHIN"].tokens[0].start
    if not cursor.accept_word("TO"):
        cursor.fail(f"expected TO after UP, found {cursor.next}", hint=usage)
    length = _time(text, read_length(cursor), "windows that grow are windows of time")
    if not cursor.accept_word("STEP"):
        cursor.fail(f"expected STEP, found {cursor.next}", hint=usage)
    step = _time(text, read_length(cursor), "windows that grow are windows of time")
    cursor.finish("the step", hint=usage)
    if length.amount % step.amount:
        message = f"{write_length(length)} is not a whole number of steps of {write_length(step)}"
        cursor.fail(message, at=step.span, hint="the last window of each must end with it")
    return Windowing("growing", length, step, Span(start, step.span.end))


def _every(text: str, clause: Clause, windowing: Windowing | None) -> Length:
    """How often windows that are open are returned."""
    cursor = cursor_of(text, clause)
    every = _time(text, read_length(cursor), "EMIT EVERY is about a time: EMIT EVERY 10 seconds")
    cursor.finish("the time of EMIT EVERY", hint="write EMIT EVERY 10 seconds")
    if windowing is None or windowing.length.in_events:
        found = "this query has no windows" if windowing is None else "these windows are open until an event fills them"
        message = f"EMIT EVERY returns windows of time and sessions while they are open, and {found}"
        raise QueryError(message, text, clause.span.start, every.span.end, hint="add WITHIN 1 hour, or leave it out")
    return every


def _empty(text: str, clauses: dict[str, Clause], windowing: Windowing | None) -> bool:
    """Whether windows without events are asked for; an error where there cannot be any."""
    clause = clauses["EMIT EMPTY"]
    cursor_of(text, clause).finish("EMIT EMPTY", hint="it takes nothing")
    why = ""
    if windowing is None:
        why = "this query has no windows"
    elif windowing.length.in_events:
        why = "windows of events have some"
    elif windowing.kind == "session":
        why = "a session begins with an event"
    elif "EMIT EVERY" in clauses:
        why = "EMIT EVERY is about windows that are open and have some"
    if why:
        message = f"EMIT EMPTY is about windows of time without events, and {why}"
        hint = "add WITHIN 1 hour, or leave it out"
        raise QueryError(message, text, clause.span.start, clause.span.end, hint=hint)
    return True


def _time(text: str, length: Length, why: str) -> Length:
    if length.in_events:
        raise QueryError("this is a number of events", text, length.span.start, length.span.end, hint=why)
    return length
