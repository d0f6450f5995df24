"""What the engines may ask of builder patterns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.errors import UnsupportedError
from eventide.families.base import NO_SITUATIONS, Family
from eventide.families.builder.attempts import next_rows, reach_of
from eventide.families.builder.operator import DetectionOperator, warm
from eventide.families.builder.spec import DetectionSpec
from eventide.families.registry import register
from eventide.runtime.borders import NextRows, Reach
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.limit import tighter
from eventide.runtime.protocol import Operator

if TYPE_CHECKING:
    from eventide.families.builder.lower import DetectionOptions
    from eventide.families.builder.syntax import EventPattern
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Detect
    from eventide.plan.physical import Physical


class Builder(Family):
    """An attempt begins at every event; a skip strategy says which attempts count."""

    name = "builder"
    what = "a builder pattern"
    refusals = NO_SITUATIONS

    def bind(
        self, tree: EventPattern, options: DetectionOptions, schema: pa.Schema, *, on_stream: bool = False
    ) -> Detect:
        from eventide.families.builder.lower import bind_pattern

        return bind_pattern(tree, options, schema, on_stream=on_stream)

    def lower(self, node: Detect, engine: str) -> Physical:
        from eventide.families.builder.lower import lower_pattern

        made = lower_pattern(node, engine)
        if node.input.is_stream:
            self.on_stream(made.spec)  # type: ignore[arg-type]
        return made

    def explanation(self) -> Explanation:
        from eventide.families.builder.explain import BuilderExplanation

        return BuilderExplanation()

    def write(self, tree: EventPattern) -> str:
        from eventide.families.builder.write import write_pattern

        return write_pattern(tree)

    def operator(self, spec: DetectionSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return DetectionOperator(spec, n_threads)

    def warm(self, spec: DetectionSpec) -> None:
        warm(spec)

    def with_end(self, spec: DetectionSpec, end_us: int) -> DetectionSpec:
        return replace(spec, end_us=end_us)

    def with_steps(self, spec: DetectionSpec, max_steps: int) -> DetectionSpec:
        return replace(spec, max_steps=tighter(spec.max_steps, max_steps))

    def on_stream(self, spec: DetectionSpec) -> DetectionSpec:
        if not spec.is_timed:
            raise UnsupportedError(
                "a stream cannot run this pattern: a partial match may wait for ever, so every event stays",
                hint="add .within('1 hour') to the pattern; or pass state_ttl='1 day': no match is longer then",
            )
        return spec

    def reach(self, spec: DetectionSpec) -> Reach | None:
        return reach_of(spec)

    def next_rows(self, spec: DetectionSpec, block: pa.Table, until_us: int) -> NextRows:
        return next_rows(spec, block, until_us)


register(Builder())
