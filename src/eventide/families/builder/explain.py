"""What `explain` says of a builder pattern: the automaton, warnings and limits."""

from __future__ import annotations

from eventide.families.base import Sections
from eventide.families.builder.automaton import compile_pattern
from eventide.families.builder.growth import warnings_of
from eventide.families.builder.spec import DetectionSpec
from eventide.families.builder.syntax import EventPattern
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.ending import at_the_end
from eventide.plan.physical import Physical
from eventide.runtime.effort import steps_text
from eventide.runtime.limit import limit_text


def outline(pattern: EventPattern, max_matches: int | None = None, max_steps: int | None = None) -> Sections:
    """What a partial match may do with an event in each of its states; warnings, and the limits behind them."""
    program = compile_pattern(pattern)
    warnings = [f"warning     {text}" for text in warnings_of(pattern, program)]
    limits = [f"limit       {text}" for text in (limit_text(max_matches), steps_text(max_steps))]
    return {"Program": program.dump().splitlines(), "Operator": [*warnings, *limits] if warnings else []}


def operator_lines(spec: DetectionSpec, physical: Physical) -> list[str]:
    """What runs, and what it keeps."""
    lines = [
        f"step matcher, {len(spec.program.states)} states, an attempt at each event",
        f"per event   {len(physical.select)} columns from {len(physical.reads)}, computed by the SQL engine",
        f"between     tests that relate events: {'none' if spec.holds_source is None else 'compiled for this query'}",
        "memory      on bounded input all events of a partition",
    ]
    return [*lines, f"at the end  {at_the_end(physical.closes_at_end)}"] if spec.is_timed else lines


def sections(pattern: EventPattern, spec: DetectionSpec, physical: Physical) -> Sections:
    """The program and the operator."""
    found = outline(pattern, spec.max_matches, spec.max_steps)
    return {**found, "Operator": [*operator_lines(spec, physical), *found["Operator"]]}


def kept_lines(spec: DetectionSpec) -> list[str]:
    """What a stream keeps of a pattern whose matches are bounded in time."""
    if spec.window_us is None:
        return ["keeps the events of partial matches that the time between events has not ended"]
    return [f"keeps the events of the last {write_length(Length(spec.window_us))}"]
