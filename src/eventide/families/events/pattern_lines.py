"""What `explain` says about an event pattern: its program, its operator, and whether it may have too many matches."""

from __future__ import annotations

from eventide.families.events.automaton import TooLargeError, compile_pattern
from eventide.families.events.growth import growth_lines
from eventide.families.events.lower import make_program, split_conjuncts, too_large
from eventide.families.events.offers import is_alone
from eventide.families.events.program import PatternProgram
from eventide.families.events.spec import PatternSpec
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.bound import Bound
from eventide.plan.ending import at_the_end
from eventide.plan.physical import Physical
from eventide.runtime.effort import steps_text
from eventide.runtime.limit import limit_text


def program_tests(plan: Bound) -> list[tuple[str, str]]:
    """When each conjunct that relates events is tested, and its text."""
    parts, _, closing = split_conjuncts(plan)
    tested = [
        ("adjacent" if any(slot.is_next for slot in test.slots) else "bound", test.source.span) for test in parts.tests
    ]
    tested += [("closed", test.source.span) for test in closing]
    return [(when, " ".join(plan.query.text[span.start : span.end].split())) for when, span in tested]


def program_lines(plan: Bound) -> list[str]:
    """The automata, one line per position, then the tests."""
    parts, _, closing = split_conjuncts(plan)
    lines = make_program(plan, parts, closing).dump()
    return lines + [f"test when {when}: {text}" for when, text in program_tests(plan)]


def operator_lines(plan: Bound, physical: Physical) -> list[str]:
    """What runs, what it keeps, and what it may cost."""
    spec = physical.spec
    assert isinstance(spec, PatternSpec)
    program = spec.program
    lines = [
        f"pattern matcher, {len(program.positions)} positions, walking forward from each first event",
        f"per event   {len(physical.select)} columns from {len(physical.reads)}, computed by the SQL engine",
        f"between     tests that relate events: {'none' if spec.tests_source is None else 'compiled for this query'}",
    ]
    if spec.window_us is None:
        lines.append("memory      all relevant events: without WITHIN nothing can be forgotten")
    else:
        kept = write_length(Length(spec.kept_us))
        lines.append(
            f"memory      on a stream the relevant events of the last {kept}, on bounded input all relevant ones"
        )
    if program.waits:
        lines.append(f"decided     {_decided(spec)}")
        if spec.window_us is not None:
            lines.append(f"at the end  {at_the_end(plan.options.close_at_end)}")
    if program.conjunctions and not is_alone(program):
        lines.append("and         the pairs of matches of the sides that one window holds are held in memory")
    lines += _growth(plan, program)
    if not physical.intake.keep_all:
        lines.append("filter      events that no step wants are left out before anything else")
    return lines


def _decided(spec: PatternSpec) -> str:
    if spec.window_us is None:
        return "where NOT is last, only at the end of the input: without WITHIN it looks that far"
    return "where NOT is last, at the end of the window: detected_at is that end"


def _growth(plan: Bound, program: PatternProgram) -> list[str]:
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


def pattern_lines(plan: Bound) -> tuple[list[str], list[str]]:
    """What the pattern alone says, whatever the columns are: its automata, and whether it may have too many matches."""
    try:
        program = compile_pattern(plan.pattern, plan.strategy.name.lower())
    except TooLargeError as error:
        raise too_large(plan, error) from None
    return program.dump(), [] if plan.aggregates else _growth(plan, program)
