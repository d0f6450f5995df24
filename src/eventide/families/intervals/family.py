"""What the engines may ask of derived intervals."""

from __future__ import annotations

from dataclasses import replace

from eventide.families.base import Family
from eventide.families.registry import register
from eventide.operators.computed import Compute, cannot_compute
from eventide.operators.intervals.combine import IntervalCombiner
from eventide.operators.intervals.operator import IntervalOperator, warm
from eventide.operators.intervals.settling import why_not_settled
from eventide.operators.intervals.spec import END, RUNS, IntervalSpec
from eventide.operators.protocol import Combiner, Operator


class Intervals(Family):
    """Of each open interval a few values are kept, never its events."""

    name = "intervals"

    def operator(self, spec: IntervalSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return IntervalOperator(spec, n_threads)

    def warm(self, spec: IntervalSpec) -> None:
        warm(spec)

    def with_end(self, spec: IntervalSpec, end_us: int) -> IntervalSpec:
        return replace(spec, end_us=end_us)

    def lag(self, spec: IntervalSpec) -> tuple[str, int | None]:
        return END, lag_us(spec)

    def needs_events(self, spec: IntervalSpec) -> str | None:
        return "partitions are worked off apart" if spec.layout.partition else why_not_settled(spec)

    def combiner(self, spec: IntervalSpec) -> Combiner | None:
        return IntervalCombiner(spec) if self.needs_events(spec) is None else None


def lag_us(spec: IntervalSpec) -> int | None:
    """How long after its end an interval is decided at the latest; None where only the next event decides it."""
    if spec.kind != RUNS or spec.maximum == spec.minimum:
        return 0
    return spec.gap_us


register(Intervals())
