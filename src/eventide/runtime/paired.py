"""What operators over two inputs share: sides as bits of the mask, and sides that an operator before them derives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from eventide.runtime.block import MASK, TS, numpy_int64
from eventide.runtime.holding import Facts, WatermarkOperator
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.protocol import Results

PAIRS_PER_BATCH = 1 << 17


class PairedOperator(WatermarkOperator):
    """Rows of two sides in one block. Those of `following` sides may come `lag_us` after their time."""

    def __init__(self, query: str, facts: Facts, following: int, lag_us: int) -> None:
        super().__init__(query, facts)
        self._following, self._lag_us = following, lag_us

    def _in_time(self, block: pa.Table, watermark_us: int) -> pa.Table:
        """The block without what comes too late; of sides that are not derived the stream's watermark decides that."""
        block = self._without_late(block)
        if not self._following:
            return block
        is_derived = numpy_int64(block.column(MASK)) & self._following != 0
        is_in_time = is_derived | (numpy_int64(block.column(TS)) > watermark_us)
        self._n_late += block.num_rows - int(is_in_time.sum())
        return block.filter(pa.array(is_in_time))

    def _advance_behind(self, watermark_us: int) -> Results:
        """Derived rows come later than their time: the operator's watermark stays as far behind the stream's."""
        yield from self._advance(max(watermark_us - self._lag_us, self._watermark_us))


def cut_pairs(ends: IntArray) -> Iterator[tuple[int, int]]:
    """Ranges of left rows with about as many pairs as a batch has; `ends` counts those up to each."""
    first = 0
    while first < ends.size:
        before = int(ends[first - 1]) if first else 0
        stop = int(np.searchsorted(ends, before + PAIRS_PER_BATCH, side="right"))
        stop = max(stop, first + 1)
        yield first, stop
        first = stop
