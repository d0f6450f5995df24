"""What the engines may ask of queries without PATTERN."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from eventide.families.base import NO_DIAGNOSIS, NO_SITUATIONS, Family, refuse_unbounded
from eventide.families.registry import family_named, register
from eventide.families.windows.counted import CountOperator
from eventide.families.windows.early import EarlyOperator
from eventide.families.windows.empty import EmptyOperator
from eventide.families.windows.operator import WindowOperator, partials_of
from eventide.families.windows.spec import ALL, COUNT, WindowSpec
from eventide.runtime.combining import Combining
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator

if TYPE_CHECKING:
    from eventide.lang.tree import WindowQuery
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Match
    from eventide.plan.options import Options
    from eventide.plan.physical import Physical


class WindowQueries(Family):
    """Events become panes where they are read; a filter is a pattern of one event."""

    name = "windows"
    what = "a query of windows"
    refusals: ClassVar = {**NO_SITUATIONS, **NO_DIAGNOSIS}
    is_grouped = True

    def bind(self, tree: WindowQuery, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Match:
        from eventide.families.windows.bind import bind_windows

        return bind_windows(tree, options, schema, on_stream=on_stream)

    def lower(self, node: Match, engine: str) -> Physical:
        from eventide.families.windows.lower import lower_windows
        from eventide.plan.logical import Window

        if isinstance(node, Window):
            return lower_windows(node, engine)
        return family_named("events").lower(node, engine)

    def text(self, tree: WindowQuery) -> str:
        return tree.text

    def explanation(self) -> Explanation:
        from eventide.families.windows.explain import WindowsExplanation

        return WindowsExplanation()

    def write(self, tree: WindowQuery) -> str:
        from eventide.lang.write import write

        return write(tree)

    def operator(self, spec: WindowSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        if spec.windows.kind == COUNT:
            return CountOperator(spec, n_threads)
        plain = EmptyOperator if spec.has_empty else WindowOperator
        return (EarlyOperator if spec.every_us else plain)(spec, n_threads)

    def follows_time(self, spec: WindowSpec) -> bool:
        return spec.is_early

    def with_origin(self, spec: WindowSpec, origin_us: int) -> WindowSpec:
        return replace(spec, windows=replace(spec.windows, origin=origin_us))

    def with_limit(self, spec: WindowSpec, max_matches: int) -> WindowSpec:
        """As it is: there is a row for each window, however many events it has."""
        return spec

    def on_stream(self, spec: WindowSpec) -> WindowSpec:
        if spec.windows.kind == ALL:
            raise refuse_unbounded("group", "add windows: WITHIN 1 hour, or SESSION 30 seconds")
        return spec

    def combining(self, spec: WindowSpec) -> Combining | None:
        if spec.windows.kind == COUNT:
            return None
        return Combining("partial aggregates", lambda block: partials_of(spec, block))

    def slicing(self, spec: WindowSpec) -> str:
        if spec.windows.kind == COUNT:
            return "an event has its position among all events of its group"
        return "what is read is aggregated at once, and events are sent on only where aggregates are no smaller"

    def kept_of_hot_key(self, spec: WindowSpec) -> str:
        if spec.windows.kind == COUNT:
            return f"it is not sliced, because {self.slicing(spec)}"
        return "its state is an aggregate for each pane, however many events it has"


register(WindowQueries())
