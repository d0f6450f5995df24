"""Event patterns from a parsed query to what an engine runs: which operator a bound plan gets."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from eventide.errors import QueryError
from eventide.families.events.lower_sequence import lower_sequence, sequence_steps
from eventide.families.registry import family_named
from eventide.lang.tree import EventQuery
from eventide.plan.bind import bind
from eventide.plan.facts import with_options
from eventide.plan.lengths import most_events
from eventide.plan.logical import Match, Trends
from eventide.plan.options import Options
from eventide.plan.physical import NamedType, Physical
from eventide.plan.places import clause_span, error_at, option_error


def bind_events(query: EventQuery, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Match:
    """The logical plan."""
    if options.possible:
        message = "possible is for situation queries, and this pattern has no relation such as 'before'"
        raise option_error(query, "possible", message, "leave out possible")
    return bind(query, options, schema, on_stream=on_stream)


def lower(plan: Match, engine: str) -> Physical:
    """The operator for a plan."""
    check_shape(plan)
    if isinstance(plan, Trends):
        made = family_named("trends").lower(plan, engine)
    else:
        steps = sequence_steps(plan.pattern)
        if steps is None or plan.query.whole_events:
            from eventide.families.events.lower import lower_pattern

            made = lower_pattern(plan, engine)
        else:
            made = lower_sequence(plan, steps, engine)
    return with_options(replace(made, types=named_types(plan)), plan.options, plan.schema)


def named_types(plan: Match) -> tuple[NamedType, ...]:
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


def check_shape(plan: Match) -> None:
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


def not_there_yet(plan: Match) -> QueryError | None:
    """The error about the first part of a query that has no operator yet."""
    query = plan.query
    if query.complete_trends:
        what, span = "RETURN COMPLETE TRENDS", clause_span(query, "RETURN")
    elif query.window is not None and query.window.length.in_events and not isinstance(plan, Trends):
        what, span = "a window that counts events", query.window.span
    else:
        return None
    hint = "patterns with WHERE, WITHIN, SEMANTICS and columns in RETURN run"
    if not query.complete_trends:
        hint = "run it as joins: plan='joins'; or use a window of time, such as WITHIN 1 hour"
    return error_at(query, span, f"{what} cannot run yet in this version", hint)
