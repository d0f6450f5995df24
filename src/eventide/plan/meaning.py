"""What a query means, however it was said."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from eventide.lang import write
from eventide.lang.nodes import copied
from eventide.plan.logical import Match


def meaning(plan: Match) -> str:
    """The canonical text: it names a checkpoint's query and is part of `match_id`."""
    bare = replace(plan.query, options=(), source=None, partition_by=())
    conditions = [f"{name}: {_text(condition.tree)}" for name, condition in sorted(plan.conditions.items())]
    resolved = {
        "time": f"{plan.ts} {plan.time_type.unit or ''}".strip(),
        "sequence": plan.sequence,
        "partition": ", ".join(plan.partition),
        "types": "; ".join(conditions),
        "ties": plan.options.ties,
        "origin": plan.options.origin,
    }
    return "\n".join([write(bare), *(f"-- {name} {value}" for name, value in resolved.items() if value)])


def _text(tree: exp.Expr) -> str:
    return copied(tree).sql("spark", copy=False)
