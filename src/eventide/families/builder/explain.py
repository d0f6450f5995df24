"""What `explain` says of a builder pattern: the automaton, warnings and limits."""

from __future__ import annotations

from typing import Any

from eventide.families.builder.attempts import slicing_of
from eventide.families.builder.automaton import compile_pattern
from eventide.families.builder.growth import warnings_of
from eventide.families.builder.spec import DetectionSpec
from eventide.families.builder.syntax import EventPattern
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.ending import at_the_end
from eventide.plan.explain import STREAM, Explanation, Sections, cut_at_borders, per_event
from eventide.plan.logical import Detect
from eventide.plan.options import Options
from eventide.plan.physical import Physical, Planned
from eventide.runtime.effort import steps_text
from eventide.runtime.limit import limit_text


class BuilderExplanation(Explanation):
    """An attempt begins at every event."""

    def outline(self, tree: EventPattern, options: Options) -> Sections:
        """What a partial match may do with an event in each of its states; warnings, and the limits behind them."""
        program = compile_pattern(tree)
        warnings = [f"warning     {text}" for text in warnings_of(tree, program)]
        limits = limit_text(options.max_matches_per_partition), steps_text(options.max_steps_per_partition)
        growth = [*warnings, *(f"limit       {text}" for text in limits)] if warnings else []
        return {"Program": program.dump().splitlines(), "Operator": growth}

    def sections(self, planned: Planned, physical: Physical, learned: Any) -> Sections:
        node, spec = planned.node, physical.spec
        assert isinstance(node, Detect)
        assert isinstance(spec, DetectionSpec)
        tests = "none" if spec.holds_source is None else "compiled for this query"
        lines = [
            f"step matcher, {len(spec.program.states)} states, an attempt at each event",
            per_event(physical),
            f"between     tests that relate events: {tests}",
            "memory      on bounded input all events of a partition",
        ]
        if spec.is_timed:
            lines.append(f"at the end  {at_the_end(physical.closes_at_end)}")
        found = self.outline(node.tree, node.input.options)
        return {**found, "Operator": [*lines, *found["Operator"]]}

    def shared_out(self, spec: DetectionSpec, engine: str, keys: str) -> str | None:
        is_cut = not keys and engine != STREAM and not isinstance(slicing_of(spec), str)
        return cut_at_borders(engine) if is_cut else None

    def kept_on_stream(self, spec: DetectionSpec) -> list[str]:
        if spec.window_us is None:
            return ["keeps the events of partial matches that the time between events has not ended"]
        return [f"keeps the events of the last {write_length(Length(spec.window_us))}"]
