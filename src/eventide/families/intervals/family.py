"""What the engines may ask of derived intervals."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.families.base import Choose, Family
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
    from eventide.plan.options import Options
    from eventide.plan.physical import Physical


class Intervals(Family):
    """Of each open interval a few values are kept, never its events."""

    name = "intervals"
    what = "a derivation of intervals"

    def prepare(
        self, tree: Deriving, options: Options, schema: pa.Schema, *, engine: str = "local", on_stream: bool = False
    ) -> Physical:
        """Rows of a stream say when they were decided; others, where they were asked to."""
        from eventide.families.intervals.lower import prepare_intervals

        detects = on_stream if tree.detects is None else tree.detects
        return prepare_intervals(tree, schema, options, engine=engine, detects=detects)

    def explain(
        self,
        tree: Deriving,
        options: Options,
        schema: pa.Schema | None,
        *,
        engine: str,
        n_rows: int | None = None,
        learned: Any = None,
        choose: Choose | None = None,
    ) -> str:
        from eventide.families.intervals.explain import explain_intervals

        made = None
        if schema is not None:
            made = self.prepare(tree, options, schema, engine=engine.split()[0], on_stream=engine == "spark stream")
        return explain_intervals(self.write(tree), made, engine)

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
