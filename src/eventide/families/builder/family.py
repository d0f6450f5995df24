"""What the engines may ask of builder patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.errors import UnsupportedError
from eventide.families.base import NO_SITUATIONS, Family
from eventide.families.builder.attempts import slicing_of
from eventide.families.builder.operator import DetectionOperator, warm
from eventide.families.builder.spec import DetectionSpec
from eventide.families.registry import register
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator
from eventide.runtime.slicing import Slicing

if TYPE_CHECKING:
    from eventide.families.builder.beginnings import StepBeginnings
    from eventide.families.builder.syntax import EventPattern
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Detect
    from eventide.plan.options import Options
    from eventide.plan.physical import Physical


class Builder(Family):
    """An attempt begins at every event; a skip strategy says which attempts count."""

    name = "builder"
    what = "a builder pattern"
    refusals = NO_SITUATIONS

    def bind(self, tree: EventPattern, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Detect:
        from eventide.families.builder.lower import bind_pattern

        return bind_pattern(tree, options, schema, on_stream=on_stream)

    def lower(self, node: Detect, engine: str) -> Physical:
        from eventide.families.builder.lower import lower_pattern

        made = lower_pattern(node, engine)
        if node.input.is_stream:
            self.on_stream(made.spec)
        return made

    def explanation(self) -> Explanation:
        from eventide.families.builder.explain import BuilderExplanation

        return BuilderExplanation()

    def write(self, tree: EventPattern) -> str:
        from eventide.families.builder.write import write_pattern

        return write_pattern(tree)

    def beginnings(self, tree: EventPattern, options: Options, schema: pa.Schema) -> StepBeginnings:
        from eventide.families.builder.beginnings import StepBeginnings

        return StepBeginnings(tree, options, schema)

    def operator(self, spec: DetectionSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return DetectionOperator(spec, n_threads)

    def warm(self, spec: DetectionSpec) -> None:
        warm(spec)

    def on_stream(self, spec: Any) -> Any:
        if not spec.is_timed:
            raise UnsupportedError(
                "a stream cannot run this pattern: a partial match may wait for ever, so every event stays",
                hint="add .within('1 hour') to the pattern; or pass state_ttl='1 day': no match is longer then",
            )
        return spec

    def slicing(self, spec: DetectionSpec) -> Slicing | str:
        return slicing_of(spec)


register(Builder())
