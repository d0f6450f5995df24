"""Aggregates over windows that count events: an event has its position when no earlier one can come.

What is held are the events that open windows hold or that have no position yet, and of every group how many events it
has forgotten.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from eventide.families.windows.operator import Partials, WindowOperator, spans_of
from eventide.families.windows.spec import WindowSpec
from eventide.runtime.block import MAX_US, SEQUENCE, TS
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.known import KnowingOperator
from eventide.runtime.ordered import Ordered, order_events
from eventide.runtime.positions import Positions
from eventide.runtime.protocol import Results
from eventide.runtime.threads import share_among_threads
from eventide.runtime.windows import CountWindows


class CountOperator(KnowingOperator, WindowOperator):
    """Decides a window when the watermark has come to the event that fills it; known are groups that forgot events."""

    def __init__(self, spec: WindowSpec, n_threads: int = 1) -> None:
        super().__init__(spec, n_threads)
        self._windows = CountWindows(spec.windows.size, spec.windows.slide)
        self._placed_us = np.empty(0, dtype=np.int64)  # times of the events whose windows are returned

    def take(self, block: pa.Table) -> None:
        """Hold events until they have positions, and as long as windows need them."""
        self._buffer.append(self._without_late(block))

    def _advance(self, watermark_us: int) -> Results:
        self._watermark_us = max(watermark_us, self._watermark_us)
        events = self._buffer.take_out(up_to_us=self._watermark_us)
        if events is None:
            return
        ties = self.spec.tie_columns
        positions = Positions.of(events, self._known, self.spec.layout.partition)
        ordered = order_events(events, self.spec.layout.partition, ties, self._n_threads)
        first = ordered.offsets[:-1]
        sizes = np.diff(ordered.offsets)
        code = positions.codes[ordered.order[np.minimum(first, ordered.order.size - 1)]]
        before = np.where(sizes > 0, positions.before[code], 0)
        place = before.repeat(sizes) + np.arange(ordered.order.size) - first.repeat(sizes)
        placed = self._placed(events, ordered, place)
        is_end = self._watermark_us == MAX_US
        size, slide = self._windows.length, self._windows.slide
        stop = np.full(sizes.size, MAX_US) if is_end else np.maximum((before + sizes - size) // slide + 1, 0)
        spans = spans_of(self.spec, ordered.offsets, place, -(-before // slide), stop)
        yield from self._rows(Partials(placed, ordered.offsets), spans)
        if not is_end:
            kept, known = positions.forget(self._known, self._windows, ties, ordered)
            self._know(known)
            self._buffer.append(kept)

    def _placed(self, events: pa.Table, ordered: Ordered, place: IntArray) -> pa.Table:
        """What groups and measures read of the events in their order, with positions in place of times."""
        self._placed_us = ordered.ts_us
        read = {name for measure in self.spec.measures for name, _ in measure.columns()}
        names = [*self.spec.layout.partition, *sorted(read - {*self.spec.layout.partition, TS})]
        names += [SEQUENCE] if self.spec.layout.has_sequence else []
        order = pa.array(ordered.order)
        taken = share_among_threads(lambda name: events.column(name).take(order), names)
        return pa.table({**dict(zip(names, taken, strict=True)), TS: place})

    def _complete_us(self, partials: Partials, spans: IntArray, end: IntArray) -> IntArray:
        """The time of the last event."""
        return self._placed_us[spans[:, 2] - 1]

    def pending_us(self) -> int | None:
        return self._buffer.earliest_after(self._watermark_us)
