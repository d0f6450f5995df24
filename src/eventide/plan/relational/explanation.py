"""What `explain` says of a pattern as joins: the choice, the costs of both ways, the optimizations, the statement."""

from __future__ import annotations

from collections.abc import Iterator

from eventide.plan.choose import KERNELS, PlanChoice
from eventide.plan.relational.algebra import Absent, Events, Join, Relation, Running
from eventide.plan.relational.map_pattern import Mapped
from eventide.runtime.costs import cost

MILLION = 1_000_000


def plan_lines(
    choice: PlanChoice, mapped: Mapped | None, refusal: str | None, n_events: int | None, engine: str
) -> list[str]:
    """The section on the plan; `refusal` is why there is no form as joins. Costs are those of Spark."""
    lines = [f"chosen      {choice.plan}: {choice.reason}"]
    if mapped is None:
        return [*lines, f"joins       none: {refusal}"]
    nodes = set(_nodes(mapped.relation))
    n_scans = max(1, sum(isinstance(node, Events) for node in nodes))
    n_moved = sum(isinstance(node, Join | Absent | Running) for node in nodes)
    size = MILLION if n_events is None else n_events
    given = "a million events" if n_events is None else f"{n_events:,} events"
    by_joins, by_kernels = joins_seconds(size, n_scans, n_moved), kernels_seconds(size)
    what = f"{_count(n_scans, 'scan')}, {_count(n_moved, 'join or running extreme', 'joins or running extremes')}"
    if engine == "spark":
        lines.append(f"joins       about {by_joins:.1f} CPU s for {given} if all fit a step: {what}; no Python worker")
        cold = f"{cost('cold_python_s'):.0f} s more where Python is not warm"
        lines.append(f"kernels     about {by_kernels:.1f} CPU s for the same, and {cold}")
    else:
        lines.append(f"joins       {what}, in DuckDB")
    lines += [f"optimized   {reason}" for reason in mapped.reasons]
    if choice.plan == KERNELS:
        lines.append("statement   plan='joins' shows it")
    return lines


def joins_seconds(n_events: int, n_scans: int, n_moved: int) -> float:
    """What the SQL engine needs: every step reads the events, and a join or a running extreme moves those that fit."""
    moved = n_events * cost("exchanged_us") * 1e-6 if n_moved else 0.0
    return cost("fixed_joins_s") + n_events * n_scans * cost("scanned_us") * 1e-6 + moved


def kernels_seconds(n_events: int) -> float:
    """What operators need: the events are read once, and those that fit are moved as blocks."""
    return cost("fixed_kernels_s") + n_events * (cost("scanned_us") + cost("in_blocks_us")) * 1e-6


def _nodes(relation: Relation) -> Iterator[Relation]:
    yield relation
    for each in relation.inputs:
        yield from _nodes(each)


def _count(n: int, one: str, several: str = "") -> str:
    return f"{n} {one if n == 1 else several or one + 's'}"
