"""What the engines may ask of MATCH_RECOGNIZE."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.families.base import NO_SITUATIONS, Family, Sections
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
    from eventide.plan.logical import Recognize
    from eventide.plan.options import Options
    from eventide.plan.physical import Physical, Planned


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

    def sections(self, planned: Planned, learned: Any = None) -> Sections:
        from eventide.families.rows.explain import sections

        return sections(planned.ready().spec, planned.ready())  # type: ignore[arg-type]

    def shared_out(self, spec: RowsSpec, engine: str, keys: str) -> str | None:
        from eventide.families.rows.explain import shared_out

        return shared_out(spec, engine)

    def stream_problems(self, physical: Physical) -> list[str]:
        from eventide.families.rows.streams import problems

        order = [] if physical.stream_refusal is None else [physical.stream_refusal]
        return [*order, *(f"{message}; {hint}" for message, hint in problems(physical.spec))]  # type: ignore[arg-type]

    def kept_on_stream(self, planned: Planned) -> list[str]:
        from eventide.families.rows.streams import kept_lines

        return kept_lines(planned.ready().spec)  # type: ignore[arg-type]

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
