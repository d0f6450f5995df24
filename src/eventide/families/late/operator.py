"""Events that came after the watermark had passed them, as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.runtime.block import MASK, TS, Layout, numpy_int64
from eventide.runtime.holding import WatermarkOperator
from eventide.runtime.protocol import Results


@dataclass(frozen=True, slots=True)
class LateSpec:
    """Late events of blocks of a layout, with the columns that are returned."""

    family: ClassVar[str] = "late"
    query: str
    layout: Layout
    facts: tuple[tuple[str, str], ...] = ()  # nothing is kept that depends on any
    following: int = 0  # bits of the mask: such events come up to `lag_us` after their time, and are not late by then
    lag_us: int = 0


class LateOperator(WatermarkOperator):
    """The operator of a `LateSpec`. It holds nothing."""

    def __init__(self, spec: LateSpec) -> None:
        super().__init__(spec.query)
        self.spec = spec

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        if block is not None:
            late = block.filter(pc.less_equal(block.column(TS), self._limits(block)))
            self._n_late += late.num_rows
            yield from late.select(self.spec.layout.returned).to_batches()
        self._watermark_us = max(self._watermark_us, watermark_us)

    def _limits(self, block: pa.Table) -> int | pa.Array:
        if not self.spec.following:
            return self._watermark_us
        follows = numpy_int64(block.column(MASK)) & self.spec.following != 0
        return pa.array(np.where(follows, self._watermark_us - self.spec.lag_us, self._watermark_us))

    def finish(self) -> Results:
        yield from ()

    def open_runs(self) -> int:
        """None: a late event is decided when it comes."""
        return 0

    def pending_us(self) -> int | None:
        return None
