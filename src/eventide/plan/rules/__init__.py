"""Rewrite rules: each a plain function from logical plan to logical plan, applied in this order."""

from __future__ import annotations

from collections.abc import Callable

from eventide.plan.bound import Bound
from eventide.plan.rules.check_plan import check_plan
from eventide.plan.rules.flatten_pattern import flatten_pattern

Rule = Callable[[Bound], Bound]

RULES: tuple[Rule, ...] = (flatten_pattern,)


def rewrite(plan: Bound) -> Bound:
    """The plan after all rules; its invariants are checked after each."""
    check_plan(plan)
    for rule in RULES:
        plan = rule(plan)
        check_plan(plan)
    return plan
