"""What the engines may ask of aggregates over trends."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from eventide.errors import UnsupportedError
from eventide.families.base import WITHIN_OR_TTL, Family, refuse_unbounded
from eventide.families.registry import register
from eventide.families.trends.operator import TrendOperator, warm
from eventide.families.trends.slices import slice_tables, slicer_over
from eventide.families.trends.spec import TrendSpec
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator
from eventide.runtime.slicing import Combined, Slicing

if TYPE_CHECKING:
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Match
    from eventide.plan.physical import Physical


class Trends(Family):
    """A slice of time becomes a matrix; matrices are multiplied."""

    name = "trends"
    is_grouped = True

    def lower(self, node: Match, engine: str) -> Physical:
        from eventide.families.trends.lower import lower_trends

        return lower_trends(node, engine)

    def explanation(self) -> Explanation:
        from eventide.families.trends.explain import TrendsExplanation

        return TrendsExplanation()

    def operator(self, spec: TrendSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return TrendOperator(spec, n_threads)

    def warm(self, spec: TrendSpec) -> None:
        warm(spec)

    def with_limit(self, spec: TrendSpec, max_matches: int) -> TrendSpec:
        """As it is: there is a row for each window, however many matches it is about."""
        return spec

    def on_stream(self, spec: TrendSpec) -> TrendSpec:
        if spec.count_windows is not None and not spec.fills_positions:
            raise UnsupportedError(
                "a stream cannot add up windows that count events: the partitions of a group fill them at any time",
                hint="return the partition columns, or use windows of time, such as WITHIN 1 hour SLIDE 10 minutes",
            )
        if spec.window_us is None and spec.count_windows is None:
            raise refuse_unbounded("event", WITHIN_OR_TTL)
        # An error would stop the stream for good.
        return replace(spec, on_overflow=spec.on_overflow or "null")

    def slicing(self, spec: TrendSpec) -> Slicing | str:
        tables = slice_tables(spec)
        return tables if isinstance(tables, str) else Combined(partial(slicer_over, spec, tables), "multiplied")

    def kept_of_hot_key(self, spec: TrendSpec) -> str:
        slicing = self.slicing(spec)
        if isinstance(slicing, str):
            return f"it is not sliced: {slicing}"
        return "matrices stand for slices of its events that the watermark has passed"


register(Trends())
