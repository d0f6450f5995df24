"""Aggregates over trends to their executable form: program, masks, tests between adjacent events, measures."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.split import Split, split
from eventide.families.events.closing import is_closing
from eventide.families.events.lower import distinct_steps, make_program
from eventide.families.events.program import PatternProgram
from eventide.families.trends.absences import Absence, find_absences
from eventide.families.trends.aggregates import Aggregates
from eventide.families.trends.alphabet import alphabet_of
from eventide.families.trends.relations import comparisons_of, tests_between, write_relations
from eventide.families.trends.spec import MAX_SIDES, TrendSpec
from eventide.families.windows.single_events import lower_single_events
from eventide.lang.tree import Step
from eventide.plan.columns import MAX_STEPS, check_told_apart, columns_of_plan, conditions_of, of_plan, read_columns
from eventide.plan.facts import meaning
from eventide.plan.logical import Match
from eventide.plan.physical import Physical
from eventide.plan.places import clause_span, error_at, option_error
from eventide.plan.references import never_adjacent, sides_of
from eventide.plan.results import added_columns, added_fields
from eventide.plan.windows import check_windows, slide_of
from eventide.runtime.block import SEQUENCE
from eventide.runtime.windows import CountWindows


def lower_trends(plan: Match, engine: str) -> Physical:
    """The executable form; `engine` "local" needs every expression on the allow-list."""
    plan, n_group = _groups_first(plan)
    query = plan.query
    steps = distinct_steps(plan.pattern)
    if len(steps) > MAX_STEPS:
        raise error_at(query, steps[MAX_STEPS].span, f"a pattern has at most {MAX_STEPS} symbols")
    parts = split_adjacent(plan)
    program, sides = trend_program(plan, parts)
    if is_of_single_events(plan):
        groups = replace(plan, input=replace(plan.input, partition=plan.partition[:n_group]))
        made = lower_single_events(groups, engine)
        if made is not None:
            return made
    columns = columns_of_plan(plan, engine)
    value_names = [columns.add_value(value) for value in parts.values]
    windows = _count_windows(plan)
    ordered = plan.options.ties == "sequence" or windows is not None
    if ordered:
        check_told_apart(plan, "ties")
        columns.hold(read_columns(plan))
    told = [name for name in read_columns(plan) if name in columns.returned]
    numbers = {symbol: i for i, symbol in enumerate(program.symbols)}
    aggregates = Aggregates(plan, columns, numbers)
    for item in plan.items:
        aggregates.add(item)
    between = tests_between(parts.tests, numbers)
    absences = find_absences(program, between, len(parts.tests))
    _check_bits(plan, program, absences, len(parts.tests))
    tests_source, encodings = write_relations(parts.tests, parts.values, value_names, absences)
    layout = replace(columns.layout(), n_distributed=n_group)
    sequence = [SEQUENCE] if layout.has_sequence else []
    schema = pa.schema([*plan.input.partition_fields()[:n_group], *aggregates.fields(), *added_fields(plan)])
    spec = TrendSpec(
        query=meaning(plan),
        layout=layout,
        program=program,
        sides=sides,
        strategy=plan.strategy.name.lower(),
        min_length=query.min_length or 1,
        counted=tuple(aggregates.counted),
        measures=tuple(aggregates.measures),
        time_type=plan.time_type,
        n_group=n_group,
        counts=plan.options.counts,
        on_overflow=plan.options.on_overflow,
        slide=None if windows is not None else slide_of(plan),
        count_windows=windows,
        ties_follow=plan.options.ties == "sequence",
        tie_columns=(*sequence, *(columns.returned[name] for name in told)) if ordered else None,
        tests=between,
        tests_source=tests_source,
        encodings=encodings,
        comparisons=comparisons_of(parts.tests, value_names, encodings, absences),
        absences=absences,
        user_groups=plan.partition[:n_group],
        alphabet=alphabet_of(plan, steps, parts),
    )
    common = of_plan(plan)
    common["keep_all"] |= windows is not None
    return columns.physical(
        spec,
        columns.masks(conditions_of(plan, steps, parts)),
        (*(aggregates.project(item, schema) for item in plan.items), *added_columns(plan)),
        schema,
        windows_close=spec.slide is not None,
        passes_over=not parts.tests,
        **common,
    )


def is_of_single_events(plan: Match) -> bool:
    """Whether trends are events, and windows of events are asked for: not as logarithms, and not by positions.

    A stream keeps the operator that its checkpoints know.
    """
    window, options = plan.query.window, plan.options
    is_plain = options.counts == "exact" and options.on_overflow is None and not plan.input.is_stream
    is_single = isinstance(plan.pattern, Step) and (plan.query.min_length or 1) == 1
    return is_plain and is_single and (window is None or not window.length.in_events)


def split_adjacent(plan: Match) -> Split:
    """The conjuncts: on one event, or on adjacent events; nothing else can be decided without building trends."""
    for conjunct in plan.conjuncts:
        if is_closing(conjunct):
            message = "a condition on an aggregate needs each trend, and trends are never built here"
            hint = "relate single or adjacent events, or return the events instead of aggregates"
            raise error_at(plan.query, conjunct.span, message, hint)
    parts = split(plan.conjuncts, list(plan.symbols), plan.schema, plan.query.text, plan.types)
    for test in parts.tests:
        span = test.source.span
        names = [slot.symbol for slot in test.slots]
        if not any(slot.is_next for slot in test.slots):
            message = (
                f"{' and '.join(dict.fromkeys(names))} may be far apart in a trend, and trends are never built here"
            )
            hint = f"relate adjacent events: {names[0]}.column and NEXT({names[-1]}).column"
            raise error_at(plan.query, span, message, hint)
    return parts


def trend_program(plan: Match, parts: Split) -> tuple[PatternProgram, tuple[tuple[int, ...], ...]]:
    """The automata, and the branches of each side: of an outermost AND, or of the whole pattern."""
    program = make_program(plan, parts, [])
    sides: tuple[tuple[int, ...], ...] = (program.main,)
    if program.conjunctions:
        (only, *others) = program.conjunctions
        starts = program.branches[program.main[0]].starts
        is_whole = len(program.main) == 1 and len(starts) == 1 and not program.positions[starts[0].target].edges
        if others or not is_whole or program.positions[starts[0].target].conjunction != 0:
            message = "beside aggregates over trends AND can only be outermost"
            hint = "write PATTERN AND(P, Q), or return the events instead of aggregates"
            raise error_at(plan.query, clause_span(plan.query, "PATTERN"), message, hint)
        sides = only.sides
        if len(sides) > MAX_SIDES:
            message = f"AND beside aggregates over trends has at most {MAX_SIDES} patterns, not {len(sides)}"
            raise error_at(plan.query, clause_span(plan.query, "PATTERN"), message, "join some of them with OR or SEQ")
    _check_next(plan, parts, program)
    return program, sides


def _check_next(plan: Match, parts: Split, program: PatternProgram) -> None:
    pairs = {
        (program.symbols[position.symbol], program.symbols[target])
        for position in program.positions
        for edge in position.edges
        if position.symbol is not None
        if (target := program.positions[edge.target].symbol) is not None
    }
    for test in parts.tests:
        if sides_of(test) not in pairs:
            raise never_adjacent(plan, test, pairs, "relate symbols that can be side by side")


def _check_bits(plan: Match, program: PatternProgram, absences: tuple[Absence, ...], n_tests: int) -> None:
    """Tests, and symbols with what is known of absences, are bits of a number."""
    n_bits = max([len(program.symbols), *(max(a.lead, a.trail) + 1 for a in absences)])
    if max(n_bits, n_tests + len(absences)) > MAX_STEPS:
        message = f"more than {MAX_STEPS} conditions on adjacent events, or symbols and NOTs with such conditions"
        raise error_at(plan.query, clause_span(plan.query, "PATTERN"), message, "use fewer of them")


def _groups_first(plan: Match) -> tuple[Match, int]:
    """GROUP BY columns, and partition columns that are returned, before the others; and how many they are."""
    if plan.options.match_id:
        message = "match_id names a match, and this query returns aggregates over trends"
        raise option_error(plan.query, "match_id", message, "leave it out")
    if plan.options.max_matches_per_partition is not None:
        message = "max_matches_per_partition counts matches, and this query returns aggregates over trends"
        raise option_error(plan.query, "max_matches_per_partition", message, "leave it out")
    if plan.options.max_steps_per_partition is not None:
        message = "max_steps_per_partition is for searches, and aggregates over trends search for no matches"
        raise option_error(plan.query, "max_steps_per_partition", message, "leave it out")
    check_windows(plan)
    grouped = {name.text.lower() for name in plan.query.group_by}
    returned = {reference.column for item in plan.items for reference in item.reads if reference.symbol is None}
    returned |= {
        column.name
        for item in plan.items
        for column in item.tree.find_all(exp.Column)
        if not column.table and column.find_ancestor(exp.AggFunc) is None
    }
    groups = [name for name in plan.partition if name.lower() in grouped or name in returned]
    rest = [name for name in plan.partition if name not in groups]
    return replace(plan, input=replace(plan.input, partition=(*groups, *rest))), len(groups)


def _count_windows(plan: Match) -> CountWindows | None:
    window = plan.query.window
    if window is None or not window.length.in_events:
        return None
    slide = window.slide or window.length
    return CountWindows(window.length.amount, slide.amount)
