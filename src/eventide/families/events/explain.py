"""What `explain` says about event patterns: the program, the operator, and whether there may be too many matches."""

from __future__ import annotations

from typing import Any

from eventide.expressions.split import split
from eventide.families.events.automaton import TooLargeError, compile_pattern
from eventide.families.events.family import EventSpec
from eventide.families.events.growth import growth_lines
from eventide.families.events.lower import split_conjuncts, too_large
from eventide.families.events.lower_sequence import place_tests, sequence_steps
from eventide.families.events.offers import is_alone
from eventide.families.events.prepare import bind_events, check_shape, not_there_yet
from eventide.families.events.program import PatternProgram
from eventide.families.events.sequence import SequenceSpec
from eventide.families.events.spec import PatternSpec
from eventide.families.registry import family_of
from eventide.lang.durations import write_length
from eventide.lang.tree import EventQuery, Length, Strategy
from eventide.plan.assumed import assumed_schema
from eventide.plan.ending import at_the_end
from eventide.plan.explain import STREAM, Explanation, Sections, per_event, readable, written
from eventide.plan.logical import Match
from eventide.plan.needed import range_lines
from eventide.plan.options import Options
from eventide.plan.physical import Physical, Planned
from eventide.plan.rules import rewrite
from eventide.runtime.effort import steps_text
from eventide.runtime.limit import limit_text


class EventsExplanation(Explanation):
    """A SEQ has a walk of its own, every other pattern has an automaton."""

    def outline(self, tree: EventQuery, options: Options) -> Sections:
        """The automata, and whether there may be too many matches, whatever the columns are."""
        plan = rewrite(bind_events(tree, options, assumed_schema(tree, options)))
        missing = not_there_yet(plan)
        if missing is not None:
            return {"Operator": [f"none: {missing.message}"]}
        check_shape(plan)
        try:
            program = compile_pattern(plan.pattern, plan.strategy.name.lower())
        except TooLargeError as error:
            raise too_large(plan, error) from None
        return {"Program": program.dump(), "Operator": [] if plan.aggregates else _growth(plan, program)}

    def sections(self, planned: Planned, physical: Physical, learned: Any) -> Sections:
        plan, spec = planned.node, physical.spec
        assert isinstance(plan, Match)
        if isinstance(spec, SequenceSpec):
            walk = "backwards from each last event" if spec.strategy == "any" else "forward from each first event"
            program, how = _sequence_program(plan), f"sequence matcher, {spec.n_steps} steps, walking {walk}"
        else:
            assert isinstance(spec, PatternSpec)
            program = [*spec.program.dump(), *_program_tests(plan)]
            how = f"pattern matcher, {len(spec.program.positions)} positions, walking forward from each first event"
        return {"Program": program, "Operator": [how, *_operator_lines(plan, spec, physical)]}

    def shared_out(self, spec: EventSpec, engine: str, keys: str) -> str | None:
        if keys or engine == STREAM or not getattr(family_of(spec).slicing(spec), "on_threads", False):
            return None
        where = {"local": "threads", "spark": "tasks"}[engine]
        return f"no partition column; many events are cut by time for {where}, with a window's overlap"

    def kept_on_stream(self, spec: EventSpec) -> list[str]:
        kept = spec.window_us if isinstance(spec, SequenceSpec) else spec.kept_us
        assert kept is not None
        return [f"keeps the relevant events of the last {write_length(Length(kept))}"]


def _sequence_program(plan: Match) -> list[str]:
    """What is tested when: one line per step in the order in which they are bound, its tests below it."""
    steps = sequence_steps(plan.pattern)
    assert steps is not None
    parts = split(plan.conjuncts, list(plan.symbols), plan.schema, plan.query.text, plan.types)
    placed = place_tests(plan, steps, parts)
    lines: list[str] = []
    backward = plan.strategy is Strategy.ANY
    for k, step in list(enumerate(steps))[::-1] if backward else enumerate(steps):
        alone = [readable(plan.conditions[step.type].tree)]
        alone += [written(plan, local.value.source.span) for local in parts.locals if local.symbol == step.symbol]
        lines.append(f"{k}  bind {step.symbol}  where {' AND '.join(alone)}")
        for test in placed:
            if (min if backward else max)(test.steps) == k:
                lines.append(f"       test {written(plan, test.test.tree.span)}")
    lines.append(f"{len(steps)}  match")
    return lines


def _program_tests(plan: Match) -> list[str]:
    """When each conjunct that relates events is tested."""
    parts, _, closing = split_conjuncts(plan)
    tested = [
        ("adjacent" if any(slot.is_next for slot in test.slots) else "bound", test.source.span) for test in parts.tests
    ]
    tested += [("closed", test.source.span) for test in closing]
    return [f"test when {when}: {written(plan, span)}" for when, span in tested]


def _operator_lines(plan: Match, spec: EventSpec, physical: Physical) -> list[str]:
    """What it keeps, and what it may cost."""
    source = spec.holds_source if isinstance(spec, SequenceSpec) else spec.tests_source
    lines = [
        per_event(physical),
        f"between     tests that relate events: {'none' if source is None else 'compiled for this query'}",
        "memory      on bounded input all relevant events",
    ]
    lines += _sequence_cost(spec) if isinstance(spec, SequenceSpec) else _pattern_cost(plan, spec)
    if not physical.intake.keep_all:
        lines.append("filter      events that no step wants are left out before anything else")
    return lines + range_lines(physical.needed, spec.time_type)


def _sequence_cost(spec: SequenceSpec) -> list[str]:
    if spec.strategy != "any" or spec.n_steps == 1:
        return []
    bound = "WITHIN bounds it" if spec.window_us is not None else "add WITHIN to bound it"
    return [
        f"results     up to the product of the steps' events in one window; {bound}",
        f"limit       {limit_text(spec.max_matches)}",
    ]


def _pattern_cost(plan: Match, spec: PatternSpec) -> list[str]:
    lines, program = [], spec.program
    if program.waits:
        lines.append(f"decided     {_decided(spec)}")
        if spec.window_us is not None:
            lines.append(f"at the end  {at_the_end(plan.options.close_at_end)}")
    if program.conjunctions and not is_alone(program):
        lines.append("and         the pairs of matches of the sides that one window holds are held in memory")
    return lines + _growth(plan, program)


def _decided(spec: PatternSpec) -> str:
    if spec.window_us is None:
        return "where NOT is last, only at the end of the input: without WITHIN it looks that far"
    return "where NOT is last, at the end of the window: detected_at is that end"


def _growth(plan: Match, program: PatternProgram) -> list[str]:
    lines = growth_lines(
        program,
        plan.pattern,
        within=plan.query.window is not None,
        tied=plan.options.ties == "strict",
        types={symbol.name: symbol.type for symbol in plan.symbols.values()},
        defined={definition.name.text for definition in plan.query.define},
    )
    options = plan.options
    limits = limit_text(options.max_matches_per_partition), steps_text(options.max_steps_per_partition)
    return [*lines, *(f"limit       {text}" for text in limits)] if lines else []
