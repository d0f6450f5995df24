"""The tables of the matcher: relations by pair, what may decide a match, and the order in which runs are bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations
from math import prod
from typing import Any

import numpy as np

from eventide.families.situations.kernel_matches import END, READY
from eventide.families.situations.spec import SituationSpec
from eventide.runtime.kernels import relations as allen
from eventide.runtime.kernels.arrays import IntArray

# Which of two runs ends first does not matter where all three are allowed.
GROUPS = (
    allen.STARTS | allen.EQUALS | allen.STARTED_BY,
    allen.OVERLAPS | allen.FINISHED_BY | allen.CONTAINS,
    allen.DURING | allen.FINISHES | allen.OVERLAPPED_BY,
)
# How often relations hold before anything has been seen (the shares of all pairs in reach).
_SHARES = {
    allen.BEFORE | allen.AFTER: 0.445,
    allen.DURING | allen.CONTAINS: 0.03,
    allen.OVERLAPS | allen.OVERLAPPED_BY: 0.01,
    allen.STARTS | allen.STARTED_BY | allen.FINISHES | allen.FINISHED_BY | allen.MEETS | allen.MET_BY: 0.0049,
    allen.EQUALS: 0.0006,
}
_EXHAUSTIVE = 6  # situations up to which all orders are compared
_WEIGHT = 0.5  # of what a chunk has shown: thousands of runs, so little of it is chance
_THRESHOLD = 0.2  # relative change of an estimate from which orders are computed again


def whole_groups(mask: int) -> int:
    """The allowed relations that are certain when both runs have begun."""
    return sum(group for group in GROUPS if mask & group == group)


@dataclass(slots=True)
class Estimates:
    """How many runs are in reach by symbol, and what share of pairs fits by pair, as moving averages."""

    sizes: list[float]
    shares: dict[tuple[int, int], float]

    @staticmethod
    def of(spec: SituationSpec) -> Estimates:
        shares: dict[tuple[int, int], float] = {}
        for each in spec.related:
            share = sum(share for kind, share in _SHARES.items() for bit in range(13) if kind & each.mask & (1 << bit))
            shares[each.left, each.right] = shares[each.right, each.left] = share
        return Estimates([1.0] * len(spec.symbols), shares)

    def learn(self, stats: IntArray) -> None:
        """Take in what the kernel has counted."""
        n = len(self.sizes)
        for symbol in range(n):
            seen, total = stats[symbol, n].tolist()
            if seen:
                self.sizes[symbol] += _WEIGHT * (total / seen - self.sizes[symbol])
        for left, right in self.shares:
            tested, fitted = (stats[left, right] + stats[right, left]).tolist()
            if tested:
                self.shares[left, right] += _WEIGHT * (fitted / tested - self.shares[left, right])

    def differs(self, other: Estimates) -> bool:
        """Whether something has changed enough for another order to be better."""
        pairs = [*zip(self.sizes, other.sizes, strict=True)]
        pairs += [(self.shares[pair], other.shares[pair]) for pair in self.shares]
        return any(abs(mine - old) > _THRESHOLD * max(old, 1e-9) for mine, old in pairs)

    def copy(self) -> Estimates:
        return Estimates(list(self.sizes), dict(self.shares))


def cost(order: Sequence[int], estimates: Estimates) -> float:
    """The expected number of partial matches when runs are bound in this order, the first one given."""
    partial, total = 1.0, 0.0
    for depth in range(1, len(order)):
        symbol = order[depth]
        fitting = prod(estimates.shares.get((symbol, other), 1.0) for other in order[:depth])
        partial *= max(estimates.sizes[symbol], 1e-9) * fitting
        total += partial
    return total


def best_order(first: int, estimates: Estimates) -> tuple[int, ...]:
    """The cheapest order that begins with a symbol; unrelated symbols come as late as they can."""
    others = [symbol for symbol in range(len(estimates.sizes)) if symbol != first]
    if len(others) < _EXHAUSTIVE:
        candidates = ((first, *rest) for rest in permutations(others))
        return min(candidates, key=lambda order: (_crosses(order, estimates), cost(order, estimates)))
    order = [first]
    while others:
        chosen = min(
            others, key=lambda symbol: (_crosses((*order, symbol), estimates), cost((*order, symbol), estimates))
        )
        order.append(chosen)
        others.remove(chosen)
    return tuple(order)


def _crosses(order: Sequence[int], estimates: Estimates) -> int:
    """How many symbols are bound without a relation to one before, each weighted by how early."""
    return sum(
        len(estimates.sizes) - depth
        for depth in range(1, len(order))
        if not any((order[depth], other) in estimates.shares for other in order[:depth])
    )


@dataclass(slots=True)
class Program:
    """The kernel's tables; orders follow the estimates."""

    spec: SituationSpec
    masks: IntArray
    groups: IntArray
    triggers: Any
    estimates: Estimates
    orders: IntArray = field(init=False)
    n_plans: int = 0
    _based_on: Estimates = field(init=False)
    _is_fixed: bool = False

    def __post_init__(self) -> None:
        self._plan()

    @staticmethod
    def of(spec: SituationSpec) -> Program:
        n = len(spec.symbols)
        masks, groups = np.zeros((n, n), dtype=np.int64), np.zeros((n, n), dtype=np.int64)
        for each in spec.related:
            masks[each.left, each.right] = each.mask
            masks[each.right, each.left] = each.inverse
            groups[each.left, each.right] = whole_groups(each.mask)
            groups[each.right, each.left] = whole_groups(each.inverse)
        return Program(spec, masks, groups, _triggers(spec, masks, groups), Estimates.of(spec))

    def learn(self, stats: IntArray) -> None:
        """Take in what was seen, and choose other orders where they may be better now."""
        self.estimates.learn(stats)
        if not self._is_fixed and self.estimates.differs(self._based_on):
            self._plan()

    def fix(self, order: Sequence[int]) -> None:
        """Bind in this order, whatever is seen; each symbol that decides comes before the others."""
        n = len(self.spec.symbols)
        ordered = [(first, *(symbol for symbol in order if symbol != first)) for first in range(n)]
        self.orders = np.array(ordered, dtype=np.int64).reshape(n, n)
        self._is_fixed = True

    def tables(self) -> tuple[Any, ...]:
        return self.masks, self.groups, self.triggers, self.orders, self.spec.complete

    def _plan(self) -> None:
        n = len(self.spec.symbols)
        self.orders = np.array([best_order(first, self.estimates) for first in range(n)], dtype=np.int64).reshape(n, n)
        self._based_on = self.estimates.copy()
        self.n_plans += 1


def _triggers(spec: SituationSpec, masks: IntArray, groups: IntArray) -> Any:
    """Which instants of each symbol may decide a match: that it is ready, that it ends."""
    n = len(spec.symbols)
    triggers = np.zeros((n, 2), dtype=np.bool_)
    if spec.complete:
        triggers[:, END] = True
        return triggers
    ends_first = allen.OVERLAPS | allen.STARTS | allen.DURING | allen.FINISHES | allen.EQUALS | allen.FINISHED_BY
    for k in range(n):
        related = [j for j in range(n) if masks[k, j]]
        begins_last = allen.AFTER | allen.MET_BY
        later = GROUPS[0] | GROUPS[2]
        triggers[k, READY] = spec.durations[k] != (0, None) or all(
            masks[k, j] & begins_last or groups[k, j] & later for j in related
        )
        triggers[k, END] = any(masks[k, j] & ~groups[k, j] & ends_first for j in related)
    return triggers
