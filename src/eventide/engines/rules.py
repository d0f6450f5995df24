"""Rules over one schema: from what is written to a plan for the engine that runs them all.

In: the text of a rule, its options as JSON, and what all rules of a set share. Out: a `Rule`, or an error that says
what is wrong with it. Times in expressions are read in UTC.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pyarrow as pa
from sqlglot import exp

from eventide.engines.filled import Filled
from eventide.engines.local.run import result_schema
from eventide.engines.local.sources import Source, open_source
from eventide.engines.rule_files import Written
from eventide.engines.rule_limits import NO_LIMITS, Limits
from eventide.engines.statements import parse_sql, without_subqueries
from eventide.errors import EventideError, InputError, QueryError, UnsupportedError
from eventide.families.registry import family_named, family_of, family_of_tree
from eventide.lang import SituationQuery, parse
from eventide.lang.deadline import planning_within
from eventide.lang.rows import parse_statement
from eventide.lang.rows.tree import RowQuery
from eventide.lang.tokens import tokenize
from eventide.lang.tree import AnyQuery, Span, WindowQuery
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.plan.streams import for_stream

DETECTED_AT, MATCH_ID = "detected_at", "match_id"
# What is one for all rules: they share the stream's time and watermark, its bad events, and the end of bounded input.
_SHARED = ("ts", "ts_unit", "allowed_lateness", "on_bad_event", "close_at_end")
Columns = tuple[tuple[str, str], ...]  # the plan's name and the rule's
_NOT_LOCAL = "the local engine cannot compute"
_PYTHON = re.compile(r"\s*(ev|eventide)\s*\.|\s*(import|from)\s+eventide\b")
_OF_ROWS = ("ts_unit", "state_ttl", "allowed_lateness", "on_bad_event", "max_steps_per_partition")


@dataclass(frozen=True, slots=True)
class Shared:
    """What all rules of a set have in common."""

    schema: pa.Schema  # of the events
    ts: str
    partition_by: tuple[str, ...]
    given: tuple[tuple[str, Any], ...]  # options of the set, which are those of a rule that does not say otherwise
    base: Physical  # of a query that takes every event
    limits: Limits = NO_LIMITS


@dataclass(frozen=True, slots=True)
class Rule:
    """An executable rule: its plan, and where its columns come from."""

    physical: Physical
    source: Source  # without events: it knows the types of the user's columns
    columns: Columns  # of a row
    has_id: bool  # whether the plan's rows have a match_id, and the time of their detection
    has_time: bool

    @property
    def fields(self) -> list[pa.Field]:
        """Names and types of a row's columns."""
        schema = result_schema(self.physical, self.source)
        return [pa.field(name, schema.field(column).type) for column, name in self.columns]

    def same_as(self, other: Rule) -> bool:
        """Whether they find and return the same, however they are written."""
        mine, others = replace(self.physical, text=""), replace(other.physical, text="")
        return mine == others and self.columns == other.columns


def share(schema: pa.Schema, options: Mapping[str, Any], limits: Limits = NO_LIMITS) -> Shared:
    """What rules over such events share; an error where the events do not have it."""
    # As the embedded engine has them: DuckDB evaluates what rules say about one event.
    schema = open_source(schema.empty_table()).schema
    tree = parse("DEFINE Event AS true PATTERN Event")
    base = _prepare(tree, Options.for_query(tree, **options), schema, engine="spark")
    if base.align_to_first:
        raise UnsupportedError("origin='first' needs all events", hint="give a time: origin='6 hours'")
    names = dict(base.intake.names)
    partition_by = tuple(names[column] for column in base.intake.layout.partition)
    given = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in options.items())
    return Shared(schema, base.intake.ts_column, partition_by, given, base, limits)


def plan_rule(written: Written, shared: Shared) -> Rule:
    """The rule that is written; the only error it raises is `EventideError`."""
    if written.get("unreadable"):
        raise InputError(f"the rule cannot be read: {written['unreadable']}")
    try:
        with planning_within(shared.limits.planning_seconds):
            return _plan(written["query"], written.get("options"), shared)
    except QueryError as error:
        if not error.message.startswith(_NOT_LOCAL):
            raise
        # Elsewhere Spark would compute it, which sees the events of all rules but not what a rule says about them.
        message = "rules" + error.message.removeprefix(_NOT_LOCAL.split(" cannot", maxsplit=1)[0])
        hint = "see the list of expressions for what they can, or run it as a query of its own"
        raise QueryError(message, error.text, error.start, error.end, hint=hint) from None


@lru_cache(maxsize=4096)
def _plan(text: str, options: str | None, shared: Shared) -> Rule:
    if _PYTHON.match(text):
        message = "a rule is the text of a query, and this is Python: builder patterns and ev.intervals have no text"
        raise UnsupportedError(message, hint="write it as a query, or as situations: see what a rule is, docs/rules.md")
    given = _options(options)
    source = open_source(shared.schema.empty_table())
    if _is_statement(text):
        physical, has_id, columns = _plan_rows(text, given, shared)
        has_time = False
    else:
        physical, has_id = _plan_query(text, given, shared)
        has_time = True
        own = (DETECTED_AT, MATCH_ID)
        columns = tuple((column.name, column.name) for column in physical.project if column.name not in own)
    _check(physical, shared)
    # Of many rules some wait for types that come another day. The set refuses a stream that is to close what is open
    # at its end.
    physical = for_stream(replace(physical, types=(), closes_at_end=False))
    physical = shared.limits.applied(physical)
    if shared.limits.planning_seconds is not None:
        # Compiling is part of the limit, and only what has been compiled can be measured.
        family_of(physical.spec).warm(physical.spec)
    return Rule(physical, source, columns, has_id, has_time)


def _options(text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        given = json.loads(text)
    except ValueError as error:
        raise InputError(f"the options are not JSON: {error}", hint='write {"state_ttl": "1 hour"}') from None
    if not isinstance(given, dict):
        raise InputError("the options are not a JSON object", hint='write {"state_ttl": "1 hour"}')
    return given


def _is_statement(text: str) -> bool:
    first = tokenize(text, any_character=True)[0]
    return first.word in ("SELECT", "WITH")


def _plan_query(text: str, given: dict[str, Any], shared: Shared) -> tuple[Physical, bool]:
    tree = parse(text)
    written = {option.name.text.lower() for option in tree.options} | given.keys()
    if tree.partition_by:
        written.add("partition_by")
    if isinstance(tree, SituationQuery | WindowQuery):
        written.add("type")
    if isinstance(tree, WindowQuery) and tree.every is not None:
        message = "a rule returns what is certain, and EMIT EVERY returns windows that are still open"
        raise UnsupportedError(message, hint="leave out EMIT EVERY, or run it as a query of its own")
    defaults = {name: value for name, value in shared.given if name not in written}
    options = Options.for_query(tree, **defaults, **given)
    _check_shared(options, shared)
    if options.origin == "first":
        raise UnsupportedError("origin='first' needs all events, and a stream has no end", hint="give a time")
    try:
        return _prepare(tree, replace(options, match_id=True), shared.schema), True
    except EventideError:
        # Aggregates and situations have no id, nor have matches of events that nothing tells apart.
        return _prepare(tree, replace(options, match_id=False), shared.schema), False


def _prepare(tree: AnyQuery, options: Options, schema: pa.Schema, engine: str = "local") -> Physical:
    family = family_named(family_of_tree(tree))
    return family.prepare(tree, options, schema, engine=engine, on_stream=True)


def _check_shared(options: Options, shared: Shared) -> None:
    common = Options.of(**dict(shared.given))
    for name in _SHARED:
        if getattr(options, name) != getattr(common, name):
            message = f"a rule has no {name} of its own: all rules of a set share it"
            raise InputError(message, hint="leave it out, or put the rule in a set of its own")


def _plan_rows(text: str, given: dict[str, Any], shared: Shared) -> tuple[Physical, bool, Columns]:
    statement = parse_statement(text)
    if len(statement.recognitions) != 1 or statement.functions:
        raise _too_much("a rule that is a SQL statement has one MATCH_RECOGNIZE")
    (found,) = statement.recognitions
    unknown = given.keys() - set(_OF_ROWS)
    if unknown:
        message = f"MATCH_RECOGNIZE has no option '{min(unknown)}'"
        raise InputError(message, hint=f"known: {', '.join(_OF_ROWS)}")
    options = Options.of(**{name: value for name, value in shared.given if name in _OF_ROWS} | given)
    common = Options.of(**dict(shared.given))
    # The end of the input leaves nothing open in MATCH_RECOGNIZE.
    _check_shared(replace(options, ts=common.ts, close_at_end=common.close_at_end), shared)
    clause = without_subqueries(found.clause, _refuse_subquery)
    physical, has_id = _prepare_rows(clause, shared, options)
    before, behind = Span(0, found.span.start), Span(found.span.end, len(text))
    rest = Filled.of(text, before) + Filled("matches") + Filled.of(text, behind)
    names = [column.name for column in physical.project]
    return physical, has_id, _selected(text, rest, found.relation, names[:-1] if has_id else names)


def _prepare_rows(clause: RowQuery, shared: Shared, options: Options) -> tuple[Physical, bool]:
    rows = family_named("rows")
    try:
        return rows.prepare(clause, replace(options, match_id=True), shared.schema, on_stream=True), True
    except EventideError:
        return rows.prepare(clause, options, shared.schema, on_stream=True), False


def _refuse_subquery(query: Filled) -> list[tuple[Any, ...]]:
    raise _too_much("a rule cannot run a subquery inside MATCH_RECOGNIZE")


def _selected(text: str, rest: Filled, relation: str, names: list[str]) -> Columns:
    """The columns that stand around MATCH_RECOGNIZE: all, or a list of names."""
    tree = parse_sql(rest, text)
    more = [part for part, value in tree.args.items() if value and part not in ("expressions", "from_", "kind")]
    if not isinstance(tree, exp.Select) or more or not _is_name(relation):
        raise _too_much("a rule is SELECT columns FROM events MATCH_RECOGNIZE (...), and nothing around it")
    by_name = {name.lower(): name for name in names}
    shown: list[tuple[str, str]] = []
    for item in tree.expressions:
        inner = item.this if isinstance(item, exp.Alias) else item
        if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
            shown += [(name, name) for name in names]
        elif isinstance(inner, exp.Column) and inner.name.lower() in by_name:
            shown.append((by_name[inner.name.lower()], item.alias_or_name))
        else:
            message = f"a rule returns columns of MATCH_RECOGNIZE, and {inner.sql('spark')} is not one"
            raise InputError(message, hint=f"compute it in MEASURES; known: {', '.join(names)}")
    taken = [name.lower() for _, name in shown]
    for name in taken:
        if taken.count(name) > 1:
            raise InputError(f"two columns are called '{name}'", hint="rename one with AS")
    return tuple(shown)


def _is_name(relation: str) -> bool:
    tokens = tokenize(relation, any_character=True)
    return "(" not in relation and len(tokens) <= 4


def _too_much(message: str) -> UnsupportedError:
    return UnsupportedError(message, hint="compute it in MEASURES, or run the statement on its own: ev.sql(...)")


def _check(physical: Physical, shared: Shared) -> None:
    """Whether the rule can share the stream: its time and its buckets."""
    if physical.intake.ts_column != shared.ts:
        message = f"the rule's time is '{physical.intake.ts_column}', that of the rule set is '{shared.ts}'"
        raise InputError(message, hint=f"order by {shared.ts}, or put the rule in a set of its own")
    names = dict(physical.intake.names)
    kept = {names.get(column) for column in physical.intake.layout.distribution}
    missing = [name for name in shared.partition_by if name not in kept]
    if missing:
        is_total = family_of(physical.spec).is_grouped and missing[0] in names.values()
        hint = "return the partition columns too" if is_total else f"add PARTITION BY {', '.join(shared.partition_by)}"
        raise InputError(
            f"the rule needs events with different '{missing[0]}' together, and the rule set keeps them apart",
            hint=f"{hint}, or put the rule in a set with less in partition_by",
        )
