"""`explain` of event patterns and trends: the logical plan, the program, the operator and distribution, and why."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.split import split
from eventide.expressions.types import type_name
from eventide.families.events.lower_sequence import place_tests, sequence_steps
from eventide.families.events.pattern_lines import operator_lines, pattern_lines, program_lines
from eventide.families.events.prepare import check_shape, lower, not_there_yet
from eventide.families.events.sequence import SequenceSpec
from eventide.families.registry import family_of
from eventide.families.trends.explain import trend_distribution, trend_lines, trend_operator_lines
from eventide.families.trends.lower import split_adjacent
from eventide.families.trends.spec import TrendSpec
from eventide.lang import write
from eventide.lang.durations import write_length
from eventide.lang.tree import EventQuery, Length, Span, Strategy
from eventide.plan.assumed import assumed_schema
from eventide.plan.bind import bind
from eventide.plan.bound import Bound
from eventide.plan.explain import NO_COLUMNS, distributed, section
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.plan.rules import rewrite
from eventide.runtime.limit import limit_text

_MEANING = {
    Strategy.ANY: "every event that fits extends a match",
    Strategy.NEXT: "only the earliest event that fits extends a match",
    Strategy.CONTIGUOUS: "the next event of the partition must fit",
}


def explain(
    query: EventQuery,
    options: Options,
    schema: pa.Schema | None,
    *,
    engine: str,
    n_rows: int | None = None,
    choose: Callable[[Physical], str | None] | None = None,
) -> str:
    """The text; without a schema, the query as understood and whether it can run.

    `choose` is the engine's word on how these events are shared out.
    """
    sections = [section("Query", write(query).splitlines())]
    plan = rewrite(bind(query, options, assumed_schema(query, options) if schema is None else schema))
    if schema is not None:
        sections.append(section("Logical plan", _logical(plan)))
    missing = not_there_yet(plan)
    if missing is not None:
        sections.append(section("Operator", [f"none: {missing[0]} cannot run yet in this version"]))
        return "\n".join(sections)
    check_shape(plan)
    if schema is None:
        program, growth = pattern_lines(plan)
        sections.append(section("Program", program))
        sections += [section("Operator", growth)] if growth else []
        sections.append(section("Plan", [NO_COLUMNS]))
        return "\n".join(sections)
    physical = lower(plan, "local" if engine == "local" else "spark")
    if isinstance(physical.spec, TrendSpec):
        tests = [_text(plan, test.source.span) for test in split_adjacent(plan).tests]
        sections.append(section("Program", trend_lines(physical.spec, tests)))
        sections.append(section("Operator", trend_operator_lines(plan, physical)))
        chosen = None if choose is None else choose(physical)
        distribution = trend_distribution(physical.spec, engine, n_rows, chosen)
        sections.append(distributed(distribution, physical, engine))
        return "\n".join(sections)
    is_sequence = isinstance(physical.spec, SequenceSpec)
    sections.append(section("Program", (_program if is_sequence else program_lines)(plan)))
    sections.append(section("Operator", (_operator if is_sequence else operator_lines)(plan, physical)))
    chosen = None if choose is None else choose(physical)
    sections.append(distributed(_distribution(plan, physical, engine, n_rows, chosen), physical, engine))
    return "\n".join(sections)


def _logical(plan: Bound) -> list[str]:
    unit = f", integers in {plan.time_type.unit}" if plan.time_type.unit else ""
    ties = "tied events do not follow one another"
    if plan.options.ties == "sequence":
        ties = f"tied events follow in the order of {plan.sequence or 'the columns that are read'}"
    lines = [
        f"time        {plan.ts} ({type_name(plan.time_type.arrow)}{unit}); {ties}",
        f"partition   {', '.join(plan.partition) or 'none: all events together'}",
        f"strategy    {plan.strategy.value}: {_MEANING[plan.strategy]}",
    ]
    window = plan.query.window
    if window is None:
        lines.append("window      none")
    else:
        slide = f", sliding by {write_length(window.slide)}" if window.slide else ""
        lines.append(f"window      {write_length(window.length)}{slide}")
    for symbol in plan.symbols.values():
        marks = "".join(f", {word}" for word, on in (("absent", symbol.negated), ("repeated", symbol.repeated)) if on)
        condition = _readable(plan.conditions[symbol.type].tree)
        lines.append(f"symbol      {symbol.name}: {condition}{marks}")
    for conjunct in plan.conjuncts:
        lines.append(f"where       {_text(plan, conjunct.span)}")
    for item in plan.items:
        lines.append(f"return      {item.name} = {_readable(item.tree)}")
    return lines


def _readable(tree: exp.Expr) -> str:
    """The text of a bound tree, quotes only where a name needs them."""
    if isinstance(tree, exp.Struct):
        return "its events, each with all columns"
    copy = tree.copy()
    for name in copy.find_all(exp.Identifier):
        name.set("quoted", _PLAIN.fullmatch(name.name) is None)
    return copy.sql("spark")


_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def _program(plan: Bound) -> list[str]:
    """What is tested when: one line per step in the order in which they are bound, its tests below it."""
    steps = sequence_steps(plan.pattern)
    assert steps is not None
    parts = split(plan.conjuncts, list(plan.symbols), plan.schema, plan.query.text, plan.types)
    placed = place_tests(plan, steps, parts)
    lines: list[str] = []
    backward = plan.strategy is Strategy.ANY
    for k, step in list(enumerate(steps))[::-1] if backward else enumerate(steps):
        alone = [_readable(plan.conditions[step.type].tree)]
        alone += [_text(plan, local.value.source.span) for local in parts.locals if local.symbol == step.symbol]
        lines.append(f"{k}  bind {step.symbol}  where {' AND '.join(alone)}")
        for test in placed:
            if (min if backward else max)(test.steps) == k:
                lines.append(f"       test {_text(plan, test.test.tree.span)}")
    lines.append(f"{len(steps)}  match")
    return lines


def _text(plan: Bound, span: Span) -> str:
    return " ".join(plan.query.text[span.start : span.end].split())


def _operator(plan: Bound, physical: Physical) -> list[str]:
    spec = physical.spec
    assert isinstance(spec, SequenceSpec)
    walk = "backwards from each last event" if spec.strategy == "any" else "forward from each first event"
    lines = [
        f"sequence matcher, {spec.n_steps} steps, walking {walk}",
        f"per event   {len(physical.select)} columns from {len(physical.reads)}, computed by the SQL engine",
    ]
    n_tests = "none" if spec.holds_source is None else "compiled for this query"
    lines.append(f"between     tests that relate events: {n_tests}")
    if spec.window_us is None:
        lines.append("memory      all relevant events: without WITHIN nothing can be forgotten")
    else:
        lines.append(
            f"memory      on a stream the relevant events of the last {write_length(Length(spec.window_us))}, "
            "on bounded input all relevant ones"
        )
    if spec.strategy == "any" and spec.n_steps > 1:
        bound = "WITHIN bounds it" if spec.window_us is not None else "add WITHIN to bound it"
        lines.append(f"results     up to the product of the steps' events in one window; {bound}")
        lines.append(f"limit       {limit_text(spec.max_matches)}")
    if not physical.intake.keep_all:
        lines.append("filter      events that no step wants are left out before anything else")
    return lines


def _distribution(plan: Bound, physical: Physical, engine: str, n_rows: int | None, chosen: str | None) -> str:
    seen = "" if n_rows is None else f" ({n_rows:,} events)"
    if engine == "spark stream" and plan.query.window is None:
        return "spark stream: refused, because nothing can be forgotten: add WITHIN 1 hour, or state_ttl='1 hour'"
    if chosen is not None:
        return f"{engine}{seen}: {chosen}"
    is_cut = getattr(family_of(physical.spec).slicing(physical.spec), "on_threads", False)
    if not plan.partition and engine != "spark stream" and is_cut:
        where = {"local": "threads", "spark": "tasks"}[engine]
        return f"{engine}{seen}: no partition column; many events are cut by time for {where}, with a window's overlap"
    if not plan.partition:
        where = {"local": "one thread", "spark": "one task"}.get(engine, "one bucket")
        return f"{engine}{seen}: {where}, because there is no partition column"
    keys = ", ".join(plan.partition)
    if engine == "local":
        return f"local{seen}: partitions by {keys} are shared out over all cores"
    if engine == "spark stream":
        return f"spark stream: hash of {keys} to buckets, one operator with its own state per bucket"
    few = "; few events in files: one task, no exchange"
    return f"spark{seen}: hash of {keys} to buckets, blocks of events exchanged once, one operator per bucket{few}"
