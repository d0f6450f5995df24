"""What `explain` says about queries of windows: how windows are put together, what is kept, and the cost."""

from __future__ import annotations

from typing import Any

from eventide.families.windows.spec import ALL, COUNT, GROWING, SESSION, Windows, WindowSpec
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.explain import Explanation, Sections, per_event
from eventide.plan.physical import Physical, Planned


class WindowsExplanation(Explanation):
    """Panes are aggregated where events are read."""

    def sections(self, planned: Planned, physical: Physical, learned: Any) -> Sections:
        spec = physical.spec
        assert isinstance(spec, WindowSpec)
        lines = [f"windowed aggregation, {len(spec.measures)} aggregates", per_event(physical), *_lines(spec.windows)]
        if spec.every_us:
            every = write_length(Length(spec.every_us))
            lines.append(f"early       open windows with new events every {every} of event time, while input comes")
        if planned.node.tree.where is not None:  # type: ignore[attr-defined]
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
        if spec.windows.kind == SESSION:
            return ["keeps the aggregates of every session that is open"]
        return ["keeps the aggregates of every pane of the windows that are open, and no event"]


def _lines(windows: Windows) -> list[str]:
    if windows.kind == ALL:
        return ["windows     none: one result a group", "memory      an aggregate for each group"]
    if windows.kind == SESSION:
        gap = write_length(Length(windows.size))
        return [f"windows     sessions, ended by {gap} without an event", "memory      an aggregate for each session"]
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
    return [f"windows     {how}", "memory      an aggregate for each group and pane, no event"]
