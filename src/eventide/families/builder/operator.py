"""A builder pattern: holds the events that may still matter, returns the rows of the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from eventide.errors import InputError
from eventide.families.builder.kernel_places import NEXT_ROW, STOP_ROW
from eventide.families.builder.matches import Found, Rows
from eventide.families.builder.partial import PartialMatches, keep, make_progress
from eventide.families.builder.spec import DetectionSpec
from eventide.families.builder.walk import Search, Walk, load_kernel
from eventide.runtime.block import MAX_US, TS, numpy_int64
from eventide.runtime.borders import Beginnings
from eventide.runtime.effort import TooManyStepsError, too_long
from eventide.runtime.holding import WatermarkOperator
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.limit import Tally, TooManyMatchesError, too_many
from eventide.runtime.marked import Held, MarkedBuffer
from eventide.runtime.protocol import Results
from eventide.runtime.row_order import OrderedRows, order_rows
from eventide.runtime.shares import share_out
from eventide.runtime.threads import share_among_threads

HINT = "within(...), stricter conditions or skip="


class DetectionOperator(WatermarkOperator):
    """The operator of a `DetectionSpec`. Of a stream, it keeps partial matches and the events that they hold."""

    def __init__(self, spec: DetectionSpec, n_threads: int = 1) -> None:
        super().__init__(spec.query, spec.facts)
        self.spec = spec
        self._buffer: MarkedBuffer = MarkedBuffer()
        self._partial = PartialMatches.none()
        self._n_threads = n_threads
        self._kernel = load_kernel(spec)

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        if block is not None:
            self._buffer.append(self._without_late(block))
        yield from self._advance(max(watermark_us, self._watermark_us))

    def open_runs(self) -> int:
        """Partial matches that are kept, as of the watermark."""
        return self._partial.size

    def pending_us(self) -> int | None:
        """The next event behind the watermark, or the next time at which a partial match runs out of time."""
        times = [self._buffer.earliest_after(self._watermark_us), self._partial.next_us]
        soon = min(MAX_US if time is None else time for time in times)
        return None if soon == MAX_US else soon

    def _counters(self) -> dict[str, Any]:
        return {**super()._counters(), **self._buffer.written_marks(), "partial": self._partial.written()}

    def _take_counters(self, head: dict[str, Any]) -> None:
        super()._take_counters(head)
        self._partial = PartialMatches.read(head["partial"])

    def _take_segments(self, segments: dict[int, bytes], head: dict[str, Any]) -> None:
        super()._take_segments(segments, head)
        self._buffer.read_marks(head)

    def _advance(self, watermark_us: int) -> Results:
        """Rows, a bounded number at a time; each thread has a share of the partitions."""
        if watermark_us <= self._watermark_us:
            return
        self._watermark_us = watermark_us
        held = self._buffer.take(watermark_us)
        if held is None:
            return
        spec, is_open = self.spec, watermark_us < MAX_US
        ordered = self._order(held.block)
        progress = make_progress(held, ordered, is_open)
        search, walks = self._search(held.block, ordered, progress, watermark_us if is_open else spec.end_us)
        yield from self._rows(held.block, ordered, walks)
        if is_open:
            self._partial, marks, numbers = keep(spec, ordered, search.events.ts_us, [walk.kept() for walk in walks])
            self._buffer.mark(held, marks, numbers)

    def run_beginnings(self, block: pa.Table, part: Beginnings) -> Results:
        """The rows of the matches that begin in a slice; the block holds all events that they may look at."""
        ordered = self._order(block)
        progress = make_progress(Held(block, ()), ordered, is_open=False)
        progress[0, [NEXT_ROW, STOP_ROW]] = part.rows(numpy_int64(block.column(TS))[ordered.order])
        _, walks = self._search(block, ordered, progress, self.spec.end_us)
        yield from self._rows(block, ordered, walks)

    def _order(self, block: pa.Table) -> OrderedRows:
        spec = self.spec
        return order_rows(block, spec.layout.partition, spec.order, spec.tie_columns, self._n_threads)

    def _search(
        self, block: pa.Table, ordered: OrderedRows, progress: IntArray, end_us: int
    ) -> tuple[Search, list[Walk]]:
        search = Search.of(self.spec, block, ordered, progress, self._partial.arrays, end_us, self._n_threads)
        shares = share_out(ordered.offsets, self._n_threads)
        return search, [Walk(search, *share) for share in shares]

    def _rows(self, block: pa.Table, ordered: OrderedRows, walks: list[Walk]) -> Results:
        spec = self.spec
        rows = Rows(spec, block, ordered)
        try:
            yield from map(rows.batch, self._found(walks, Tally(spec.max_matches, ordered.offsets)))
        except TooManyMatchesError as error:
            row = int(ordered.order[ordered.offsets[error.partition]])
            raise too_many(block, spec.layout.partition, row, error.limit, "matches", HINT) from None
        except TooManyStepsError as error:
            row = int(ordered.order[ordered.offsets[error.partition]])
            raise too_long(block, spec.layout.partition, row, error.limit, HINT) from None

    def _found(self, walks: list[Walk], tally: Tally) -> Iterator[Found]:
        while walks:
            share_among_threads(self._step, walks)
            for walk in walks:
                for found in walk.found():
                    tally.add(found.partition[found.is_timeout == 0])
                    yield found
            walks = [walk for walk in walks if not walk.is_done]

    def _step(self, walk: Walk) -> None:
        try:
            walk.step(self._kernel)
        except OverflowError as error:
            raise InputError(
                f"a condition leaves the range of its type: {error}",
                hint="cast one side to DOUBLE or to a wider DECIMAL",
            ) from error


def warm(spec: DetectionSpec) -> None:
    """Compile the spec's kernel into the cache, so that workers that share it only load it."""
    empty = pa.table({name: pa.array([], pa.int64()) for name in (TS, *spec.mask_columns)})
    nothing = OrderedRows(np.empty(0, np.int64), np.zeros(1, np.int64))
    bare, progress = replace(spec, encodings=()), np.empty((0, 4), np.int64)
    search = Search.of(bare, empty, nothing, progress, PartialMatches.none().arrays, 0, 1)
    cols = np.empty((0, 0), np.int64), np.empty((0, 0)), np.empty((0, 0), np.bool_)
    Walk(replace(search, events=search.events._replace(cols=cols)), 0, 0).step(load_kernel(spec))
