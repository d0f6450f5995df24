"""Aggregates over windows of so many events: an event has its position when no earlier one can come.

What is held are the events behind the watermark, and partial aggregates of the positions that open windows hold. The
last of a group also tells how many events the group has had.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from eventide.families.windows.operator import LAST, WindowOperator, merged, panes_of, reduced, spans_of
from eventide.families.windows.spec import WindowSpec
from eventide.runtime.block import MAX_US, SEQUENCE, TS, concatenate, numpy_int64
from eventide.runtime.buffer import EventBuffer
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.measured import RowOrder
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.protocol import Results
from eventide.runtime.row_order import order_rows


class CountOperator(WindowOperator):
    """Decides a window when the watermark has come to the event that fills it."""

    def __init__(self, spec: WindowSpec, n_threads: int = 1) -> None:
        super().__init__(spec, n_threads)
        self._panes = EventBuffer()

    def take(self, block: pa.Table) -> None:
        """Hold events until they have positions."""
        self._buffer.append(self._without_late(block))

    def finish(self) -> Results:
        """Windows that are not full are returned, too."""
        yield from self._advance(MAX_US)
        yield from self._close(to_the_end=True)
        self._buffer.clear()
        self._panes.clear()

    def _advance(self, watermark_us: int) -> Results:
        self._watermark_us = max(watermark_us, self._watermark_us)
        events = self._buffer.take_out(up_to_us=self._watermark_us)
        if events is None:
            return
        yield from self._close(events)

    def _close(self, events: pa.Table | None = None, *, to_the_end: bool = False) -> Results:
        """The windows that some events fill, or all that are left."""
        windows, held = self.spec.windows, self._panes.select_all()
        if events is not None:
            placed, codes, n_codes = self._placed(events, held)
            self._panes.append(reduced(self.spec, placed, codes, n_codes))
        n_before = 0 if held is None else held.num_rows
        held = self._panes.select_all()
        if held is None:
            return
        partials = merged(self.spec, held)
        group, n_groups = encode_partitions(held, self.spec.layout.partition)
        seen = np.zeros((2, n_groups), dtype=np.int64)
        last = numpy_int64(held.column(LAST)) + 1
        np.maximum.at(seen[0], group[:n_before], last[:n_before])
        np.maximum.at(seen[1], group, last)
        some = seen[1] > 0
        first, stop = np.maximum((seen[:, some] - windows.size) // windows.slide + 1, 0)
        if to_the_end:
            first, stop = stop, np.full(stop.size, MAX_US)
        pane = panes_of(self.spec, numpy_int64(partials.table.column(TS)))
        yield from self._rows(partials, spans_of(self.spec, partials.borders, pane, first, stop))
        self._forget(partials.table, partials.borders, stop, held.num_rows)

    def _placed(self, events: pa.Table, held: pa.Table | None) -> tuple[pa.Table, IntArray, int]:
        """The events with their positions in place of their times, and their groups."""
        names = self.spec.layout.partition
        keys = [RowOrder(name, False, True) for name in (TS, SEQUENCE) if name in events.column_names]
        ordered = order_rows(events, names, keys, self.spec.tie_columns, self._n_threads)
        events = events.take(pa.array(ordered.order))
        known = [] if held is None else [held.select([*names, LAST])]
        n_known = sum(table.num_rows for table in known)
        stacked = concatenate([*(table.select(names) for table in known), events.select(names)]) if names else None
        if stacked is None:
            codes, n_codes = np.zeros(n_known + events.num_rows, dtype=np.int64), 1
        else:
            codes, n_codes = encode_partitions(stacked, names)
        before = np.zeros(n_codes, dtype=np.int64)
        if known:
            np.maximum.at(before, codes[:n_known], numpy_int64(known[0].column(LAST)) + 1)
        codes = codes[n_known:]
        begins = np.repeat(ordered.offsets[:-1], np.diff(ordered.offsets))
        position = before[codes] + np.arange(codes.size) - begins
        placed = events.set_column(events.column_names.index(TS), TS, pa.array(position))
        return placed.drop_columns([SEQUENCE]) if SEQUENCE in placed.column_names else placed, codes, n_codes

    def _forget(self, table: pa.Table, borders: IntArray, stop: IntArray, n_held: int) -> None:
        """Let go of what no window needs, when it is the larger part: until then no row is written twice."""
        start = numpy_int64(table.column(TS))
        needed = start >= np.repeat(stop * self.spec.windows.slide, np.diff(borders))
        needed[borders[1:] - 1] = True
        left = table.filter(pa.array(needed))
        if 2 * left.num_rows < n_held:
            self._panes.clear()
            self._panes.append(left)

    def open_runs(self) -> int:
        return self._panes.count(MAX_US)

    def memory_bytes(self) -> int:
        return self._buffer.memory_bytes() + self._panes.memory_bytes()

    def pending_us(self) -> int | None:
        return self._buffer.earliest_after(self._watermark_us)

    def _segments(self) -> dict[int, bytes]:
        # Numbers of events are even, those of partial aggregates odd.
        events = {2 * number: data for number, data in self._buffer.segments().items()}
        return events | {2 * number + 1: data for number, data in self._panes.segments().items()}

    def _take_segments(self, segments: dict[int, bytes], head: dict[str, Any]) -> None:
        self._buffer.restore({n // 2: data for n, data in segments.items() if n % 2 == 0}, head["next_segment"])
        self._panes.restore({n // 2: data for n, data in segments.items() if n % 2}, head["next_pane"])

    def _counters(self) -> dict[str, Any]:
        return {**super()._counters(), "next_pane": self._panes.next_number}
