"""The three kinds of numbers against Python's integers and fractions, at the borders of words, scales and ranges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from eventide.families.trends import kernel_double_numbers as double_numbers
from eventide.families.trends import kernel_exact_numbers as exact_numbers
from eventide.families.trends import kernel_scaled_numbers as scaled_numbers

WORD = 2**64
BEYOND = int(exact_numbers.BEYOND)
# None is past the range.
EXACT = [0, 1, 2**32, WORD - 1, WORD, WORD + 1, (2**32 + 2) * WORD - 1, 2**125, 10**38, BEYOND * WORD - 1, None]
WEIGHTS = [0, 1, 3, 2**32 - 1, 2**32 + 1, 2**62, WORD - 1]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Kernels that run as plain Python warn where words wrap."""
    with np.errstate(all="ignore"):
        yield


def exact(*numbers: int | None) -> Any:
    words = [(0, BEYOND) if n is None else (n % WORD, n // WORD) for n in numbers]
    return np.array(words, dtype=np.uint64)


def value(a: Any, i: int = 0) -> int | None:
    low, high = (int(word) for word in a[i])
    return None if high >= BEYOND else high * WORD + low


def total(*numbers: int | None) -> int | None:
    if any(number is None for number in numbers):
        return None
    made = sum(number for number in numbers if number is not None)
    return made if made < BEYOND * WORD else None


def times(a: int | None, b: int | None) -> int | None:
    if a == 0 or b == 0:
        return 0
    return None if a is None or b is None else a * b


def test_exact_numbers_add_up() -> None:
    for x, y in product(EXACT, repeat=2):
        a = exact(x, y)
        exact_numbers.add(a, 0, a, 1)
        assert (value(a), value(a, 1)) == (total(x, y), y)


def test_exact_numbers_past_the_range_stay_there() -> None:
    a = exact(10**38)
    for _ in range(200):
        exact_numbers.add(a, 0, a, 0)
        assert value(a) is None


def test_exact_numbers_multiply_by_weights() -> None:
    for x, y, weight in product((0, WORD - 1, 10**38, None), EXACT, WEIGHTS):
        a = exact(x, y)
        exact_numbers.add_times(a, 0, a, 1, np.uint64(weight))
        assert value(a) == total(x, times(y, weight)), (x, y, weight)


def test_exact_numbers_multiply() -> None:
    for x, y, z in product((0, WORD - 1, 10**38, None), EXACT, EXACT):
        a = exact(x, y, z)
        exact_numbers.add_product(a, 0, a, 1, a, 2)
        assert value(a) == total(x, times(y, z)), (x, y, z)


def test_exact_numbers_become_pairs_of_doubles() -> None:
    for x in EXACT[:-1]:
        assert x is not None
        high, low = exact_numbers.to_doubles(exact(x), 0)
        assert high == float(x)
        assert abs(Fraction(high) + Fraction(low) - x) <= Fraction(x, 2**100), x
    assert exact_numbers.to_doubles(exact(None), 0) == (math.inf, 0.0)


SCALED = [(m, e) for m in (0.0, 1.0, 3.0 * 2**300, 2.0**511, 1.75 * 2**511) for e in range(4)]


def fraction(m: float, e: float) -> Fraction:
    return Fraction(m) * 2 ** (512 * int(e))


def is_near(a: Any, wanted: Fraction) -> bool:
    """Whether the number in row 0 is what it should be, and in its range."""
    m, e = a[0].tolist()
    return m < scaled_numbers.LARGE and abs(fraction(m, e) - wanted) <= wanted / 2**50


def test_scaled_numbers_add_up() -> None:
    for x, y in product(SCALED, repeat=2):
        a = np.array([x, y])
        scaled_numbers.add(a, 0, a, 1)
        assert is_near(a, fraction(*x) + fraction(*y)), (x, y)


def test_scaled_numbers_multiply() -> None:
    for x, y, z in product([(0.0, 0.0), (2.0**511, 2.0)], SCALED, SCALED):
        a = np.array([x, y, z])
        scaled_numbers.add_product(a, 0, a, 1, a, 2)
        assert is_near(a, fraction(*x) + fraction(*y) * fraction(*z)), (x, y, z)
    for x, y, weight in product([(0.0, 0.0), (1.0, 1.0)], SCALED, (0.0, 0.25, 1.0, 2.0**70)):
        a = np.array([x, y])
        scaled_numbers.add_times(a, 0, a, 1, weight)
        assert is_near(a, fraction(*x) + fraction(*y) * Fraction(weight)), (x, y, weight)


def test_doubles_past_their_range_are_infinite_and_nothing_times_them_is_nothing() -> None:
    a = np.array([[1e308, 0.0], [1e308, 0.0], [0.0, 0.0], [0.0, 0.0]])
    double_numbers.add(a, 0, a, 1)
    double_numbers.add_times(a, 2, a, 0, 0.0)
    double_numbers.add_product(a, 2, a, 0, a, 3)
    assert a[:, 0].tolist() == [math.inf, 1e308, 0.0, 0.0]


# Lanes: many numbers at once, their first and second words apart.


def laned(rows: Any) -> tuple[Any, Any]:
    array = np.array(rows)
    return array[:, 0].copy(), array[:, 1].copy()


def in_lanes(kind: Any, name: str, pairs: list[tuple[Any, Any]], *weight: Any) -> list[tuple[Any, Any]]:
    """The sums of pairs of numbers, all in one call; a lane before and one behind must stay as they are."""
    n = len(pairs)
    first, second = laned([x for x, _ in pairs] + [pairs[0][0]] + [y for _, y in pairs] + [pairs[0][1]])
    kept = first[n].copy(), second[n].copy()
    getattr(kind, name)(first, second, 0, n + 1, n, *weight)
    assert (first[n], second[n]) == kept
    return list(zip(first[:n].tolist(), second[:n].tolist(), strict=True))


def test_exact_numbers_in_lanes() -> None:
    pairs = list(product(EXACT, repeat=2))
    words = [(exact(x)[0], exact(y)[0]) for x, y in pairs]
    for (x, y), found in zip(pairs, in_lanes(exact_numbers, "add_lanes", words), strict=True):
        assert value([found]) == total(x, y), (x, y)
    for weight in WEIGHTS:
        made = in_lanes(exact_numbers, "add_times_lanes", words, np.uint64(weight))
        for (x, y), found in zip(pairs, made, strict=True):
            assert value([found]) == total(x, times(y, weight)), (x, y, weight)
    first, second = laned(exact(10**38, 10**38))
    for _ in range(200):
        exact_numbers.add_lanes(first, second, 0, 0, 2)
        assert value([(first[0], second[0])]) is None
    for x in EXACT:
        assert exact_numbers.words_to_doubles(*exact(x)[0]) == exact_numbers.to_doubles(exact(x), 0)


def test_scaled_numbers_in_lanes() -> None:
    """Zero has the scale 0 there: lanes are cleared before they are added to."""
    pairs = list(product([(0.0, 0.0), *SCALED[4:]], repeat=2))
    for (x, y), found in zip(pairs, in_lanes(scaled_numbers, "add_lanes", pairs), strict=True):
        assert is_near(np.array([found]), fraction(*x) + fraction(*y)), (x, y)
    for weight in (0.0, 0.25, 1.0, 2.0**70):
        made = in_lanes(scaled_numbers, "add_times_lanes", pairs, weight)
        for (x, y), found in zip(pairs, made, strict=True):
            assert is_near(np.array([found]), fraction(*x) + fraction(*y) * Fraction(weight)), (x, y, weight)


def test_doubles_in_lanes() -> None:
    pairs = [((1e308, 0.0), (1e308, 0.0)), ((1.0, 0.0), (2.5, 0.0)), ((1.0, 0.0), (0.0, 0.0))]
    assert [x for x, _ in in_lanes(double_numbers, "add_lanes", pairs)] == [math.inf, 3.5, 1.0]
    assert [x for x, _ in in_lanes(double_numbers, "add_times_lanes", pairs, 0.0)] == [1e308, 1.0, 1.0]
    # Nothing times infinity is nothing.
    assert [x for x, _ in in_lanes(double_numbers, "add_times_lanes", pairs, math.inf)] == [math.inf, math.inf, 1.0]
