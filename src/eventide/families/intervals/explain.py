"""What `explain` says about derived intervals: what runs, what it keeps, and where."""

from __future__ import annotations

from typing import Any

from eventide.families.intervals.spec import RUNS, IntervalSpec
from eventide.families.registry import family_of
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.ending import at_the_end
from eventide.plan.explain import STREAM, Explanation, Sections, per_event
from eventide.plan.physical import Physical, Planned


class IntervalsExplanation(Explanation):
    """Of each open interval a few values are kept."""

    def sections(self, planned: Planned, physical: Physical, learned: Any) -> Sections:
        spec = physical.spec
        assert isinstance(spec, IntervalSpec)
        runs = spec.kind == RUNS
        compiled = f"compiled for {'this condition' if runs else 'these values'}"
        kept = f"its first and last event, {len(spec.extremes)} with extreme values, {sum(spec.sizes[:3])} numbers"
        lines = [
            f"{'runs of events' if runs else 'spans from a start to an end'}, one pass",
            per_event(physical),
            f"between     what relates an event to its interval: {compiled if spec.source else 'nothing'}",
            f"memory      of each open interval {kept}",
            f"decided     {_decided(spec)}",
        ]
        return {"Operator": [*lines, f"at the end  {at_the_end(physical.closes_at_end)}"] if runs else lines}

    def shared_out(self, spec: IntervalSpec, engine: str, keys: str) -> str | None:
        """How events without a partition are cut by time, or why they are not."""
        if keys or engine == STREAM:
            return None
        slicing = family_of(spec).slicing(spec)
        if isinstance(slicing, str):
            return f"one {'thread' if engine == 'local' else 'task'}: {slicing}"
        if engine == "local":
            return "stretches of time on all cores, cut behind events that end whatever is open"
        return (
            "slices of time in parallel tasks, cut behind events that end whatever is open; what is at their "
            "borders goes to one task; few events: one task"
        )

    def kept_on_stream(self, spec: IntervalSpec) -> list[str]:
        return ["keeps the open intervals, and the events before the watermark"]


def _decided(spec: IntervalSpec) -> str:
    if spec.kind != RUNS:
        return "with the event that ends it"
    gap = None if spec.gap_us is None else f"{write_length(Length(spec.gap_us))} after its last event"
    full = None if spec.maximum is None else f"with event {spec.maximum}"
    if spec.maximum is not None and spec.maximum == spec.minimum:
        return f"{full}"
    return ", or ".join(part for part in (full, "with the event that breaks it", gap) if part)
