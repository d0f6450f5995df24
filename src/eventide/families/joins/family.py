"""What the engines may ask of joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from eventide.errors import UnsupportedError
from eventide.families.base import NO_SITUATIONS, Family
from eventide.families.joins.operator import JoinOperator, warm
from eventide.families.joins.spec import JoinSpec
from eventide.families.registry import register
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator
from eventide.runtime.slicing import LookBack, Slicing

if TYPE_CHECKING:
    from eventide.lang.tree import JoinQuery
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Join
    from eventide.plan.options import Options
    from eventide.plan.physical import Physical


class Joins(Family):
    """Two inputs come as one, told apart by a bit of the mask."""

    name = "joins"
    what = "a join"
    refusals: ClassVar = {
        **NO_SITUATIONS,
        "diagnose": (
            "diagnose looks for the step of a pattern that failed, and a join has no steps",
            "LEFT JOIN or ANTI JOIN returns the rows without a partner",
        ),
        "live": (
            "live input is one input, and this query joins two",
            "join two streams on Spark",
        ),
        "plan": ("this query has two inputs, and a plan for both", "q.explain(...) with both inputs shows it"),
    }

    def bind(
        self, tree: JoinQuery, options: Options, schema: tuple[pa.Schema, pa.Schema], *, on_stream: bool = False
    ) -> Join:
        from eventide.families.joins.bind import bind_join

        return bind_join(tree, options, *schema, on_stream=on_stream)

    def lower(self, node: Join, engine: str) -> Physical:
        from eventide.families.joins.lower import lower_join

        made = lower_join(node, engine)
        if node.left.is_stream:
            self.on_stream(made.spec)  # type: ignore[arg-type]
        return made

    def explanation(self) -> Explanation:
        from eventide.families.joins.explain import JoinExplanation

        return JoinExplanation()

    def text(self, tree: JoinQuery) -> str:
        return tree.text

    def write(self, tree: JoinQuery) -> str:
        from eventide.lang import write

        return write(tree)

    def operator(self, spec: JoinSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return JoinOperator(spec, n_threads)

    def warm(self, spec: JoinSpec) -> None:
        warm(spec)

    def on_stream(self, spec: JoinSpec) -> JoinSpec:
        if not spec.is_bounded:
            raise UnsupportedError(
                "a stream cannot join rows without WITHIN: every row stays relevant for ever",
                hint="add WITHIN 1 hour; of ev.join, within='1 hour'",
            )
        return spec

    def behind(self, pair: Physical, following: int, lag_us: int) -> Physical:
        from eventide.families.joins.late import behind

        return behind(pair, following, lag_us)

    def late_of(self, pair: Physical, schema: pa.Schema) -> Physical:
        from eventide.families.joins.late import late_rows

        return late_rows(pair, schema)

    def slicing(self, spec: JoinSpec) -> Slicing | str:
        """A result belongs to the part that holds the time at which it is decided."""
        if not spec.is_bounded:
            return "without WITHIN, any two rows may join"
        # The operator shares left rows out among threads itself.
        return LookBack(spec.keep_us, on_threads=False)


register(Joins())
