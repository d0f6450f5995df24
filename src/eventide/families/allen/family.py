"""What the engines may ask of related intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from eventide.errors import UnsupportedError
from eventide.families.allen.operator import AllenOperator, warm
from eventide.families.allen.spec import AllenSpec
from eventide.families.base import NO_SITUATIONS, Family
from eventide.families.registry import register
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator
from eventide.runtime.slicing import LookBack, Slicing

if TYPE_CHECKING:
    from eventide.families.allen.lower import Relating
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Join
    from eventide.plan.options import Options
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
        tree: Relating,
        options: Options,
        schema: tuple[pa.Schema, pa.Schema],
        *,
        on_stream: bool = False,
    ) -> Join:
        from eventide.families.allen.lower import bind_allen

        return bind_allen(tree, options, *schema, on_stream=on_stream)

    def lower(self, node: Join, engine: str) -> Physical:
        from eventide.families.allen.lower import lower_allen

        made = lower_allen(node)
        if node.left.is_stream:
            self.on_stream(made.spec)
        return made

    def explanation(self) -> Explanation:
        from eventide.families.allen.explain import AllenExplanation

        return AllenExplanation()

    def write(self, tree: Relating) -> str:
        return tree.text()

    def operator(self, spec: AllenSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return AllenOperator(spec, n_threads)

    def warm(self, spec: AllenSpec) -> None:
        warm(spec)

    def on_stream(self, spec: Any) -> Any:
        if spec.window_us is None:
            raise UnsupportedError(
                "a stream cannot relate intervals without within: every interval stays relevant for ever",
                hint='add within="1 hour"',
            )
        return spec

    def behind(self, pair: Physical, following: int, lag_us: int) -> Physical:
        from eventide.families.allen.following import behind

        return behind(pair, following, lag_us)

    def late_of(self, pair: Physical, schema: pa.Schema) -> Physical:
        from eventide.families.allen.late import late_intervals

        return late_intervals(pair, schema)

    def slicing(self, spec: AllenSpec) -> Slicing | str:
        """An interval comes with its end: a pair belongs to the part that holds the later end of the two."""
        if spec.window_us is None:
            return "without within, any two intervals may be related"
        # The operator shares left intervals out among threads itself.
        return LookBack(spec.window_us, on_threads=False)


register(Allen())
