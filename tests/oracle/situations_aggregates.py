"""Aggregates of a situation's events, from their definitions, with Spark's rules for NULL."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import sqrt
from operator import and_, or_, xor
from typing import Any


def aggregate(function: str, values: Sequence[Any], others: Sequence[Any] = ()) -> Any:
    """An aggregate of values that stand in the order of their events; `others` are those of a second argument.

    Exact for what is exact. All but first and last leave out NULLs, those of two arguments where either is NULL,
    and max_by and min_by where the second is.

    >>> [aggregate(name, [1, None, 4]) for name in ("first", "last", "count", "sum", "avg", "min", "max")]
    [1, 4, 2, Fraction(5, 1), Fraction(5, 2), 1, 4]
    >>> aggregate("max_by", ["a", "b", None], [3, 7, 7]), aggregate("covar_pop", [1, 3, 5], [2, None, 6])
    (None, Fraction(4, 1))
    """
    if function in ("first", "last"):
        return values[0 if function == "first" else -1]
    if function in ("max_by", "min_by"):
        return _extreme_by(function, values, others)
    if others:
        both = [(Fraction(y), Fraction(x)) for y, x in zip(values, others, strict=True) if None not in (y, x)]
        return _of_two(function, both)
    present = [value for value in values if value is not None]
    match function:
        case "count":
            return len(present)
        case "count_if":
            return sum(present)
    if not present:
        return None
    match function:
        case "first ignore nulls":
            return present[0]
        case "last ignore nulls":
            return present[-1]
        case "min" | "bool_and":
            return min(present)
        case "max" | "bool_or":
            return max(present)
        case "bit_and" | "bit_or" | "bit_xor":
            return reduce({"bit_and": and_, "bit_or": or_, "bit_xor": xor}[function], present)
    return _of_one(function, [Fraction(value) for value in present])


def _extreme_by(function: str, values: Sequence[Any], keys: Sequence[Any]) -> Any:
    """The value beside the largest or smallest key; of tied ones the last."""
    known = [key for key in keys if key is not None]
    if not known:
        return None
    best = max(known) if function == "max_by" else min(known)
    return [value for value, key in zip(values, keys, strict=True) if key == best][-1]


def _of_one(function: str, numbers: list[Fraction]) -> Any:
    n, total = len(numbers), sum(numbers)
    mean = total / n
    second, third, fourth = (sum((number - mean) ** k for number in numbers) for k in (2, 3, 4))
    match function:
        case "sum":
            return total
        case "avg":
            return mean
        case "var_pop":
            return second / n
        case "stddev_pop":
            return sqrt(second / n)
        case "var_samp" | "variance":
            return second / (n - 1) if n > 1 else None
        case "stddev" | "stddev_samp":
            return sqrt(second / (n - 1)) if n > 1 else None
        case "skewness":
            return sqrt(n) * float(third) / float(second) ** 1.5 if second else None
        case "kurtosis":
            return n * fourth / second**2 - 3 if second else None
    raise ValueError(f"no aggregate '{function}'")


def _of_two(function: str, both: list[tuple[Fraction, Fraction]]) -> Any:
    n = len(both)
    if function == "regr_count":
        return n
    if not n:
        return None
    mean_y, mean_x = (sum(pair[i] for pair in both) / n for i in (0, 1))
    xx = sum((x - mean_x) ** 2 for _, x in both)
    yy = sum((y - mean_y) ** 2 for y, _ in both)
    xy = sum((x - mean_x) * (y - mean_y) for y, x in both)
    match function:
        case "covar_pop":
            return xy / n
        case "covar_samp":
            return xy / (n - 1) if n > 1 else None
        case "corr":
            return float(xy) / sqrt(xx * yy) if xx and yy else None
        case "regr_avgx":
            return mean_x
        case "regr_avgy":
            return mean_y
        case "regr_sxx":
            return xx
        case "regr_syy":
            return yy
        case "regr_sxy":
            return xy
        case "regr_slope":
            return xy / xx if xx else None
        case "regr_intercept":
            return mean_y - mean_x * xy / xx if xx else None
        case "regr_r2":
            return None if not xx else 1 if not yy else xy**2 / (xx * yy)
    raise ValueError(f"no aggregate '{function}'")
