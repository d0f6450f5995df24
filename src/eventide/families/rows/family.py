"""What the engines may ask of MATCH_RECOGNIZE."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.families.base import NO_SITUATIONS, Family
from eventide.families.registry import register
from eventide.families.rows.attempts import next_rows, reach_of
from eventide.families.rows.operator import RowsOperator, warm
from eventide.families.rows.spec import RowsSpec
from eventide.runtime.borders import NextRows, Reach
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.limit import tighter
from eventide.runtime.protocol import Operator

if TYPE_CHECKING:
    from eventide.lang.rows.tree import RowQuery
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Recognize
    from eventide.plan.options import Options
    from eventide.plan.physical import Physical


class Rows(Family):
    """Where a match begins depends on the match before it."""

    name = "rows"
    what = "a row pattern"
    refusals = NO_SITUATIONS

    def bind(self, tree: RowQuery, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Recognize:
        from eventide.families.rows.bind import bind_rows

        return bind_rows(tree, options, schema, on_stream=on_stream)

    def lower(self, node: Recognize, engine: str) -> Physical:
        from eventide.families.rows.lower import lower_rows

        return lower_rows(node, engine)

    def text(self, tree: RowQuery) -> str:
        return tree.text

    def explanation(self) -> Explanation:
        from eventide.families.rows.explain import RowsExplanation

        return RowsExplanation()

    def write(self, tree: RowQuery) -> str:
        from eventide.lang.rows.write import write_clause

        return write_clause(tree)

    def operator(self, spec: RowsSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return RowsOperator(spec, n_threads, compute)

    def warm(self, spec: RowsSpec) -> None:
        warm(spec)

    def with_steps(self, spec: RowsSpec, max_steps: int) -> RowsSpec:
        return replace(spec, max_steps=tighter(spec.max_steps, max_steps))

    def reach(self, spec: RowsSpec) -> Reach | None:
        return reach_of(spec)

    def next_rows(self, spec: RowsSpec, block: pa.Table, until_us: int) -> NextRows | None:
        return next_rows(spec, block, until_us)


register(Rows())
