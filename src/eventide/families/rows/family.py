"""What the engines may ask of MATCH_RECOGNIZE."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.families.base import NO_SITUATIONS, Family
from eventide.families.registry import register
from eventide.families.rows.attempts import slicing_of
from eventide.families.rows.operator import RowsOperator, warm
from eventide.families.rows.spec import RowsSpec
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator
from eventide.runtime.slicing import Slicing

if TYPE_CHECKING:
    from eventide.families.rows.beginnings import RowBeginnings
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

    def beginnings(self, tree: RowQuery, options: Options, schema: pa.Schema) -> RowBeginnings:
        from eventide.families.rows.beginnings import RowBeginnings

        return RowBeginnings(tree, options, schema)

    def operator(self, spec: RowsSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return RowsOperator(spec, n_threads, compute)

    def warm(self, spec: RowsSpec) -> None:
        warm(spec)

    def slicing(self, spec: RowsSpec) -> Slicing | str:
        return slicing_of(spec)


register(Rows())
