"""What `explain` says about MATCH_RECOGNIZE: its program, and what each label needs."""

from __future__ import annotations

from eventide.families.base import Sections, cut_at_borders
from eventide.families.rows.attempts import why_whole
from eventide.families.rows.spec import RowsSpec
from eventide.plan.physical import Physical
from eventide.runtime.effort import steps_text


def sections(spec: RowsSpec, physical: Physical) -> Sections:
    """The program, how each label is tested, and what that takes."""
    per_row = f"per row     {len(physical.select)} columns from {len(physical.reads)}, computed by the SQL engine"
    operator = ["row matcher, walking forward from each row where a match may begin", per_row]
    operator.append("memory      on bounded input all rows of a partition")
    if any(spec.depends_on_path):
        operator += [
            "warning     a condition depends on the labels before it: what failed once may hold another time, so it "
            "is tried again, and nested quantifiers may take exponential time; WITHIN bounds it",
            f"limit       {steps_text(spec.max_steps)}",
        ]
    return {"Program": spec.program.dump().splitlines(), "Conditions": _conditions(spec), "Operator": operator}


def shared_out(spec: RowsSpec, engine: str) -> str | None:
    """How rows without a partition column are cut by time, or why they are not."""
    if spec.layout.partition or engine == "spark stream":
        return None
    whole = why_whole(spec)
    if whole is not None:
        return f"one {'thread' if engine == 'local' else 'task'}: there is no partition column, and {whole}"
    return cut_at_borders(engine)


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
