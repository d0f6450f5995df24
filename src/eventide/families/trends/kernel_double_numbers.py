"""Numbers of the trend kernels as doubles: approximate, infinite once they leave the range.

The second word of each number is not used; it is there so that all kinds of numbers have one shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit

DTYPE = np.float64
WEIGHT = np.float64
WORDS = 1  # that lanes use


@njit(cache=True, nogil=True, inline="always")
def is_zero(a: Any, i: int) -> bool:
    return a[i, 0] == 0.0  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, inline="always")
def clear(a: Any, i: int) -> None:
    a[i, 0] = 0.0


@njit(cache=True, nogil=True, inline="always")
def set_one(a: Any, i: int) -> None:
    a[i, 0] = 1.0


@njit(cache=True, nogil=True, inline="always")
def add(a: Any, i: int, b: Any, j: int) -> None:
    """a[i] += b[j]"""
    a[i, 0] += b[j, 0]


@njit(cache=True, nogil=True, inline="always")
def add_times(a: Any, i: int, b: Any, j: int, weight: float) -> None:
    """a[i] += b[j] * weight"""
    if weight != 0.0:
        a[i, 0] += b[j, 0] * weight


@njit(cache=True, nogil=True, inline="always")
def add_product(a: Any, i: int, b: Any, j: int, c: Any, k: int) -> None:
    """a[i] += b[j] * c[k]"""
    if b[j, 0] != 0.0 and c[k, 0] != 0.0:
        a[i, 0] += b[j, 0] * c[k, 0]


@njit(cache=True, nogil=True, inline="always")
def to_doubles(a: Any, i: int) -> Any:
    """The value, and that it lacks nothing."""
    return a[i, 0], 0.0


@njit(cache=True, nogil=True, inline="always")
def words_to_doubles(word: float, above: float) -> Any:
    """As `to_doubles`, of the two words of a number."""
    return word, 0.0


@njit(cache=True, nogil=True)
def add_lanes(first: Any, second: Any, i: int, j: int, n: int) -> None:
    """Numbers i.. += numbers j.., n of them; the first and the second words stand apart, for vector instructions."""
    target, source = np.uint64(i), np.uint64(j)
    for k in range(np.uint64(n)):
        first[target + k] += first[source + k]


@njit(cache=True, nogil=True)
def add_times_lanes(first: Any, second: Any, i: int, j: int, n: int, weight: float) -> None:
    """Numbers i.. += numbers j.. times a weight, n of them."""
    for k in range(n if weight != 0.0 else 0):
        if first[j + k] != 0.0:
            first[i + k] += first[j + k] * weight
