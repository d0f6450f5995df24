"""Totals per side of a pattern to totals of the pattern; and of partitions to those of their group.

AND counts unordered pairs of distinct trends: with p and q trends on its sides and r on both, p*q - (r*r + r)/2.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from eventide.errors import InputError
from eventide.kernels.arrays import IntArray
from eventide.kernels.scaled_numbers import LARGE
from eventide.kernels.trend_records import NONE
from eventide.operators.trends.inputs import Inputs
from eventide.operators.trends.outputs import Totals, totals_of
from eventide.operators.trends.spec import TrendSpec


def combine(records: Any, is_ambiguous: Any, inputs: Inputs, spec: TrendSpec) -> Totals:
    """The totals of every scope from the kernel's records: scope by scope, in each by role and length."""
    n_sides, n_lengths = len(spec.sides), spec.n_lengths
    n_sets = 1 if n_sides == 1 else (n_sides + 1) * n_lengths
    widths = (1, len(inputs.weights), len(inputs.sums), len(inputs.extremes))
    each = [
        totals_of(tuple(_set(a, k, n_sets, w) for a, w in zip(records, widths, strict=True)), inputs, spec.counts)
        for k in range(n_sets)
    ]
    if n_sides == 1:
        return each[0]
    sides = [each[k * n_lengths : (k + 1) * n_lengths] for k in range(n_sides)]
    made = _pairs(sides, each[n_sides * n_lengths :], spec)
    if spec.counted:
        has_pairs = np.array([not _is_zero(n) for n in made.counts], dtype=np.bool_)
        if is_ambiguous.reshape(-1, n_sets)[has_pairs].any():
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
    )
    return made, members


def _set(array: Any, k: int, n_sets: int, width: int) -> Any:
    """The records of one role and length; an array without numbers stays one."""
    if width == 0:
        return array
    shaped = array.reshape(-1, n_sets, width, *array.shape[1:])[:, k]
    return np.ascontiguousarray(shaped.reshape(-1, *array.shape[1:]))


def _pairs(sides: list[list[Totals]], shared: list[Totals], spec: TrendSpec) -> Totals:
    """One trend of each side, together as long as wanted; `sides` and `shared` by length."""
    lengths = range(1, spec.n_lengths + 1)
    least = spec.min_length if spec.n_lengths > 1 else 0
    chosen = [
        [side[length - 1] for side, length in zip(sides, each, strict=True)]
        for each in product(lengths, repeat=len(sides))
        if sum(each) >= least
    ]
    n_scopes = len(sides[0][0].counts)
    made = Totals(
        [_zero(spec.counts)] * n_scopes,
        {weight: [_zero(spec.counts)] * n_scopes for weight in sides[0][0].weights},
        {key: [0.0] * n_scopes for key in sides[0][0].sums},
        {key: [NONE] * n_scopes for key in sides[0][0].extremes},
    )
    for i in range(n_scopes):
        for together in chosen:
            _add_product(made, together, i, spec.counts)
        if any(not _is_zero(totals.counts[i]) for totals in shared):
            if len(sides) > 2:
                raise InputError(
                    "AND of more than two patterns is counted only where no trend belongs to two of them",
                    hint="use AND of two patterns, or types or conditions that exclude one another",
                )
            _take_twice(made, shared, i, least, spec.counts)
    return made


def _add_product(made: Totals, together: list[Totals], i: int, counts: str) -> None:
    """The pairs of trends of one length each."""
    numbers = [totals.counts[i] for totals in together]
    n_pairs = _multiply(numbers, counts)
    if _is_zero(n_pairs):
        return
    made.counts[i] = _sum([made.counts[i], n_pairs], counts)
    for k, totals in enumerate(together):
        others = _multiply(numbers[:k] + numbers[k + 1 :], counts)
        for weight, values in made.weights.items():
            values[i] = _sum([values[i], _multiply([totals.weights[weight][i], others], counts)], counts)
        for key, sums in made.sums.items():
            if totals.sums[key][i]:
                sums[i] += totals.sums[key][i] * (np.inf if others is None else float(others))
        for each, ranks in made.extremes.items():
            ranks[i] = min(ranks[i], totals.extremes[each][i])


def _take_twice(made: Totals, shared: list[Totals], i: int, least: int, counts: str) -> None:
    """Take away what trends on both sides add too much: with themselves, and in both orders with one another."""
    many = [totals.counts[i] for totals in shared]
    pairs = [(a, b) for a in range(len(many)) for b in range(len(many)) if a + b + 2 >= least]

    def half(with_others: list[Any], with_themselves: list[Any]) -> Any:
        both = _sum(with_others + with_themselves, counts)
        if both is None or counts == "double":
            return None if both is None else both / 2
        return (both[0] / 2, both[1]) if counts == "log2" else both // 2

    def twice(each: list[Any], ends: int) -> Any:
        """`each` is the number or weight of trends by length; a trend with itself has it `ends` times."""
        crossed = [_multiply([each[a], many[b]], counts) for a, b in pairs]
        if ends == 2:
            crossed += [_multiply([many[a], each[b]], counts) for a, b in pairs]
        return half(crossed, [each[a] for a, b in pairs if a == b for _ in range(ends)])

    made.counts[i] = _less(made.counts[i], twice(many, 1), counts)
    for weight, values in made.weights.items():
        values[i] = _less(values[i], twice([totals.weights[weight][i] for totals in shared], 2), counts)
    for key, sums in made.sums.items():
        each = [totals.sums[key][i] for totals in shared]
        numbers = [float(number) if not isinstance(number, tuple) else 0.0 for number in many]
        crossed = sum(each[a] * numbers[b] + numbers[a] * each[b] for a, b in pairs)
        sums[i] -= (crossed + sum(2 * each[a] for a, b in pairs if a == b)) / 2


def _less(number: Any, other: Any, counts: str) -> Any:
    if number is None or other is None:
        return None
    if counts == "log2":
        return number[0] - other[0] * LARGE ** (other[1] - number[1]), number[1]
    return number - other


def _zero(counts: str) -> Any:
    return (0.0, 0.0) if counts == "log2" else 0 if counts == "exact" else 0.0


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
