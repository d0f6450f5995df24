"""What the engines may ask of late events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.families.base import Family
from eventide.families.late.operator import LateOperator, LateSpec
from eventide.families.registry import register
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator

if TYPE_CHECKING:
    from eventide.plan.physical import Physical


class Late(Family):
    """What others drop is the result here."""

    name = "late"
    drops_late = False

    def prepare(
        self, tree: Physical, options: None, schema: pa.Schema, *, engine: str = "spark", on_stream: bool = True
    ) -> Physical:
        """The late events of a plan's input; the plan stands for a query."""
        from eventide.families.late.lower import late_events

        return late_events(tree, schema)

    def operator(self, spec: LateSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return LateOperator(spec)


register(Late())
