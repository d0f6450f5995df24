"""What situation queries do not take, said in their own words before the binding that all queries share."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from eventide.lang.positions import span_of
from eventide.lang.tree import EventQuery, SituationQuery, Span
from eventide.plan.bound import Symbol
from eventide.plan.places import error_at
from eventide.plan.references import is_next

KNOWN = "what can: first, last, count, count_if, sum, avg, min, max, stddev, variance, bool_and and bool_or"
_OTHER_EVENTS = ("PREV", "NEXT")
_CALLED = re.compile(r"\w+\s*\(")
_CALL = re.compile(r"(\w+)\s*\(\s*$")


def check_conditions(query: SituationQuery, schema: pa.Schema) -> None:
    """A condition of DEFINE is about one event: its own columns, no aggregate, no neighbour."""
    columns = {name.lower() for name in schema.names}
    for situation in query.define:
        known = {*columns, situation.name.text.lower()}
        condition = situation.condition
        for node in condition.tree.walk():
            span = span_of(node, condition.span)
            if isinstance(node, exp.Column) and node.table and node.parts[0].name.lower() not in known:
                hint = f"write {node.name} alone; PATTERN relates situations"
                raise error_at(query, span, "the condition of a situation is about one event", hint)
            called = isinstance(node, exp.Anonymous) and str(node.this).upper() in _OTHER_EVENTS
            if isinstance(node, exp.AggFunc) or called or is_next(node):
                hint = (
                    "ev.intervals.homogeneous takes conditions on a run of events, and ev.allen relates its intervals"
                )
                raise error_at(query, span, "the condition of a situation is about one event", hint)


def check_returned(
    tree: exp.Expr, default: Span, query: EventQuery, symbols: Mapping[str, Symbol], schema: pa.Schema
) -> None:
    """RETURN takes aggregates, start and end: no situation alone, nothing that picks among its events."""
    columns = {name.lower() for name in schema.names}
    situations = {name.lower(): name for name in symbols}
    for node in tree.walk():
        span = span_of(node, default)
        if isinstance(node, exp.Filter):
            hint = "aggregate a CASE: max(CASE WHEN A.x > 0 THEN A.x END)"
            raise error_at(query, span, "FILTER has no place in a situation query", hint)
        if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
            hint = "first and last are the values of the first and the last event, NULL or not"
            raise error_at(query, span, "NULLs cannot be passed over", hint)
        if not isinstance(node, exp.Column):
            continue
        first, *rest = (part.name.lower() for part in node.parts)
        if not rest and first in situations and first not in columns:
            name = situations[first]
            hint = f"write start({name}), end({name}), or an aggregate of one of its columns"
            raise error_at(query, span, f"'{name}' is a situation, not a value", hint)
        if len(rest) == 1 and first in situations and rest[0] in ("start", "end") and rest[0] not in columns:
            raise error_at(query, span, f"unknown column '{rest[0]}'", f"write {rest[0]}({situations[first]})")


def not_kept(node: exp.Expr, span: Span, query: EventQuery) -> Exception:
    """The error about an aggregate that would need all events of a situation, by the name that was written."""
    text = query.text
    before = _CALL.search(text[: span.start])
    if before is not None and not _CALLED.match(text[span.start : span.end]):
        # sqlglot has no place for the names of some functions.
        span = Span(before.start(), min(span.end + 1, len(text)))
    written = text[span.start : span.end].split("(")[0].strip()
    name = written.lower() if written.isidentifier() else node.sql_name().lower()  # type: ignore[attr-defined]
    return error_at(query, span, f"{name} cannot be kept event by event", KNOWN)
