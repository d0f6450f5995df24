"""What `explain` says about related intervals."""

from __future__ import annotations

from typing import Any

from eventide.families.allen.spec import AllenSpec
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.explain import STREAM, Explanation, Sections
from eventide.plan.physical import Physical, Planned


class AllenExplanation(Explanation):
    """Both tables are one input, told apart by a bit."""

    def sections(self, planned: Planned, physical: Physical, learned: Any) -> Sections:
        lines = [
            "pairs of intervals, by ranges of an index over the right side",
            "memory      on bounded input all intervals",
            "decided     when the watermark has passed the later end of the two",
        ]
        return {"Operator": lines}

    def shared_out(self, spec: AllenSpec, engine: str, keys: str) -> str | None:
        if engine == "local":
            return "left intervals on all cores, in equal shares"
        if keys or engine == STREAM:
            return None
        if spec.window_us is None:
            return "one task, because there is neither a partition nor a within"
        return "many intervals are cut by time for tasks, each with a window of the slice before; few: one task"

    def kept_on_stream(self, spec: AllenSpec) -> list[str]:
        assert spec.window_us is not None
        return [f"keeps the intervals of the last {write_length(Length(spec.window_us))}"]
