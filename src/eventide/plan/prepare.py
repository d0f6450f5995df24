"""From a parsed query and a schema to what an engine runs: bind, rewrite, lower."""

from __future__ import annotations

import pyarrow as pa

from eventide.lang.tree import And, EventQuery, Not, Or, Pattern, Repeat, Seq, Span, Step
from eventide.plan.bind import bind
from eventide.plan.bound import Bound
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.plan.places import clause_span, error_at, option_error
from eventide.plan.rules import rewrite
from eventide.plan.sequence import lower_sequence, sequence_steps


def prepare(query: EventQuery, options: Options, schema: pa.Schema, *, engine: str = "local") -> Physical:
    """The executable form of a query over events of a schema."""
    return lower(rewrite(bind(query, options, schema)), engine)


def lower(plan: Bound, engine: str) -> Physical:
    """The operator for a plan; what has none yet is an error that says so."""
    missing = not_there_yet(plan)
    if missing is not None:
        what, span = missing
        hint = "SEQ of single events with WHERE, WITHIN, SEMANTICS and columns in RETURN runs"
        raise error_at(plan.query, span, f"{what} cannot run yet in this version", hint)
    return lower_sequence(plan, check_shape(plan), engine)


def check_shape(plan: Bound) -> tuple[Step, ...]:
    """The steps of a sequence, when its clauses and options can go with them whatever the events are."""
    query = plan.query
    steps = sequence_steps(plan.pattern)
    assert steps is not None
    if query.min_length is not None and query.min_length > len(steps):
        message = f"a match of this pattern has {len(steps)} events, so MIN LENGTH {query.min_length} leaves none"
        raise error_at(query, clause_span(query, "MIN LENGTH"), message, "lower it, or leave it out")
    if plan.options.origin is not None and (query.window is None or query.window.slide is None):
        message = "origin moves sliding windows, and this query has none"
        raise option_error(query, "origin", message, "add WITHIN ... SLIDE ..., or leave out origin")
    return steps


def not_there_yet(plan: Bound) -> tuple[str, Span] | None:
    """The first part of a query that has no operator yet, with its place."""
    query = plan.query
    found = _in_pattern(plan.pattern)
    if found is not None:
        return found
    for item in plan.items:
        if item.aggregates:
            return "an aggregate over trends", item.span
    if query.complete_trends:
        return "RETURN COMPLETE TRENDS", clause_span(query, "RETURN")
    if query.window is not None and query.window.length.in_events:
        return "a window that counts events", query.window.span
    return None


def _in_pattern(pattern: Pattern) -> tuple[str, Span] | None:
    match pattern:
        case Step():
            return None
        case Repeat():
            return "repetition", pattern.span
        case Not():
            return "NOT", pattern.span
        case And():
            return "AND", pattern.span
        case Or():
            return "OR", pattern.span
        case Seq():
            return next((found for found in map(_in_pattern, pattern.parts) if found is not None), None)
