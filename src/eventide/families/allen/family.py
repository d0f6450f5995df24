"""What the engines may ask of related intervals."""

from __future__ import annotations

from eventide.families.base import Family
from eventide.families.registry import register
from eventide.operators.allen.operator import AllenOperator, warm
from eventide.operators.allen.spec import AllenSpec
from eventide.operators.computed import Compute, cannot_compute
from eventide.operators.protocol import Operator


class Allen(Family):
    """Two tables of intervals come as one input, told apart by a bit of the mask."""

    name = "allen"

    def operator(self, spec: AllenSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return AllenOperator(spec, n_threads)

    def warm(self, spec: AllenSpec) -> None:
        warm(spec)


register(Allen())
