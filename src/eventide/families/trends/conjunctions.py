"""Totals per role of a trend to totals of the pattern; and of partitions to those of their group.

AND counts unordered sets of distinct trends, one of each side: a trend's role is the set of the sides that it belongs
to, and how many trends there are of each role says how many sets there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import combinations_with_replacement, permutations
from math import factorial
from typing import Any

import numpy as np

from eventide.errors import InputError
from eventide.families.trends.inputs import Inputs
from eventide.families.trends.kernel_records import NONE
from eventide.families.trends.kernel_scaled_numbers import LARGE
from eventide.families.trends.outputs import Totals, totals_of
from eventide.families.trends.spec import TrendSpec, n_roles
from eventide.runtime.kernels.arrays import IntArray


def combine(records: Any, is_ambiguous: Any, inputs: Inputs, spec: TrendSpec) -> Totals:
    """The totals of every scope from the kernel's records: scope by scope, in each by role and length."""
    n_sides, n_lengths = len(spec.sides), spec.n_lengths
    n_sets = n_roles(n_sides) * n_lengths
    widths = (1, len(inputs.weights), len(inputs.sums), len(inputs.extremes))
    each = [
        totals_of(tuple(_set(a, k, n_sets, w) for a, w in zip(records, widths, strict=True)), inputs, spec.counts)
        for k in range(n_sets)
    ]
    if n_sides == 1:
        return each[0]
    made = _sets(each, spec)
    if spec.counted:
        has_sets = np.array([not _is_zero(n) for n in made.counts], dtype=np.bool_)
        if is_ambiguous.reshape(-1, n_sets)[has_sets].any():
            raise ambiguous()
    return made


def merge(totals: Totals, group: IntArray, counts: str) -> tuple[Totals, list[IntArray]]:
    """The totals by group, without scopes that have no trend; and the scopes of each group."""
    scopes = np.flatnonzero([not _is_zero(n) for n in totals.counts])
    order = scopes[np.argsort(group[scopes], kind="stable")]
    borders = np.flatnonzero(np.diff(group[order])) + 1
    members = np.split(order, borders) if order.size else []

    def added(numbers: list[Any]) -> list[Any]:
        return [_sum([numbers[i] for i in each.tolist()], counts) for each in members]

    made = Totals(
        added(totals.counts),
        {weight: added(numbers) for weight, numbers in totals.weights.items()},
        {key: [float(np.sum([sums[i] for i in each])) for each in members] for key, sums in totals.sums.items()},
        {key: [min(ranks[i] for i in each) for each in members] for key, ranks in totals.extremes.items()},
        totals.n_bits,
    )
    return made, members


def _set(array: Any, k: int, n_sets: int, width: int) -> Any:
    """The records of one role and length; an array without numbers stays one."""
    if width == 0:
        return array
    shaped = array.reshape(-1, n_sets, width, *array.shape[1:])[:, k]
    return np.ascontiguousarray(shaped.reshape(-1, *array.shape[1:]))


def _sets(each: list[Totals], spec: TrendSpec) -> Totals:
    """One trend of each side, together as long as wanted; `each` by role and length."""
    n_sides, counts = len(spec.sides), spec.counts
    least = spec.min_length if spec.n_lengths > 1 else 0
    n_scopes = len(each[0].counts)
    made = Totals(
        [_zero(counts)] * n_scopes,
        {weight: [_zero(counts)] * n_scopes for weight in each[0].weights},
        {key: [0.0] * n_scopes for key in each[0].sums},
        {key: [NONE] * n_scopes for key in each[0].extremes},
        each[0].n_bits,
    )
    for i in range(n_scopes):
        there = tuple(k for k, totals in enumerate(each) if not _is_zero(totals.counts[i]))
        for chosen in _choices(there, n_sides, spec.n_lengths, least):
            _add_sets(made, [(each[k], n) for k, n in chosen], i, counts)
    return made


@cache
def _choices(there: tuple[int, ...], n_sides: int, n_lengths: int, least: int) -> list[list[tuple[int, int]]]:
    """How many trends of each kind, of those that are there, a set may have: a kind is a role and a length."""
    found = []
    for kinds in combinations_with_replacement(there, n_sides):
        roles = [kind // n_lengths + 1 for kind in kinds]
        if sum(kind % n_lengths + 1 for kind in kinds) >= least and _can_be_assigned(roles):
            found.append(sorted(Counter(kinds).items()))
    return found


def _can_be_assigned(roles: Sequence[int]) -> bool:
    """Whether each can have a side of its own; roles are bits of sides."""
    return any(all(role >> side & 1 for role, side in zip(roles, sides, strict=True)) for sides in _orders(len(roles)))


@cache
def _orders(n: int) -> list[tuple[int, ...]]:
    return list(permutations(range(n)))


def _add_sets(made: Totals, chosen: list[tuple[Totals, int]], i: int, counts: str) -> None:
    """The sets with so many trends of each kind."""
    ways = [_choose(totals.counts[i], n, counts) for totals, n in chosen]
    n_sets = _multiply(ways, counts)
    if _is_zero(n_sets):
        return
    made.counts[i] = _sum([made.counts[i], n_sets], counts)
    for k, (totals, n) in enumerate(chosen):
        # The sets that one trend of this kind is in.
        rest = _choose(_less_one(totals.counts[i], counts), n - 1, counts)
        others = _multiply([rest, *ways[:k], *ways[k + 1 :]], counts)
        for weight, values in made.weights.items():
            values[i] = _sum([values[i], _multiply([totals.weights[weight][i], others], counts)], counts)
        for key, sums in made.sums.items():
            if totals.sums[key][i]:
                sums[i] += totals.sums[key][i] * (np.inf if others is None else float(others))
        for each, ranks in made.extremes.items():
            ranks[i] = min(ranks[i], totals.extremes[each][i])


def _choose(number: Any, n: int, counts: str) -> Any:
    """How many ways there are to choose n of so many."""
    made = _one(counts)
    left = number
    for _ in range(n):
        made = _multiply([made, left], counts)
        left = _less_one(left, counts)
    if made is None:
        return None
    ways = factorial(n)
    if counts == "log2":
        return made[0] / ways, made[1]
    return made // ways if counts == "exact" else made / ways


def _less_one(number: Any, counts: str) -> Any:
    if number is None or _is_zero(number):
        return number
    if counts == "log2":
        return (number[0] - 1.0, number[1]) if number[1] == 0.0 else number
    return number - 1


def _zero(counts: str) -> Any:
    return (0.0, 0.0) if counts == "log2" else 0 if counts == "exact" else 0.0


def _one(counts: str) -> Any:
    return (1.0, 0.0) if counts == "log2" else 1 if counts == "exact" else 1.0


def _multiply(numbers: list[Any], counts: str) -> Any:
    total = numbers[0]
    for number in numbers[1:]:
        total = _product(total, number, counts)
    return total


def _is_zero(number: Any) -> bool:
    return number is not None and (number[0] == 0 if isinstance(number, tuple) else number == 0)


def _product(a: Any, b: Any, counts: str) -> Any:
    if _is_zero(a) or _is_zero(b):
        return _zero(counts)
    if a is None or b is None:
        return None
    if counts == "log2":
        m, e = a[0] * b[0], a[1] + b[1]
        return (m / LARGE, e + 1) if m >= LARGE else (m, e)
    if counts == "double":
        return a * b if np.isfinite(a * b) else None
    return a * b


def _sum(numbers: list[Any], counts: str) -> Any:
    if len(numbers) == 1:
        return numbers[0]
    numbers = [number for number in numbers if not _is_zero(number)]
    if not numbers:
        return _zero(counts)
    if any(number is None for number in numbers):
        return None
    if counts != "log2":
        total = sum(numbers)
        return total if counts == "exact" or np.isfinite(total) else None
    top = max(e for _, e in numbers)
    return sum(m * LARGE ** max(e - top, -2.0) for m, e in numbers), top


def ambiguous() -> InputError:
    """The error about bindings that differ."""
    return InputError(
        "an aggregate over one symbol is ambiguous: a trend can be bound in two ways that give it different events",
        hint="aggregate over COUNT(*), or give the symbols types or conditions that exclude one another",
    )
