"""Numbers of the trend kernels as a double times a power of 2**512: never beyond range, for `counts="log2"`.

A number is a row `(m, e)`, its value m * 2**(512 e); m stays below 2**512.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

DTYPE = np.float64
WEIGHT = np.float64
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
def _add_scaled(a: Any, i: int, m: float, e: float) -> None:
    if m >= LARGE:
        m, e = m * _SMALL, e + 1.0
    ahead = e - a[i, 1]
    if a[i, 0] == 0.0 or ahead >= 2.0:
        a[i, 0], a[i, 1] = m, e
        return
    if ahead == 1.0:
        m, a[i, 1] = m + a[i, 0] * _SMALL, e
    elif ahead == 0.0:
        m += a[i, 0]
    elif ahead == -1.0:
        m = a[i, 0] + m * _SMALL
    else:
        m = a[i, 0]
    if m >= LARGE:
        m *= _SMALL
        a[i, 1] += 1.0
    a[i, 0] = m


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
