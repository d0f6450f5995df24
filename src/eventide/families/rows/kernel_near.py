"""Conditions that look at a row and its neighbours, decided once for each row; compiled for each query."""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit
from eventide.families.rows.kernel_places import HIGH, LOW
from eventide.runtime.kernels.arrays import IntArray


# <generated: near>
@njit(cache=True, nogil=True)
def near(which: int, row: int, span: IntArray, cols: Any) -> bool:
    """Whether a condition that looks at the row and its neighbours holds; replaced per query."""
    return True


# </generated>


@njit(cache=True, nogil=True)
def mark_near(
    offsets: IntArray, start: int, stop: int, n_near: int, first_word: int, masks: IntArray, cols: Any
) -> None:
    """Set a bit for each row and condition that looks at no more than its neighbours: 64 conditions to a mask."""
    span = np.zeros(4, dtype=np.int64)
    for partition in range(start, stop):
        span[LOW], span[HIGH] = offsets[partition], offsets[partition + 1]
        for row in range(span[LOW], span[HIGH]):
            for word in range((n_near + 63) // 64):
                found = np.int64(0)
                for which in range(64 * word, min(n_near, 64 * word + 64)):
                    if near(which, row, span, cols):
                        found |= np.int64(1) << np.int64(which & 63)
                masks[first_word + word, row] = found
