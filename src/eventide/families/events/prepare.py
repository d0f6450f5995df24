"""From a parsed query and a schema to what an engine runs: bind, rewrite, lower."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from eventide.expressions.known_functions import for_engine
from eventide.families.events.lower_sequence import lower_sequence, sequence_steps
from eventide.lang.deadline import check_deadline
from eventide.lang.tree import EventQuery, Span
from eventide.plan.bind import bind
from eventide.plan.bound import Bound
from eventide.plan.facts import with_options
from eventide.plan.lengths import most_events
from eventide.plan.options import Options
from eventide.plan.physical import NamedType, Physical
from eventide.plan.places import clause_span, error_at, option_error, within_the_stack
from eventide.plan.rules import rewrite


def prepare(query: EventQuery, options: Options, schema: pa.Schema, *, engine: str = "local") -> Physical:
    """The executable form of a query over events of a schema."""
    with within_the_stack(query.text), for_engine(engine):
        _check_options(query, options)
        plan = rewrite(bind(query, options, schema))
        check_deadline()
        made = replace(lower(plan, engine), types=named_types(plan))
    check_deadline()
    return with_options(made, options, schema)


def named_types(plan: Bound) -> tuple[NamedType, ...]:
    """The types without a definition: each is what the type column of an event must say."""
    defined = {definition.name.text for definition in plan.query.define}
    found: dict[str, NamedType] = {}
    for symbol in plan.symbols.values():
        if symbol.type not in defined:
            column = plan.conditions[symbol.type].tree.this.name
            before = found.get(symbol.type)
            negated = symbol.negated or (before is not None and before.negated)
            found[symbol.type] = NamedType(column, symbol.type, negated)
    return tuple(found.values())


def _check_options(query: EventQuery, options: Options) -> None:
    if options.possible:
        message = "possible is for situation queries, and this pattern has no relation such as 'before'"
        raise option_error(query, "possible", message, "leave out possible")


def lower(plan: Bound, engine: str) -> Physical:
    """The operator for a plan; what has none yet is an error that says so."""
    missing = not_there_yet(plan)
    if missing is not None:
        what, span = missing
        hint = "patterns with WHERE, WITHIN, SEMANTICS and columns in RETURN run"
        raise error_at(plan.query, span, f"{what} cannot run yet in this version", hint)
    check_shape(plan)
    if plan.aggregates:
        from eventide.families.trends.lower import lower_trends

        return lower_trends(plan, engine)
    steps = sequence_steps(plan.pattern)
    if steps is None or plan.query.whole_events:
        from eventide.families.events.lower import lower_pattern

        return lower_pattern(plan, engine)
    return lower_sequence(plan, steps, engine)


def check_shape(plan: Bound) -> None:
    """Whether the clauses and options can go with the pattern, whatever the events are."""
    query = plan.query
    longest = most_events(plan.pattern)
    if query.min_length is not None and longest is not None and query.min_length > longest:
        most = "" if sequence_steps(plan.pattern) is not None else "at most "
        message = f"a match of this pattern has {most}{longest} events, so MIN LENGTH {query.min_length} leaves none"
        raise error_at(query, clause_span(query, "MIN LENGTH"), message, "lower it, or leave it out")
    slides = query.window is not None and (query.window.slide is not None or plan.aggregates)
    if plan.options.origin is not None and not slides:
        message = "origin moves sliding windows, and this query has none"
        raise option_error(query, "origin", message, "add WITHIN ... SLIDE ..., or leave out origin")


def not_there_yet(plan: Bound) -> tuple[str, Span] | None:
    """The first part of a query that has no operator yet, with its place."""
    query = plan.query
    if query.complete_trends:
        return "RETURN COMPLETE TRENDS", clause_span(query, "RETURN")
    if query.window is not None and query.window.length.in_events and not plan.aggregates:
        return "a window that counts events", query.window.span
    return None
