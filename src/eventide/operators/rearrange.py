"""Columns into another order, on several threads: after reading, the largest part of preparing a block."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from eventide.kernels.arrays import IntArray
from eventide.kernels.order import gather

Values = TypeVar("Values", bound=NDArray[Any])

_WORTH_A_THREAD = 1 << 16


def rearrange(values: Values, order: IntArray, n_threads: int = 1) -> Values:
    """The values in the given order.

    >>> rearrange(np.array([10, 20, 30]), np.array([2, 0, 1])).tolist()
    [30, 10, 20]
    """
    out = np.empty(order.size, dtype=values.dtype)
    n_parts = max(1, min(n_threads, order.size // _WORTH_A_THREAD))
    if n_parts == 1:
        gather(values, order, out)
        return out  # type: ignore[return-value]
    borders = [order.size * i // n_parts for i in range(n_parts + 1)]
    slices = [slice(start, stop) for start, stop in pairwise(borders)]
    with ThreadPoolExecutor(n_parts) as pool:
        list(pool.map(lambda part: gather(values, order[part], out[part]), slices))
    return out  # type: ignore[return-value]
