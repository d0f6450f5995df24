"""What the engines may ask of situation queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from eventide.families.base import Family, refuse_unbounded
from eventide.families.registry import register
from eventide.families.situations.combine import SituationCombiner
from eventide.families.situations.operator import SituationOperator
from eventide.families.situations.program import Program
from eventide.families.situations.spec import SituationSpec
from eventide.families.situations.stretches import Stretch, count_stretches, stretches
from eventide.families.situations.warm import warm
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Combiner, Operator

if TYPE_CHECKING:
    from eventide.lang.tree import SituationQuery
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Situations as Bound
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
    has_stretches = True
    is_grouped = True

    def bind(self, tree: SituationQuery, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Bound:
        from eventide.families.situations.bind import bind_situations

        return bind_situations(tree, options, schema, on_stream=on_stream)

    def lower(self, node: Bound, engine: str) -> Physical:
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

    def needs_events(self, spec: SituationSpec) -> None:
        return None

    def combiner(self, spec: SituationSpec) -> Combiner:
        return SituationCombiner(spec)

    def count_stretches(self, spec: SituationSpec, n_events: int, n_slices: int, length_us: int) -> int:
        return count_stretches(spec, n_events, n_slices, length_us)

    def stretches(self, bounds: Sequence[int]) -> Sequence[Stretch]:
        return stretches(bounds)

    def kept_of_hot_key(self, spec: SituationSpec) -> str:
        return "it keeps situations, never their events"


register(Situations())
