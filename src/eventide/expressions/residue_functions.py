"""Scalar functions that generated tests call; their text is copied into the generated module.

Integers never wrap: an overflow raises. Doubles follow Spark: NaN equals NaN and is greater than anything else.
Each function stands alone, uses `np` only, and works under Numba and as plain Python.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def add_int(a: int, b: int) -> int:
    if (b > 0 and a > 9223372036854775807 - b) or (b < 0 and a < -9223372036854775808 - b):
        raise OverflowError("integer overflow in a condition")
    return a + b


def sub_int(a: int, b: int) -> int:
    if (b < 0 and a > 9223372036854775807 + b) or (b > 0 and a < -9223372036854775808 + b):
        raise OverflowError("integer overflow in a condition")
    return a - b


def mul_int(a: int, b: int) -> int:
    estimate = float(a) * float(b)
    if abs(estimate) < 9.2e18:
        return a * b
    if abs(estimate) > 9.3e18:
        raise OverflowError("integer overflow in a condition")
    # Near the limit only a division is exact; neither factor is 0 here.
    least = -9223372036854775808
    if a == least or b == least:
        if (a == 1) or (b == 1):
            return a * b
        raise OverflowError("integer overflow in a condition")
    one, two = abs(a), abs(b)
    most = 9223372036854775807 // two
    if (a < 0) != (b < 0) and 9223372036854775807 - most * two == two - 1:
        most += 1
    if one > most:
        raise OverflowError("integer overflow in a condition")
    return a * b


def neg_int(a: int) -> int:
    if a == -9223372036854775808:
        raise OverflowError("integer overflow in a condition")
    return -a


def div_int(a: int, b: int) -> int:
    if b == -1 and a == -9223372036854775808:
        raise OverflowError("integer overflow in a condition")
    quotient = a // b
    if quotient < 0 and quotient * b != a:
        quotient += 1
    return quotient


def mod_int(a: int, b: int) -> int:
    if b == -1:
        return a - a
    rest = a % b
    if rest != 0 and (rest < 0) != (a < 0):
        rest -= b
    return rest


def fit_int(a: int, low: int, high: int) -> int:
    if a < low or a > high:
        raise OverflowError("integer overflow in a condition")
    return a


def truncate(a: float, low: int, high: int) -> int:
    whole = np.trunc(a)
    # 2**63 as a double is one past the greatest integer.
    if not (whole >= float(low) and whole <= float(high)) or whole >= 9223372036854775808.0:
        raise OverflowError("a number is out of range in a condition")
    return int(whole)


def scale_for_compare(a: int, factor: int) -> int:
    # Past the range a value is greater than any decimal of 18 digits, and so is the limit.
    if a > 9223372036854775807 // factor:
        return 9223372036854775807
    if a < -(9223372036854775807 // factor):
        return -9223372036854775807
    return a * factor


def eq_float(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


def lt_float(a: float, b: float) -> bool:
    return a < b or (a == a and b != b)


def power(a: float, b: float) -> float:
    if b != b or ((a == 1.0 or a == -1.0) and np.isinf(b)):
        return np.nan
    return float(np.power(a, b))


def sign(a: float) -> float:
    if a > 0:
        return 1.0
    if a < 0:
        return -1.0
    return a


def is_among(a: float, items: NDArray[np.float64]) -> bool:
    at = np.searchsorted(items, a)
    return bool(at < items.size and items[at] == a)
