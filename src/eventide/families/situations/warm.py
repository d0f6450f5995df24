"""Kernels of situations compiled before work fans out."""

from __future__ import annotations

import pyarrow as pa

from eventide.families.situations.combine import SituationCombiner
from eventide.families.situations.operator import SituationOperator, column_type
from eventide.families.situations.spec import SituationSpec
from eventide.runtime.block import MASK, TS


def warm(spec: SituationSpec) -> None:
    """Compile the kernels into the cache, so that workers that share it only load them."""
    columns = {name: pa.nulls(2, column_type(name, spec)) for name in spec.layout.columns}
    block = pa.table(columns | {TS: pa.array([0, 1]), MASK: pa.array([0, 0])})
    operator = SituationOperator(spec)
    for results in (operator.process(block, 0), operator.finish()):
        assert not list(results), "no condition holds"
    SituationCombiner(spec).combine(block)
