"""MATCH_RECOGNIZE: holds the rows that may still matter, returns the rows of the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventide.errors import InputError
from eventide.families.rows import kernel_places as places
from eventide.families.rows.interpret import as_python, interpreted_test
from eventide.families.rows.progress import Progress, split_sessions
from eventide.families.rows.spec import RowsSpec
from eventide.families.rows.walk import ROWS_PER_BATCH, Kernel, Search, Walk, load_kernel, times_in_order
from eventide.runtime.block import MAX_US, TS
from eventide.runtime.borders import Beginnings
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.effort import TooManyStepsError, too_long
from eventide.runtime.holding import WatermarkOperator
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.marked import Held, MarkedBuffer
from eventide.runtime.measures import Found, Measures
from eventide.runtime.protocol import Results
from eventide.runtime.row_order import OrderedRows, order_rows
from eventide.runtime.shares import share_out
from eventide.runtime.threads import share_among_threads

HINT = "WITHIN or more exact conditions"


class RowsOperator(WatermarkOperator):
    """The operator of a `RowsSpec`. A match leaves as soon as no later row could change it."""

    def __init__(self, spec: RowsSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> None:
        super().__init__(spec.query, spec.facts)
        self.spec = spec
        self._buffer: MarkedBuffer = MarkedBuffer()
        self._next_us = MAX_US
        self._n_open = 0
        self._compute = compute
        self._n_threads = n_threads
        self._kernel = load_kernel(spec)

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        if block is not None:
            self._buffer.append(self._without_late(block))
        yield from self._advance(max(watermark_us, self._watermark_us))

    def open_runs(self) -> int:
        """Partitions whose next match waits for more rows, and has begun or may begin: at most one in each."""
        return self._n_open

    def pending_us(self) -> int | None:
        """The next row behind the watermark, or the next end of a window or of a partition."""
        times = [self._buffer.earliest_after(self._watermark_us), self._next_us]
        soon = min(MAX_US if time is None else time for time in times)
        return None if soon == MAX_US else soon

    def _counters(self) -> dict[str, Any]:
        own = {"next_us": self._next_us, "open_runs": self._n_open}
        return {**super()._counters(), **own, **self._buffer.written_marks()}

    def _take_counters(self, head: dict[str, Any]) -> None:
        super()._take_counters(head)
        self._next_us = head["next_us"]
        self._n_open = head["open_runs"]

    def _take_segments(self, segments: dict[int, bytes], head: dict[str, Any]) -> None:
        super()._take_segments(segments, head)
        self._buffer.read_marks(head)

    def _advance(self, watermark_us: int) -> Results:
        """What rows up to the watermark decide."""
        if watermark_us <= self._watermark_us:
            return
        self._watermark_us, self._next_us, self._n_open = watermark_us, MAX_US, 0
        held = self._buffer.take(watermark_us)
        if held is None:
            return
        spec, block = self.spec, held.block
        ordered, ts_us = self._order(block)
        ordered, is_open = self._cut(ordered, ts_us)
        progress = Progress.of(held, ordered, is_open)
        yield from self._rows(block, ordered, ts_us, progress)
        if watermark_us < MAX_US:
            self._n_open = int(np.count_nonzero(progress.waits(ordered)))
            self._next_us = progress.next_us(spec, ordered, ts_us, watermark_us)
            self._buffer.mark(held, *progress.marks(spec, ordered))

    def run_beginnings(self, block: pa.Table, part: Beginnings) -> Results:
        """The rows of the matches that begin in a slice; the block holds all rows that they may look at."""
        self._watermark_us = MAX_US
        ordered, ts_us = self._order(block)
        progress = Progress.of(Held(block, ()), ordered, np.zeros(1, dtype=np.bool_))
        progress.limit(*part.rows(ts_us))
        yield from self._rows(block, ordered, ts_us, progress)

    def _order(self, block: pa.Table) -> tuple[OrderedRows, IntArray]:
        """The order of the rows, and their times in it."""
        spec = self.spec
        ordered = order_rows(block, spec.layout.partition, spec.order, spec.tie_columns, self._n_threads)
        return ordered, times_in_order(spec, block, ordered.order, self._n_threads)

    def _rows(self, block: pa.Table, ordered: OrderedRows, ts_us: IntArray, progress: Progress) -> Results:
        measures = Measures(self.spec, block, ordered)
        keeps = self.spec.rows == "all with unmatched"
        for found in self._match(block, ordered, ts_us, progress):
            if keeps:
                found.mark(progress.matched)
            yield from measures.rows(found, ROWS_PER_BATCH)
        if keeps:
            unmatched = np.flatnonzero(progress.decided() & ~progress.matched)
            yield from measures.unmatched(unmatched, ROWS_PER_BATCH)

    def _cut(self, ordered: OrderedRows, ts_us: IntArray) -> tuple[OrderedRows, NDArray[np.bool_]]:
        """The partitions, where a long gap ends one and begins another, and to which of them more rows may come."""
        ttl_us = self.spec.ttl_us
        is_last = np.ones(ordered.offsets.size - 1, dtype=np.bool_)
        if ttl_us is not None:
            ordered, is_last = split_sessions(ordered, ts_us, ttl_us)
        if self._watermark_us == MAX_US:
            return ordered, np.zeros(is_last.size, dtype=np.bool_)
        if ttl_us is not None:
            is_last &= self._watermark_us + 1 - ts_us[ordered.offsets[1:] - 1] < ttl_us
        return ordered, is_last

    def _match(self, block: pa.Table, ordered: OrderedRows, ts_us: IntArray, progress: Progress) -> Iterator[Found]:
        """Matches, a bounded number at a time; each thread has a share of the partitions."""
        frontier_us = self._watermark_us + 1
        search = Search.of(self.spec, block, ordered, ts_us, progress.table, frontier_us, self._n_threads)
        kernel = self._kernel
        if self.spec.interpreted:
            # Functions of Python's: so the matcher runs as plain Python, too.
            holds = interpreted_test(kernel.tests[0], self.spec, block, ordered, self._compute)
            kernel = replace(kernel, match_rows=as_python(kernel.match_rows), tests=(holds, kernel.tests[1]))
        walks = [Walk(search, *share) for share in share_out(ordered.offsets, self._n_threads)]
        while walks:
            try:
                stepped = share_among_threads(lambda walk: self._step(walk, kernel), walks)
            except TooManyStepsError as error:
                row = int(ordered.order[ordered.offsets[error.partition]])
                raise too_long(block, self.spec.layout.partition, row, error.limit, HINT) from None
            yield from (found for found in stepped if found is not None)
            for walk in walks:
                if walk.problem:
                    raise self._skip_error(walk.problem)
            walks = [walk for walk in walks if not walk.is_done]

    def _step(self, walk: Walk, kernel: Kernel) -> Found | None:
        try:
            return walk.step(kernel)
        except OverflowError as error:
            raise InputError(
                f"a DEFINE condition leaves the range of its type: {error}",
                hint="cast one side to DOUBLE or to a wider DECIMAL",
            ) from error

    def _skip_error(self, problem: int) -> InputError:
        label, first = self.spec.skip_label, self.spec.skip == "first"
        where = f"AFTER MATCH SKIP TO {'FIRST' if first else 'LAST'} {label}"
        if problem == places.NO_SKIP_ROW:
            return InputError(f"{where}: a match has no row {label}", hint="skip to a label that every match has")
        hint = "skip to a label that never begins a match, or TO NEXT ROW"
        return InputError(f"{where}: it is the first row of the match, so matching would never end", hint=hint)


def warm(spec: RowsSpec) -> None:
    """Compile the spec's matcher into the cache, so that workers that share it only load it."""
    empty = pa.table({name: pa.array([], pa.int64()) for name in (TS, *spec.mask_columns)})
    nothing = OrderedRows(np.empty(0, np.int64), np.zeros(1, np.int64))
    search = replace(
        Search.of(replace(spec, encodings=()), empty, nothing, np.empty(0, np.int64), np.empty((0, 4), np.int64), 0, 1),
        cols=(np.empty((0, 0), np.int64), np.empty((0, 0)), np.empty((0, 0), np.bool_)),
    )
    Walk(search, 0, 0).step(load_kernel(spec))
