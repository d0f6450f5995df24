"""What the engines may ask of builder patterns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.families.base import NO_SITUATIONS, Choose, Family
from eventide.families.builder.attempts import next_rows, reach_of
from eventide.families.builder.operator import DetectionOperator, warm
from eventide.families.builder.spec import DetectionSpec
from eventide.families.registry import register
from eventide.runtime.borders import NextRows, Reach
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.limit import tighter
from eventide.runtime.protocol import Operator

if TYPE_CHECKING:
    from eventide.families.builder.beginnings import StepBeginnings
    from eventide.families.builder.lower import DetectionOptions
    from eventide.families.builder.syntax import EventPattern
    from eventide.plan.physical import Physical


class Builder(Family):
    """An attempt begins at every event; a skip strategy says which attempts count."""

    name = "builder"
    what = "a builder pattern"
    refusals = NO_SITUATIONS

    def prepare(
        self,
        tree: EventPattern,
        options: DetectionOptions,
        schema: pa.Schema,
        *,
        engine: str = "local",
        on_stream: bool = False,
    ) -> Physical:
        from eventide.families.builder.lower import check_stream, prepare_detection

        made = prepare_detection(tree, schema, options, engine=engine)
        if on_stream:
            check_stream(made)
        return made

    def explain(
        self,
        tree: EventPattern,
        options: DetectionOptions,
        schema: pa.Schema | None,
        *,
        engine: str,
        n_rows: int | None = None,
        learned: Any = None,
        choose: Choose | None = None,
    ) -> str:
        from eventide.families.builder.explain import explain_pattern

        made = None
        if schema is not None:
            made = self.prepare(tree, options, schema, engine=engine.split()[0], on_stream=engine == "spark stream")
        return explain_pattern(tree, made, engine, n_rows, options)

    def write(self, tree: EventPattern) -> str:
        from eventide.families.builder.write import write_pattern

        return write_pattern(tree)

    def beginnings(self, tree: EventPattern, options: DetectionOptions, schema: pa.Schema) -> StepBeginnings:
        from eventide.families.builder.beginnings import StepBeginnings

        return StepBeginnings(tree, options, schema)

    def operator(self, spec: DetectionSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return DetectionOperator(spec, n_threads)

    def warm(self, spec: DetectionSpec) -> None:
        warm(spec)

    def with_end(self, spec: DetectionSpec, end_us: int) -> DetectionSpec:
        return replace(spec, end_us=end_us)

    def with_steps(self, spec: DetectionSpec, max_steps: int) -> DetectionSpec:
        return replace(spec, max_steps=tighter(spec.max_steps, max_steps))

    def reach(self, spec: DetectionSpec) -> Reach | None:
        return reach_of(spec)

    def next_rows(self, spec: DetectionSpec, block: pa.Table, until_us: int) -> NextRows:
        return next_rows(spec, block, until_us)


register(Builder())
