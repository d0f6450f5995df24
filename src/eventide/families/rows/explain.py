"""What a MATCH_RECOGNIZE does, as text: the clause as understood, its program, and what each label needs."""

from __future__ import annotations

from eventide.families.rows.attempts import why_whole
from eventide.families.rows.spec import RowsSpec
from eventide.families.rows.streams import memory_lines
from eventide.lang.rows.tree import RowQuery
from eventide.lang.rows.write import write_clause
from eventide.plan.physical import Physical
from eventide.plan.skew import hot_key_lines
from eventide.runtime.effort import steps_text


def explain_rows(query: RowQuery, physical: Physical | None, *, on_stream: bool = False) -> str:
    """The text; of a stream also how it is shared out. Without a plan, what the clause alone tells."""
    if physical is None:
        needs = "needs the rows' columns: pass the rows to explain"
        return f"Clause\n{_indented(write_clause(query))}\n\nPlan\n  {needs}"
    spec = physical.spec
    assert isinstance(spec, RowsSpec)
    sections = {
        "Clause": write_clause(query),
        "Program": spec.program.dump(),
        "Conditions": _conditions(spec),
        "On a stream it keeps": "\n".join(memory_lines(spec, physical.stream_refusal)),
    }
    if on_stream and physical.stream_refusal is None:
        how = ["hash of the partition columns to buckets, one operator with its own state per bucket"]
        skew = hot_key_lines(physical)
        sections["Distribution"] = "\n".join([*how, *skew] if skew else ["one bucket: there is no partition column"])
    elif not on_stream and not spec.layout.partition:
        sections["Distribution"] = _distribution(spec)
    return "\n\n".join(f"{title}\n{_indented(text)}" for title, text in sections.items())


def _distribution(spec: RowsSpec) -> str:
    whole = why_whole(spec)
    if whole is not None:
        return f"one thread, or one task: there is no partition column, and {whole}"
    return (
        "no partition column; many rows are cut by time for threads or tasks, at rows where matching continues "
        "whatever was matched before; few rows, or no such rows: one"
    )


def _conditions(spec: RowsSpec) -> str:
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
    if any(spec.depends_on_path):
        lines.append(
            "A condition depends on the labels before it: what failed once may hold another time, so it is tried "
            "again, and nested quantifiers may take exponential time. WITHIN bounds it."
        )
        lines.append(f"Limit: {steps_text(spec.max_steps)}.")
    return "\n".join(lines)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
