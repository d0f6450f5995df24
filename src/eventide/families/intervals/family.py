"""What the engines may ask of derived intervals."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.families.base import Family
from eventide.families.intervals.combine import IntervalCombiner
from eventide.families.intervals.operator import IntervalOperator, warm
from eventide.families.intervals.settling import why_not_settled
from eventide.families.intervals.spec import END, RUNS, IntervalSpec
from eventide.families.registry import register
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator
from eventide.runtime.slicing import Combined, Slicing

if TYPE_CHECKING:
    from eventide.families.intervals.lower import Deriving
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Intervals as Match
    from eventide.plan.options import Options
    from eventide.plan.physical import Physical


class Intervals(Family):
    """Of each open interval a few values are kept, never its events."""

    name = "intervals"
    what = "a derivation of intervals"

    def bind(self, tree: Deriving, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Match:
        from eventide.families.intervals.lower import bind_intervals

        return bind_intervals(tree, options, schema, on_stream=on_stream)

    def lower(self, node: Match, engine: str) -> Physical:
        from eventide.families.intervals.lower import lower_intervals

        return lower_intervals(node, engine)

    def text(self, tree: Deriving) -> str:
        return tree.first

    def explanation(self) -> Explanation:
        from eventide.families.intervals.explain import IntervalsExplanation

        return IntervalsExplanation()

    def write(self, tree: Deriving) -> str:
        return tree.text()

    def operator(self, spec: IntervalSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return IntervalOperator(spec, n_threads)

    def warm(self, spec: IntervalSpec) -> None:
        warm(spec)

    def lag(self, spec: IntervalSpec) -> tuple[str, int | None]:
        return END, lag_us(spec)

    def slicing(self, spec: IntervalSpec) -> Slicing | str:
        why_not = "partitions are worked off apart" if spec.layout.partition else why_not_settled(spec)
        return Combined(partial(IntervalCombiner, spec), "put together") if why_not is None else why_not


def lag_us(spec: IntervalSpec) -> int | None:
    """How long after its end an interval is decided at the latest; None where only the next event decides it."""
    if spec.kind != RUNS or spec.maximum == spec.minimum:
        return 0
    return spec.gap_us


register(Intervals())
