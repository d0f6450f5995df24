"""What `explain` says about queries of windows: how windows are put together, what is kept, and the cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eventide.families.windows.single_events import WHY
from eventide.families.windows.spec import ALL, COUNT, GROWING, SESSION, Windows, WindowSpec
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.explain import Explanation, Sections, per_event
from eventide.plan.logical import Trends
from eventide.plan.physical import Physical, Planned


class WindowsExplanation(Explanation):
    """Panes are aggregated where events are read."""

    def sections(self, planned: Planned, physical: Physical, learned: Any) -> Sections:
        spec = physical.spec
        assert isinstance(spec, WindowSpec)
        has_lists = any(measure.is_list for measure in spec.measures)
        lines = [f"windowed aggregation, {len(spec.measures)} aggregates", per_event(physical)]
        lines += _lines(spec.windows, has_lists)
        if spec.has_empty:
            lines.append("empty       windows without events, too, between two of a group that have some")
        if has_lists:
            lines.append("lists       all values of a window, of which DuckDB makes the aggregates that need them")
        if spec.every_us:
            every = write_length(Length(spec.every_us))
            lines.append(f"early       open windows with new events every {every} of event time, while input comes")
        if isinstance(planned.node, Trends):
            lines.append(f"instead     of the operator of trends: {WHY}")
        elif planned.node.tree.where is not None:  # type: ignore[attr-defined]
            lines.append("filter      events that WHERE leaves out are left out before anything else")
        return {"Operator": lines}

    def shared_out(self, spec: WindowSpec, engine: str, keys: str) -> str | None:
        if spec.windows.kind != COUNT or keys or engine == "local":
            return None
        one = "one task" if engine == "spark" else "one bucket"
        return f"{one}, because there is no GROUP BY, and an event has its position among all events"

    def kept_on_stream(self, spec: WindowSpec) -> list[str]:
        if spec.windows.kind == COUNT:
            return [f"keeps the last {spec.windows.size:,} events of every group, and its number of events"]
        if spec.has_empty:
            return [*self.kept_on_stream(replace(spec, has_empty=False)), "keeps the last window of every group"]
        what = "all values for lists" if any(measure.is_list for measure in spec.measures) else "the aggregates"
        if spec.windows.kind == SESSION:
            return [f"keeps {what} of every session that is open"]
        return [f"keeps {what} of every pane of the windows that are open, and no event"]


def _lines(windows: Windows, has_lists: bool) -> list[str]:
    kept = "the values that lists hold" if has_lists else "an aggregate"
    if windows.kind == ALL:
        return ["windows     none: one result a group", f"memory      {kept} for each group"]
    if windows.kind == SESSION:
        gap = write_length(Length(windows.size))
        return [f"windows     sessions, ended by {gap} without an event", f"memory      {kept} for each session"]
    if windows.kind == COUNT:
        return [
            f"windows     of {windows.size:,} events, each slide of {windows.slide:,}: two stacks over the events",
            "memory      the events of the windows that are open",
        ]
    if windows.kind == GROWING:
        how = f"grow by {write_length(Length(windows.slide))}, each from the one before"
    elif windows.size == windows.slide:
        how = "one after the other, a pane each"
    else:
        n = -(-windows.size // windows.slide)
        panes = "one pane" if windows.panes_per_slide == 1 else "two panes"
        how = f"{n:,} overlap; {panes} for each slide, put together by two stacks"
    return [f"windows     {how}", f"memory      {kept} for each group and pane, no event"]
