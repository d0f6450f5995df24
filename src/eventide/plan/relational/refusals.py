"""What plan="joins" does not say in Spark's or DuckDB's own operators, and the error about it."""

from __future__ import annotations

from sqlglot import exp

from eventide.errors import EventideError, QueryError
from eventide.lang.tree import Span
from eventide.plan.logical import Match, Trends
from eventide.plan.physical import Physical
from eventide.plan.places import clause_span, error_at, option_error
from eventide.plan.relational.count_iterations import is_counted
from eventide.plan.relational.words import is_filter

HINT = "leave out plan: the matcher of Eventide runs the query"
_LIMITS = ("max_matches_per_partition", "max_steps_per_partition")


def refused(plan: Match, what: str, span: Span) -> QueryError:
    """The error about a part of a query."""
    return error_at(plan.query, span, f"{what} is not possible with plan='joins'", HINT)


def check_mapped(plan: Match, physical: Physical | None) -> None:
    """Refuse clauses and options that have no form as joins; the pattern itself is looked at later."""
    if isinstance(plan, Trends) and not is_counted(plan, physical):
        raise refused(plan, "an aggregate over trends", clause_span(plan.query, "RETURN"))
    if plan.query.complete_trends:
        raise refused(plan, "RETURN COMPLETE TRENDS", clause_span(plan.query, "RETURN"))
    for conjunct in plan.conjuncts:
        if conjunct.tree.find(exp.AggFunc) is not None:
            raise refused(plan, "an aggregate in WHERE", conjunct.span)
    options = plan.options
    if options.match_id:
        raise _option(plan, "match_id")
    for name in _LIMITS:
        if getattr(options, name) is not None:
            raise _option(plan, name)


def _option(plan: Match, name: str) -> EventideError:
    return option_error(plan.query, name, f"{name} is not possible with plan='joins'", HINT)


def check_stream(plan: Match) -> None:
    """Refuse what Spark's own operators do not do on a stream: matches of one event have no state, others need some."""
    window = plan.query.window
    if window is not None and window.length.in_events:
        raise refused(plan, "a window that counts events on a stream", window.span)
    if plan.options.origin == "first":
        raise _option(plan, "origin")
    if not is_filter(plan):
        raise refused(plan, "a pattern of several events on a stream", plan.pattern.span)
