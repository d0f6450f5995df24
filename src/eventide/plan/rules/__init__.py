"""Rewrite rules: each a plain function from logical plan to logical plan, applied in this order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp

from eventide.plan.logical import Logical, Match
from eventide.plan.references import references, walk_steps
from eventide.plan.rules.flatten_pattern import flatten_pattern

Rule = Callable[[Logical], Logical]
Node = TypeVar("Node", bound=Logical)

RULES: tuple[Rule, ...] = (flatten_pattern,)


def rewrite(plan: Node, applied: list[str] | None = None) -> Node:
    """The plan after all rules; its invariants are checked after each. `applied` gets a line for each that changed it.

    The first line of a rule's docstring is that line.
    """
    check_plan(plan)
    for rule in RULES:
        before, plan = plan, rule(plan)  # type: ignore[assignment]
        if plan is not before:
            check_plan(plan)
            if applied is not None:
                applied.append(f"{rule.__name__}: {(rule.__doc__ or '').splitlines()[0].rstrip('.')}")
    return plan


def check_plan(plan: Logical) -> None:
    """The invariants of a plan, and of those that it reads: every name is one of the input, or of the pattern."""
    for each in plan.inputs:
        check_plan(each)
    for scan in plan.scans():
        named = (scan.ts, scan.sequence, scan.end, *scan.partition, *(key.column for key in scan.order))
        for name in filter(None, named):
            assert name in scan.schema.names, f"unknown column '{name}' in {scan.schema.names}"
    if isinstance(plan, Match):
        _check_match(plan)


def _check_match(plan: Match) -> None:
    """Every symbol in the pattern is known and typed, and every reference names a symbol and a column."""
    in_pattern = {step.symbol: step.type for step, _, _ in walk_steps(plan.pattern)}
    assert in_pattern == {symbol.name: symbol.type for symbol in plan.symbols.values()}, "symbols differ from pattern"
    assert set(in_pattern.values()) == set(plan.conditions), "event types differ from their conditions"
    trees: list[exp.Expression] = [conjunct.tree for conjunct in plan.conjuncts]
    for tree in [*trees, *(item.tree for item in plan.items)]:
        for reference in references(tree):
            assert reference.symbol is None or reference.symbol in plan.symbols, f"unknown symbol in {tree}"
            assert reference.column in plan.schema.names, f"unknown column in {tree}"
