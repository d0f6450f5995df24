"""Numbers of the trend kernels, exact: two 64-bit words up to 38 digits, and one value for everything beyond.

A number is a row `(low, high)` of an array; `high == BEYOND` says that it left the range. Nothing wraps: a sum or
product with such a number is such a number, unless the other factor is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit

DTYPE = np.uint64
WEIGHT = np.uint64
WORDS = 2  # that lanes use
# Above 10**38 / 2**64, and twice it plus a carry still fits into a word.
BEYOND = np.uint64(6_000_000_000_000_000_000)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_TAIL, _TAIL_BITS, _EXACT = np.uint64(11), np.uint64(0x7FF), np.uint64(1 << 53)
_WORD = 18446744073709551616.0
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFF_FFFF)


@njit(cache=True, nogil=True, inline="always")
def is_zero(a: Any, i: int) -> bool:
    return a[i, 0] == _ZERO and a[i, 1] == _ZERO  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, inline="always")
def clear(a: Any, i: int) -> None:
    a[i, 0] = _ZERO
    a[i, 1] = _ZERO


@njit(cache=True, nogil=True, inline="always")
def set_one(a: Any, i: int) -> None:
    a[i, 0] = _ONE
    a[i, 1] = _ZERO


@njit(cache=True, nogil=True, inline="always")
def add(a: Any, i: int, b: Any, j: int) -> None:
    """a[i] += b[j]"""
    low = a[i, 0] + b[j, 0]
    high = a[i, 1] + b[j, 1]
    if low < b[j, 0]:
        high += _ONE
    if high >= BEYOND:
        low, high = _ZERO, BEYOND
    a[i, 0] = low
    a[i, 1] = high


@njit(cache=True, nogil=True)
def multiply_words(x: Any, y: Any) -> Any:
    """The low and the high word of a product."""
    x0, x1, y0, y1 = x & _LOW, x >> _HALF, y & _LOW, y >> _HALF
    low = x0 * y0
    middle = x1 * y0 + (low >> _HALF)
    other = x0 * y1 + (middle & _LOW)
    return (other << _HALF) | (low & _LOW), x1 * y1 + (middle >> _HALF) + (other >> _HALF)


@njit(cache=True, nogil=True)
def _sum_words(first: Any, second: Any, low: Any, high: Any, is_beyond: bool) -> Any:
    if is_beyond or high >= BEYOND:
        return _ZERO, BEYOND
    total = first + low
    above = second + high
    if total < low:
        above += _ONE
    if above >= BEYOND:
        return _ZERO, BEYOND
    return total, above


@njit(cache=True, nogil=True)
def _add_words(a: Any, i: int, low: Any, high: Any, is_beyond: bool) -> None:
    a[i, 0], a[i, 1] = _sum_words(a[i, 0], a[i, 1], low, high, is_beyond)


@njit(cache=True, nogil=True)
def _times(low: Any, high: Any, weight: Any) -> Any:
    """The words of a product, and whether it is beyond the range."""
    first, carried = multiply_words(low, weight)
    second, over = multiply_words(high, weight)
    total = second + carried
    return first, total, high >= BEYOND or over != _ZERO or total < second


@njit(cache=True, nogil=True)
def add_times(a: Any, i: int, b: Any, j: int, weight: Any) -> None:
    """a[i] += b[j] * weight"""
    if weight == _ZERO or is_zero(b, j):
        return
    low, high, is_beyond = _times(b[j, 0], b[j, 1], weight)
    _add_words(a, i, low, high, is_beyond)


@njit(cache=True, nogil=True)
def add_product(a: Any, i: int, b: Any, j: int, c: Any, k: int) -> None:
    """a[i] += b[j] * c[k]"""
    if is_zero(b, j) or is_zero(c, k):
        return
    if b[j, 1] != _ZERO and c[k, 1] != _ZERO:
        _add_words(a, i, _ZERO, _ZERO, True)
    elif c[k, 1] == _ZERO:
        add_times(a, i, b, j, c[k, 0])
    else:
        add_times(a, i, c, k, b[j, 0])


@njit(cache=True, nogil=True)
def to_doubles(a: Any, i: int) -> Any:
    """The nearest double and what it lacks; infinity beyond the range."""
    return words_to_doubles(a[i, 0], a[i, 1])


@njit(cache=True, nogil=True)
def words_to_doubles(word: Any, above: Any) -> Any:
    """As `to_doubles`, of the two words of a number."""
    if above >= BEYOND:
        return np.inf, 0.0
    if above == _ZERO and word < _EXACT:
        return np.float64(word), 0.0
    # Each part has at most 53 bits and is less than the one before: what a sum rounds off is known exactly.
    top = np.float64(above >> _TAIL << _TAIL) * _WORD
    middle = np.float64(above & _TAIL_BITS) * _WORD
    low_top = np.float64(word >> _TAIL << _TAIL)
    high = top + middle
    most = high + low_top
    rest = (middle - (high - top)) + (low_top - (most - high)) + np.float64(word & _TAIL_BITS)
    total = most + rest
    return total, rest - (total - most)


@njit(cache=True, nogil=True)
def add_lanes(first: Any, second: Any, i: int, j: int, n: int) -> None:
    """Numbers i.. += numbers j.., n of them; the first and the second words stand apart, for vector instructions."""
    target, source = np.uint64(i), np.uint64(j)
    for k in range(np.uint64(n)):
        low = first[target + k] + first[source + k]
        high = second[target + k] + second[source + k] + (_ONE if low < first[source + k] else _ZERO)
        is_beyond = high >= BEYOND
        first[target + k] = _ZERO if is_beyond else low
        second[target + k] = BEYOND if is_beyond else high


@njit(cache=True, nogil=True)
def add_times_lanes(first: Any, second: Any, i: int, j: int, n: int, weight: Any) -> None:
    """Numbers i.. += numbers j.. times a weight, n of them."""
    for k in range(n if weight != _ZERO else 0):
        if first[j + k] != _ZERO or second[j + k] != _ZERO:
            low, high, is_beyond = _times(first[j + k], second[j + k], weight)
            first[i + k], second[i + k] = _sum_words(first[i + k], second[i + k], low, high, is_beyond)
