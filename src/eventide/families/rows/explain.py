"""What `explain` says about MATCH_RECOGNIZE: its program, and what each label needs."""

from __future__ import annotations

from typing import Any

from eventide.families.rows.attempts import why_whole
from eventide.families.rows.spec import RowsSpec
from eventide.families.rows.streams import kept_lines, problems
from eventide.plan.explain import STREAM, Explanation, Sections, cut_at_borders, per_event
from eventide.plan.physical import Physical, Planned
from eventide.runtime.effort import steps_text


class RowsExplanation(Explanation):
    """Where a match begins depends on the match before it."""

    def sections(self, planned: Planned, physical: Physical, learned: Any) -> Sections:
        spec = physical.spec
        assert isinstance(spec, RowsSpec)
        operator = ["row matcher, walking forward from each row where a match may begin", per_event(physical)]
        operator.append("memory      on bounded input all rows of a partition")
        if any(spec.depends_on_path):
            operator += [
                "warning     a condition depends on the labels before it: what failed once may hold another time, so "
                "it is tried again, and nested quantifiers may take exponential time; WITHIN bounds it",
                f"limit       {steps_text(spec.max_steps)}",
            ]
        return {"Program": spec.program.dump().splitlines(), "Conditions": _conditions(spec), "Operator": operator}

    def shared_out(self, spec: RowsSpec, engine: str, keys: str) -> str | None:
        """How rows without a partition column are cut by time, or why they are not."""
        if keys or engine == STREAM:
            return None
        whole = why_whole(spec)
        if whole is None:
            return cut_at_borders(engine)
        return f"one {'thread' if engine == 'local' else 'task'}: there is no partition column, and {whole}"

    def stream_problems(self, physical: Physical) -> list[str]:
        assert isinstance(physical.spec, RowsSpec)
        order = [] if physical.stream_refusal is None else [physical.stream_refusal]
        return [*order, *(f"{message}; {hint}" for message, hint in problems(physical.spec))]

    def kept_on_stream(self, spec: RowsSpec) -> list[str]:
        return kept_lines(spec)


def _conditions(spec: RowsSpec) -> list[str]:
    lines = []
    for i, label in enumerate(spec.program.labels):
        parts = []
        if spec.bits[i] >= 0:
            parts.append("the SQL engine decides what its row alone tells")
        if spec.nears[i] >= 0:
            parts.append("compiled code looks once at each row and its neighbours")
        if any(item.label == i for item in spec.interpreted):
            parts.append("DuckDB evaluates it for each row that is tried: about a millisecond each")
        elif spec.tested[i]:
            parts.append("compiled code looks at other rows of the match")
        lines.append(f"{label}: {'; '.join(parts) or 'any row'}")
    return lines
