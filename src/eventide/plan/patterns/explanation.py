"""What `explain` says about an event pattern: its program, its operator, and whether it may have too many matches."""

from __future__ import annotations

from eventide.lang.durations import write_length
from eventide.lang.tree import And, Length, Not, Or, Pattern, Repeat, Seq, Step, Strategy
from eventide.operators.patterns.spec import PatternSpec
from eventide.plan.bound import Bound
from eventide.plan.patterns.lower import make_program, split_conjuncts
from eventide.plan.physical import Physical


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
    if program.conjunctions:
        lines.append("and         all pairs of matches of the sides in one window are held in memory")
    if plan.strategy is Strategy.ANY and is_unbounded(plan.pattern):
        lines += _growth(spec)
    if not physical.intake.keep_all:
        lines.append("filter      events that no step wants are left out before anything else")
    return lines


def is_unbounded(pattern: Pattern) -> bool:
    """Whether a match may have any number of events."""
    match pattern:
        case Step() | Not():
            return False
        case Repeat():
            return pattern.maximum is None or is_unbounded(pattern.part)
        case Seq() | And() | Or():
            return any(map(is_unbounded, pattern.parts))


def _decided(spec: PatternSpec) -> str:
    if spec.window_us is None:
        return "where NOT stands last, only at the end of the input: without WITHIN it looks that far"
    return "where NOT stands last, at the end of the window: detected_at is that end"


def _growth(spec: PatternSpec) -> list[str]:
    text = "results     under skip-till-any a repetition of n events has up to 2^n matches"
    if spec.window_us is not None:
        return [f"{text}; WITHIN bounds n"]
    return [f"{text}", "warning     nothing bounds n: add WITHIN, or SEMANTICS next"]
