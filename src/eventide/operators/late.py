"""Events that came after the watermark had passed them, as they are."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from eventide.operators.block import TS, Layout
from eventide.operators.holding import WatermarkOperator
from eventide.operators.protocol import Results


@dataclass(frozen=True, slots=True)
class LateSpec:
    """Late events of blocks of a layout, with the columns that are returned."""

    query: str
    layout: Layout
    facts: tuple[tuple[str, str], ...] = ()  # nothing is kept that depends on any


class LateOperator(WatermarkOperator):
    """The operator of a `LateSpec`. It holds nothing."""

    def __init__(self, spec: LateSpec) -> None:
        super().__init__(spec.query)
        self.spec = spec

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        if block is not None:
            late = block.filter(pc.less_equal(block.column(TS), self._watermark_us))
            self._n_late += late.num_rows
            yield from late.select(self.spec.layout.returned).to_batches()
        self._watermark_us = max(self._watermark_us, watermark_us)

    def finish(self) -> Results:
        yield from ()

    def open_runs(self) -> int:
        """None: a late event is decided when it comes."""
        return 0

    def pending_us(self) -> int | None:
        return None
