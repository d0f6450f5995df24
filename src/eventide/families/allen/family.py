"""What the engines may ask of related intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from eventide.families.allen.operator import AllenOperator, warm
from eventide.families.allen.spec import AllenSpec
from eventide.families.base import NO_SITUATIONS, Family
from eventide.families.registry import register
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator

if TYPE_CHECKING:
    from eventide.families.allen.lower import Relating


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

    def write(self, tree: Relating) -> str:
        return tree.text()

    def operator(self, spec: AllenSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return AllenOperator(spec, n_threads)

    def warm(self, spec: AllenSpec) -> None:
        warm(spec)


register(Allen())
