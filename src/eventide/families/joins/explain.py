"""What `explain` says about joins."""

from __future__ import annotations

from typing import Any

from eventide.families.joins.spec import JoinSpec
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.ending import at_the_end
from eventide.plan.explain import STREAM, Explanation, Sections
from eventide.plan.physical import Physical, Planned

_WHAT = {
    None: "two cursors over both sides in the order of time",
    "backward": "the latest right row at or before each left one, by a cursor over the right side",
    "forward": "the earliest right row at or after each left one, by a cursor over the right side",
    "nearest": "the nearest right row before or after each left one",
}


class JoinExplanation(Explanation):
    """Both inputs are one, told apart by a bit."""

    def sections(self, planned: Planned, physical: Physical, learned: Any) -> Sections:
        spec: JoinSpec = physical.spec  # type: ignore[assignment]
        lines = [
            _WHAT[spec.asof],
            f"per row     {len(physical.select)} columns, computed by the SQL engine",
            f"compiled    {len(spec.encodings)} values of single rows, compared in pairs" if spec.encodings else "",
            "memory      on bounded input the rows of both sides that a condition on one row keeps",
            f"at the end  {at_the_end(physical.closes_at_end)}" if spec.waits and spec.is_bounded else "",
        ]
        return {"Operator": [line for line in lines if line]}

    def shared_out(self, spec: JoinSpec, engine: str, keys: str) -> str | None:
        if engine == "local":
            return "left rows on all cores, in equal shares"
        if keys or engine == STREAM:
            return None
        if not spec.is_bounded:
            return "one task, because there is neither an equality in ON nor a WITHIN"
        return "many rows are cut by time for tasks, each with a window of the slice before; few: one task"

    def kept_on_stream(self, spec: JoinSpec) -> list[str]:
        # A window's last microsecond is outside.
        kept = [f"keeps the rows of the last {write_length(Length(-(-max(spec.keep_us, 1) // 1000) * 1000))}"]
        if spec.waits and spec.wait_us:
            kept.append(f"a left row without a partner comes {write_length(Length(spec.wait_us))} after its time")
        return kept
