"""Windows that are returned while they are open, beside the final rows: EMIT EVERY.

Time has come to an instant when the watermark is just before it; the first watermark is where time begins. When it has
come to a multiple of the interval that is later than all before it, then every open window that has got an event since
its last early row gives an early row: its aggregates over the events that have come, `is_final` false, and
`detected_at` that multiple. The rows of windows that end with this step of time come before, and are final. A step of
time over several multiples stands for the last of them. What is early follows from the order in which events and
watermarks come; the final rows do not depend on it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.families.windows.operator import (
    LAST,
    Parts,
    WindowOperator,
    is_partial,
    merged,
    panes_of,
    spans_of,
    window_after,
)
from eventide.families.windows.spec import IS_FINAL, SESSION, Measure, WindowSpec
from eventide.runtime.block import MAX_US, TS, numpy_int64
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.protocol import Results

_TURN = "turn"


class EarlyOperator(WindowOperator):
    """Counts turns, which early rows end; one more measure is the last turn in which a pane or session got events."""

    def __init__(self, spec: WindowSpec, n_threads: int = 1) -> None:
        self._part = f"m{len(spec.measures)}_0"
        spec = replace(spec, measures=(*spec.measures, Measure("MAX", _TURN, pa.int64())))
        super().__init__(spec, n_threads)
        self._turn = 0
        self._has_new = False  # events of this turn
        self._tick_us: int | None = None  # the last multiple of the interval; None: time has not begun
        self._is_early = False  # the rows that are being made

    def take(self, block: pa.Table) -> None:
        name = self._part if is_partial(block) else _TURN
        before = self._buffer.next_number
        super().take(block.append_column(name, pa.array(np.full(block.num_rows, self._turn))))
        self._has_new |= self._buffer.next_number != before

    def _advance(self, watermark_us: int) -> Results:
        yield from super()._advance(watermark_us)
        if not self.spec.is_early or self._watermark_us >= MAX_US:
            return
        before_us, self._tick_us = self._tick_us, (self._watermark_us + 1) // self.spec.every_us * self.spec.every_us
        if before_us is not None and self._tick_us > before_us and self._has_new:
            self._is_early = True
            yield from (rows for rows in self._open_windows() if rows.num_rows)
            self._is_early = False
            self._has_new = False
            self._turn += 1

    def _open_windows(self) -> Results:
        held = self._buffer.select_all()
        if held is None:
            return
        partials = merged(self.spec, held)
        if self.spec.windows.kind == SESSION:
            is_open = numpy_int64(partials.table.column(LAST)) + self.spec.windows.size > self._watermark_us + 1
            yield from self._session_rows(partials.table, np.flatnonzero(is_open))
            return
        n_groups = partials.borders.size - 1
        first, stop = np.full(n_groups, window_after(self.spec, self._watermark_us)), np.full(n_groups, MAX_US)
        pane = panes_of(self.spec, numpy_int64(partials.table.column(TS)))
        yield from self._rows(partials, spans_of(self.spec, partials.borders, pane, first, stop))

    def _batch(
        self, table: pa.Table, at: IntArray, bounds: tuple[IntArray, ...], complete_us: IntArray, parts: list[Parts]
    ) -> pa.RecordBatch:
        if self._is_early:
            complete_us = np.full(complete_us.size, self._tick_us)
        made = super()._batch(table, at, bounds, complete_us, parts)
        if self._is_early:
            made = made.filter(pc.equal(made.column(made.num_columns - 1), self._turn))
        is_final = pa.array(np.full(made.num_rows, not self._is_early))
        names = [*made.schema.names[:-1], IS_FINAL]
        return pa.RecordBatch.from_arrays([*made.columns[:-1], is_final], names=names)

    def pending_us(self) -> int | None:
        closes_us = super().pending_us()
        if not self.spec.is_early or not self._has_new:
            return closes_us
        # Time that has not begun must be told when it begins: on Spark that is behind the epoch.
        tick_us = 1 if self._tick_us is None else self._tick_us + self.spec.every_us - 1
        return tick_us if closes_us is None else min(closes_us, tick_us)

    def _counters(self) -> dict[str, Any]:
        return {**super()._counters(), "turn": self._turn, "has_new": self._has_new, "tick_us": self._tick_us}

    def _take_counters(self, head: dict[str, Any]) -> None:
        super()._take_counters(head)
        self._turn, self._has_new, self._tick_us = head["turn"], head["has_new"], head["tick_us"]
