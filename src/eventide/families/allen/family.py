"""What the engines may ask of related intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from eventide.errors import UnsupportedError
from eventide.families.allen.operator import AllenOperator, warm
from eventide.families.allen.spec import AllenSpec
from eventide.families.base import NO_SITUATIONS, Family
from eventide.families.registry import register
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator

if TYPE_CHECKING:
    from eventide.families.allen.lower import AllenOptions
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Join
    from eventide.plan.physical import Physical


class Allen(Family):
    """Two tables of intervals come as one input, told apart by a bit of the mask."""

    name = "allen"
    what = "a relation of intervals"
    refusals: ClassVar = {
        **NO_SITUATIONS,
        "diagnose": (
            "diagnose looks for the step of a pattern that failed, and a pair of intervals has no steps",
            "look at both tables with ev.timeline(...)",
        ),
        "live": (
            "live input is one input, and this query relates two",
            "relate two streams on Spark: q.run(left=..., right=...)",
        ),
        "plan": ("this query has two inputs, and a plan for both", "q.explain(left=..., right=...) shows it"),
    }

    def bind(
        self,
        tree: AllenOptions,
        options: AllenOptions,
        schema: tuple[pa.Schema, pa.Schema],
        *,
        on_stream: bool = False,
    ) -> Join:
        from eventide.families.allen.lower import bind_allen

        return bind_allen(tree, *schema, on_stream=on_stream)

    def lower(self, node: Join, engine: str) -> Physical:
        from eventide.families.allen.lower import lower_allen

        return lower_allen(node).physical

    def explanation(self) -> Explanation:
        from eventide.families.allen.explain import AllenExplanation

        return AllenExplanation()

    def on_stream(self, spec: AllenSpec) -> AllenSpec:
        if spec.window_us is None:
            raise UnsupportedError(
                "a stream cannot relate intervals without within: every interval stays relevant for ever",
                hint='add within="1 hour"',
            )
        return spec

    def write(self, tree: AllenOptions) -> str:
        return tree.text()

    def operator(self, spec: AllenSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return AllenOperator(spec, n_threads)

    def warm(self, spec: AllenSpec) -> None:
        warm(spec)


register(Allen())
