"""What situation queries do not take, said in their own words before the binding that all queries share."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from eventide.errors import did_you_mean
from eventide.expressions.kept_aggregates import function_of
from eventide.expressions.readings import is_next
from eventide.lang.positions import call_span, span_of
from eventide.lang.situations import END
from eventide.lang.tree import EventQuery, SituationQuery, Span
from eventide.plan.logical import Symbol
from eventide.plan.places import error_at

KNOWN = (
    "what can be kept: first, last, any_value (also IGNORE NULLS), count, count_if, sum, avg, min, max, min_by, max_by,"
    " stddev, variance, skewness, kurtosis, corr, covar_pop, covar_samp, regr_..., bool_and, bool_or and bit_..."
)
_OTHER_EVENTS = ("PREV", "NEXT")


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


def check_situations(
    tree: exp.Expr, default: Span, query: EventQuery, symbols: Mapping[str, Symbol], schema: pa.Schema
) -> None:
    """Every name before a dot is a situation's, or a column's; what is counted, starts and ends is a situation."""
    situations = {name.lower() for name in symbols}
    columns = {name.lower() for name in schema.names}
    for node in tree.find_all(exp.Column):
        first, *rest = node.parts
        called = node.parent if isinstance(node.parent, exp.Count) or is_bound(node.parent) else None
        if first.name.lower() in situations or isinstance(first, exp.Star) or (not rest and called is None):
            continue
        span = span_of(first, span_of(node, default))
        if first.name.lower() not in columns:
            hint = did_you_mean(first.name, symbols)
            raise error_at(query, span, f"the situation '{first.name}' is not defined", hint)
        if not rest and isinstance(called, exp.Count):
            hint = "write " + " or ".join(f"{name}.{first.name}" for name in list(symbols)[:3])
            raise error_at(query, span, f"which situation's '{first.name}'?", hint)


def is_bound(node: exp.Expr | None) -> bool:
    """Whether a node is `start(...)` or `end(...)`."""
    return isinstance(node, exp.Anonymous) and str(node.this).upper() in ("START", END)


def check_returned(
    tree: exp.Expr, default: Span, query: EventQuery, symbols: Mapping[str, Symbol], schema: pa.Schema
) -> None:
    """RETURN takes aggregates, start and end: no situation alone, nothing that picks among its events."""
    columns = {name.lower() for name in schema.names}
    situations = {name.lower(): name for name in symbols}
    for node in tree.walk():
        span = span_of(node, default)
        if isinstance(node, exp.Filter):
            _check_filter(node, span, query)
        if isinstance(node, exp.IgnoreNulls) and function_of(node) is None:
            hint = "aggregates leave out NULLs; first, last and any_value take IGNORE NULLS"
            raise error_at(query, span, "IGNORE NULLS has no place here", hint)
        if not isinstance(node, exp.Column):
            continue
        first, *rest = (part.name.lower() for part in node.parts)
        if not rest and first in situations and first not in columns:
            name = situations[first]
            hint = f"write start({name}), end({name}), or an aggregate of one of its columns"
            raise error_at(query, span, f"'{name}' is a situation, not a value", hint)
        if len(rest) == 1 and first in situations and rest[0] in ("start", "end") and rest[0] not in columns:
            raise error_at(query, span, f"unknown column '{rest[0]}'", f"write {rest[0]}({situations[first]})")


def _check_filter(node: exp.Filter, span: Span, query: EventQuery) -> None:
    """FILTER is for what leaves out NULLs, and about the events that are aggregated."""
    function = function_of(node.this)
    if function is None:
        raise not_kept(node.this, call_span(node.this, span, query.text), query)
    if function in ("FIRST", "LAST"):
        word = function.lower()
        hint = f"write {word}(A.x, true) FILTER (WHERE ...), which passes over NULLs, too"
        raise error_at(query, span, f"FILTER would leave NULLs to {word}", hint)
    counted = node.this.this
    others = [column for column in node.expression.find_all(exp.Column) if column.table]
    if isinstance(counted, exp.Star) or any(
        isinstance(counted, exp.Identifier) and column.table.lower() != counted.name.lower() for column in others
    ):
        hint = "count(A.*) FILTER (WHERE A.x > 5) counts events of A"
        raise error_at(query, span, "an aggregate goes over the events of one situation", hint)


def not_kept(node: exp.Expr, span: Span, query: EventQuery) -> Exception:
    """The error about an aggregate that would need all events of a situation, by the name that was written."""
    written = query.text[span.start : span.end].split("(")[0].strip()
    name = written.lower() if written.isidentifier() else node.sql_name().lower()  # type: ignore[attr-defined]
    if name in ("try_sum", "try_avg"):
        plain = name.removeprefix("try_")
        return error_at(query, span, f"there is no {name} here", f"write {plain}: too large a sum is an error")
    return error_at(query, span, f"{name} cannot be kept event by event", KNOWN)
