"""Invariants of a logical plan, checked after every rewrite rule."""

from __future__ import annotations

from sqlglot import exp

from eventide.plan.bound import Bound
from eventide.plan.references import references, walk_steps


def check_plan(plan: Bound) -> None:
    """Every symbol in the pattern is known and typed, and every reference names a symbol and a column."""
    in_pattern = {step.symbol: step.type for step, _, _ in walk_steps(plan.pattern)}
    assert in_pattern == {symbol.name: symbol.type for symbol in plan.symbols.values()}, "symbols differ from pattern"
    assert set(in_pattern.values()) == set(plan.conditions), "event types differ from their conditions"
    trees: list[exp.Expression] = [conjunct.tree for conjunct in plan.conjuncts]
    for tree in [*trees, *(item.tree for item in plan.items)]:
        for reference in references(tree):
            assert reference.symbol is None or reference.symbol in plan.symbols, f"unknown symbol in {tree}"
            assert reference.column in plan.schema.names, f"unknown column in {tree}"
    assert plan.ts in plan.schema.names, "unknown time column"
