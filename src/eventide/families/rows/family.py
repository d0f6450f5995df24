"""What the engines may ask of MATCH_RECOGNIZE."""

from __future__ import annotations

import pyarrow as pa

from eventide.families.base import Family
from eventide.families.registry import register
from eventide.operators.borders import NextRows, Reach
from eventide.operators.computed import Compute, cannot_compute
from eventide.operators.protocol import Operator
from eventide.operators.rows.attempts import next_rows, reach_of
from eventide.operators.rows.operator import RowsOperator, warm
from eventide.operators.rows.spec import RowsSpec


class Rows(Family):
    """Where a match begins depends on the match before it."""

    name = "rows"

    def operator(self, spec: RowsSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return RowsOperator(spec, n_threads, compute)

    def warm(self, spec: RowsSpec) -> None:
        warm(spec)

    def reach(self, spec: RowsSpec) -> Reach | None:
        return reach_of(spec)

    def next_rows(self, spec: RowsSpec, block: pa.Table, until_us: int) -> NextRows | None:
        return next_rows(spec, block, until_us)


register(Rows())
