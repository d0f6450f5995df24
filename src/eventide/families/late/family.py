"""What the engines may ask of late events."""

from __future__ import annotations

from eventide.families.base import Family
from eventide.families.late.operator import LateOperator, LateSpec
from eventide.families.registry import register
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator


class Late(Family):
    """What others drop is the result here."""

    name = "late"
    drops_late = False

    def operator(self, spec: LateSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return LateOperator(spec)


register(Late())
