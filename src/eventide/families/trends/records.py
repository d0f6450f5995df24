"""Records of the trend kernels as arrays, and what counting leaves of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from eventide.families.trends.compiled import Kernel
from eventide.runtime.kernels.arrays import IntArray


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted in every window of every partition.

    `rows` is a block row of each one's partition, `last_us` the time of its last event that a symbol
    takes, `records` one record per side
    of the pattern, `ambiguous` whether one has an ambiguous binding, `distinct` the values that extremes are ranks of.
    """

    rows: IntArray
    start: IntArray
    end: IntArray
    last_us: IntArray
    records: Any
    ambiguous: Any
    distinct: list[pa.Array]

    def select(self, keep: Any) -> Counted:
        """Some of them."""
        if keep.all():
            return self
        n = self.rows.size

        def selected(array: Any) -> Any:
            return array.reshape(n, -1, *array.shape[1:])[keep].reshape(-1, *array.shape[1:]) if array.size else array

        return Counted(
            self.rows[keep],
            self.start[keep],
            self.end[keep],
            self.last_us[keep],
            tuple(selected(array) for array in self.records),
            selected(self.ambiguous),
            self.distinct,
        )


def new_records(kernel: Kernel, n: int, sizes: IntArray) -> tuple[Any, ...]:
    """Records without a trend; `sizes` are the classes, weights, sums and extremes of each."""
    n_classes, n_weights, n_sums, n_extremes = (int(size) for size in sizes)
    dtype = kernel.numbers.DTYPE
    return (
        np.zeros((n, 2), dtype=dtype),
        np.zeros((n * n_classes * n_weights, 2), dtype=dtype),
        np.zeros((n * n_classes * n_sums, 2), dtype=np.float64),
        np.full(n * n_classes * n_extremes, kernel.records.NONE, dtype=np.int64),
    )
