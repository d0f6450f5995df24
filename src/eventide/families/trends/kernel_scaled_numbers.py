"""Numbers of the trend kernels as a double times a power of 2**512: never beyond range, for `counts="log2"`.

A number is a row `(m, e)`, its value m * 2**(512 e); m stays below 2**512.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit

DTYPE = np.float64
WEIGHT = np.float64
WORDS = 2  # that lanes use
LARGE = 2.0**512
_SMALL = 2.0**-512


@njit(cache=True, nogil=True, inline="always")
def is_zero(a: Any, i: int) -> bool:
    return a[i, 0] == 0.0  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, inline="always")
def clear(a: Any, i: int) -> None:
    a[i, 0] = 0.0
    a[i, 1] = 0.0


@njit(cache=True, nogil=True, inline="always")
def set_one(a: Any, i: int) -> None:
    a[i, 0] = 1.0
    a[i, 1] = 0.0


@njit(cache=True, nogil=True)
def _sum_scaled(m: float, e: float, n: float, f: float) -> Any:
    if n >= LARGE:
        n, f = n * _SMALL, f + 1.0
    ahead = f - e
    if m == 0.0 or ahead >= 2.0:
        return n, f
    if ahead == 1.0:
        total, e = n + m * _SMALL, f
    elif ahead == 0.0:
        total = m + n
    elif ahead == -1.0:
        total = m + n * _SMALL
    else:
        total = m
    if total >= LARGE:
        return total * _SMALL, e + 1.0
    return total, e


@njit(cache=True, nogil=True)
def _add_scaled(a: Any, i: int, m: float, e: float) -> None:
    a[i, 0], a[i, 1] = _sum_scaled(a[i, 0], a[i, 1], m, e)


@njit(cache=True, nogil=True, inline="always")
def add(a: Any, i: int, b: Any, j: int) -> None:
    """a[i] += b[j]"""
    if a[i, 0] == 0.0:
        a[i, 0] = b[j, 0]
        a[i, 1] = b[j, 1]
    elif a[i, 1] == b[j, 1] and a[i, 0] + b[j, 0] < LARGE:
        a[i, 0] += b[j, 0]
    elif b[j, 0] != 0.0:
        _add_scaled(a, i, b[j, 0], b[j, 1])


@njit(cache=True, nogil=True)
def add_times(a: Any, i: int, b: Any, j: int, weight: float) -> None:
    """a[i] += b[j] * weight"""
    if weight != 0.0 and b[j, 0] != 0.0:
        _add_scaled(a, i, b[j, 0] * weight, b[j, 1])


@njit(cache=True, nogil=True)
def add_product(a: Any, i: int, b: Any, j: int, c: Any, k: int) -> None:
    """a[i] += b[j] * c[k]"""
    if b[j, 0] != 0.0 and c[k, 0] != 0.0:
        _add_scaled(a, i, b[j, 0] * c[k, 0], b[j, 1] + c[k, 1])


@njit(cache=True, nogil=True)
def to_doubles(a: Any, i: int) -> Any:
    """The value, and that it lacks nothing."""
    return a[i, 0] * LARGE ** a[i, 1], 0.0


@njit(cache=True, nogil=True)
def words_to_doubles(word: float, above: float) -> Any:
    """As `to_doubles`, of the two words of a number."""
    return word * LARGE**above, 0.0


@njit(cache=True, nogil=True)
def add_lanes(first: Any, second: Any, i: int, j: int, n: int) -> None:
    """Numbers i.. += numbers j.., n of them; the first and the second words stand apart, for vector instructions."""
    target, source = np.uint64(i), np.uint64(j)
    for k in range(np.uint64(n)):
        e, f = second[target + k], second[source + k]
        ahead = f - e
        mine = 1.0 if ahead <= 0.0 else (_SMALL if ahead == 1.0 else 0.0)
        other = 1.0 if ahead >= 0.0 else (_SMALL if ahead == -1.0 else 0.0)
        m = first[target + k] * mine + first[source + k] * other
        e = max(e, f)
        is_large = m >= LARGE
        first[target + k] = m * _SMALL if is_large else m
        second[target + k] = e + 1.0 if is_large else e


@njit(cache=True, nogil=True)
def add_times_lanes(first: Any, second: Any, i: int, j: int, n: int, weight: float) -> None:
    """Numbers i.. += numbers j.. times a weight, n of them."""
    for k in range(n if weight != 0.0 else 0):
        if first[j + k] != 0.0:
            product = first[j + k] * weight
            first[i + k], second[i + k] = _sum_scaled(first[i + k], second[i + k], product, second[j + k])
