"""What the engines may ask of situation queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from eventide.families.base import Family, refuse_unbounded
from eventide.families.registry import register
from eventide.families.situations.operator import SituationOperator
from eventide.families.situations.program import Program
from eventide.families.situations.spec import SituationSpec
from eventide.families.situations.stretches import Stretches
from eventide.families.situations.warm import warm
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator
from eventide.runtime.slicing import Slicing

if TYPE_CHECKING:
    from eventide.lang.tree import SituationQuery
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Situations as Match
    from eventide.plan.options import Options
    from eventide.plan.physical import Physical


class Situations(Family):
    """Situations are derived in slices of time, and matched by key or in stretches of time."""

    name = "situations"
    what = "a situation query"
    refusals: ClassVar = {
        "diagnose": (
            "diagnose is for event patterns",
            "look at the situations themselves: q.situations(events), or ev.timeline(...)",
        ),
    }
    is_grouped = True

    def bind(self, tree: SituationQuery, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Match:
        from eventide.families.situations.bind import bind_situations

        return bind_situations(tree, options, schema, on_stream=on_stream)

    def lower(self, node: Match, engine: str) -> Physical:
        from eventide.families.situations.lower import lower_situations

        return lower_situations(node, engine)

    def text(self, tree: SituationQuery) -> str:
        return tree.text

    def explanation(self) -> Explanation:
        from eventide.families.situations.explain import SituationsExplanation

        return SituationsExplanation()

    def write(self, tree: SituationQuery) -> str:
        from eventide.lang.write import write

        return write(tree)

    def operator(self, spec: SituationSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return SituationOperator(spec, n_threads)

    def warm(self, spec: SituationSpec) -> None:
        warm(spec)

    def learned(self, operator: SituationOperator) -> Program:
        return operator.program

    def set_threads(self, operator: SituationOperator, n_threads: int) -> None:
        operator.n_threads = n_threads

    def on_stream(self, spec: SituationSpec) -> SituationSpec:
        if spec.window_us is None:
            raise refuse_unbounded("situation", "add a WITHIN clause, such as WITHIN 1 hour")
        return spec

    def listed(self, spec: SituationSpec, block: pa.Table) -> pa.Table:
        from eventide.families.situations.listing import situations_of

        return situations_of(block, spec)

    def slicing(self, spec: SituationSpec) -> Slicing:
        return Stretches(spec)

    def kept_of_hot_key(self, spec: SituationSpec) -> str:
        return "it keeps situations, never their events"


register(Situations())
