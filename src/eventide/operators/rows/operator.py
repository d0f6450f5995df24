"""MATCH_RECOGNIZE: holds the rows that may still matter, returns the rows of the result."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventide.errors import InputError
from eventide.kernels import near as plain_near
from eventide.kernels import row_places as places
from eventide.kernels.arrays import IndexArray, IntArray
from eventide.operators.block import MAX_US, TS, numpy_int64
from eventide.operators.computed import Compute, cannot_compute
from eventide.operators.encode import encode_columns
from eventide.operators.generated import load_module, load_specialized
from eventide.operators.holding import WatermarkOperator
from eventide.operators.marked import MarkedBuffer
from eventide.operators.protocol import Results
from eventide.operators.rearrange import rearrange, rearrange_integers
from eventide.operators.rows.interpret import interpreted_test
from eventide.operators.rows.measures import Found, Measures
from eventide.operators.rows.order import OrderedRows, order_rows
from eventide.operators.rows.progress import Progress, split_sessions
from eventide.operators.rows.spec import RowsSpec
from eventide.operators.shares import share_out

MATCHES_PER_BATCH = 1 << 16
ROWS_PER_BATCH = 1 << 20
_SKIP = {"past last": places.SKIP_PAST_LAST, "next": places.SKIP_NEXT}


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
        self._n_open = head.get("open_runs", 0)
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
        ordered = order_rows(block, spec.layout.partition, spec.order, spec.tie_columns, self._n_threads)
        ts_us = _times(spec, block, ordered.order, self._n_threads)
        ordered, is_open = self._cut(ordered, ts_us)
        progress = Progress.of(held, ordered, is_open)
        measures = Measures(spec, block, ordered)
        keeps = spec.rows == "all with unmatched"
        for found in self._match(block, ordered, ts_us, progress):
            if keeps:
                found.mark(progress.matched)
            yield from measures.rows(found, ROWS_PER_BATCH)
        if keeps:
            unmatched = np.flatnonzero(progress.decided() & ~progress.matched)
            yield from measures.unmatched(unmatched, ROWS_PER_BATCH)
        if watermark_us < MAX_US:
            self._n_open = int(np.count_nonzero(progress.waits(ordered)))
            self._next_us = progress.next_us(spec, ordered, ts_us, watermark_us)
            self._buffer.mark(held, *progress.marks(spec, ordered))

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
        search = _Search.of(self.spec, block, ordered, ts_us, progress.table, frontier_us, self._n_threads)
        kernel = self._kernel
        if self.spec.interpreted:
            # Functions of Python's: so the matcher runs as plain Python, too.
            holds = interpreted_test(kernel.tests[0], self.spec, block, ordered, self._compute)
            match_rows = getattr(kernel.match_rows, "py_func", kernel.match_rows)
            kernel = replace(kernel, match_rows=match_rows, tests=(holds, kernel.tests[1]))
        walks = [_Walk(search, ordered.offsets, *share) for share in share_out(ordered.offsets, self._n_threads)]
        with ThreadPoolExecutor(max_workers=len(walks) or 1) as pool:
            while walks:
                stepped = list(pool.map(lambda walk: self._step(walk, kernel), walks))
                yield from (found for found in stepped if found is not None)
                for walk in walks:
                    if walk.problem:
                        raise self._skip_error(walk.problem)
                walks = [walk for walk in walks if not walk.is_done]

    def _step(self, walk: _Walk, kernel: Kernel) -> Found | None:
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


@dataclass(frozen=True, slots=True)
class _Search:
    """The arrays that all threads read."""

    ts_us: IntArray
    masks: IntArray
    program: IndexArray
    joins: IndexArray
    bits: IndexArray
    near_bits: IndexArray
    tested: IndexArray
    skip_members: IndexArray
    limits: IntArray
    progress: IntArray
    n_folds: tuple[int, int, int]
    n_mask_columns: int
    n_near: int
    cols: Any

    @staticmethod
    def of(
        spec: RowsSpec,
        block: pa.Table,
        ordered: OrderedRows,
        ts_us: IntArray,
        progress: IntArray,
        frontier_us: int,
        n_threads: int,
    ) -> _Search:
        order = ordered.order
        n_columns, n_near = len(spec.mask_columns), max(spec.nears, default=-1) + 1
        masks = np.empty((n_columns + -(-n_near // 64), order.size), dtype=np.int64)
        for i, name in enumerate(spec.mask_columns):
            rearrange_integers(block.column(name), order, masks[i], n_threads)
        n_labels = len(spec.program.labels)
        skip_members = np.zeros(max(n_labels, 1), dtype=np.int32)
        skip_members[list(spec.skip_members)] = 1
        per_attempt = spec.is_timed or spec.depends_on_start
        limits = [
            spec.span_us,
            _SKIP.get(spec.skip, places.SKIP_TO),
            int(spec.skip == "last"),
            places.MEMO_PER_ATTEMPT if per_attempt else places.MEMO_PER_PARTITION,
            spec.program.n_registers,
            spec.ahead,
            frontier_us,
            _first_bits(spec),
        ]
        return _Search(
            ts_us=ts_us,
            masks=masks,
            program=spec.program.arrays(),
            joins=spec.program.joins(spec.depends_on_path),
            bits=np.array(spec.bits, dtype=np.int32),
            near_bits=np.array([-1 if i < 0 else 64 * n_columns + i for i in spec.nears], dtype=np.int32),
            tested=np.array(spec.tested, dtype=np.int32),
            skip_members=skip_members,
            limits=np.array(limits, dtype=np.int64),
            progress=progress,
            n_folds=spec.n_folds,
            n_mask_columns=n_columns,
            n_near=n_near,
            cols=encode_columns(block, spec.encodings, order, n_threads),
        )


def _first_bits(spec: RowsSpec) -> int:
    """The bits of the first mask of which a match's first row has one; 0: nothing is known of it."""
    bits = [spec.bits[label] for label in spec.program.first_labels() or ()]
    return sum(1 << bit for bit in bits) if all(0 <= bit < 64 for bit in bits) else 0


def _times(spec: RowsSpec, block: pa.Table, order: IntArray, n_threads: int) -> IntArray:
    if not spec.is_timed:
        return np.empty(0, np.int64)
    return rearrange(numpy_int64(block.column(TS)), order, n_threads)


class _Walk:
    """One thread's way through partitions `start` to `stop`, with its own room to work in."""

    def __init__(self, search: _Search, offsets: IntArray, start: int, stop: int) -> None:
        self._search = search
        self._offsets = offsets
        self._start, self._stop = start, stop
        self._is_marked = False
        self._state = np.array([start, -1, 1, 0, 0], dtype=np.int64)
        largest = int(np.diff(offsets[start : stop + 1]).max(initial=0))
        n_numbers = int(np.where(search.joins >= 0, search.joins + search.program[:, 3] + 1, 0).max(initial=0))
        self._tried = np.zeros(n_numbers * (largest + 1), dtype=np.int32)
        self._make_room(1 << 10)
        self._out = np.empty((MATCHES_PER_BATCH, 4), dtype=np.int64)
        self._out_path = np.empty(min(ROWS_PER_BATCH, 4 * int(offsets[stop] - offsets[start]) + 1), dtype=np.int32)
        n_integers, n_doubles, n_counts = search.n_folds
        depth = largest if n_counts else 0
        self._folds = (
            np.empty((n_integers, depth), np.int64),
            np.empty((n_doubles, depth)),
            np.empty((n_counts, depth), np.int64),
        )

    @property
    def is_done(self) -> bool:
        return bool(self._state[places.PARTITION] >= self._stop)

    @property
    def problem(self) -> int:
        """What the user must hear of."""
        return int(self._state[places.PROBLEM])

    def _make_room(self, size: int) -> None:
        self._path = np.empty((3, size), dtype=np.int32)
        self._stack = np.empty((3, size), dtype=np.int32)
        self._trail = np.empty(size, dtype=np.int64)

    def step(self, kernel: Kernel) -> Found | None:
        """The next matches; None when a call found none."""
        search = self._search
        if not self._is_marked:
            self._is_marked = True
            kernel.mark_near(
                self._offsets, self._start, self._stop, search.n_near, search.n_mask_columns, search.masks, search.cols
            )
        n: int = kernel.match_rows(
            self._offsets,
            self._stop,
            search.ts_us,
            search.masks,
            search.program,
            search.joins,
            search.bits,
            search.near_bits,
            search.tested,
            search.skip_members,
            search.limits,
            search.progress,
            self._state,
            self._tried,
            self._path,
            self._stack,
            self._trail,
            self._folds,
            kernel.tests,
            search.cols,
            self._out,
            self._out_path,
        )
        found = None
        if n:
            used = self._out_path[: self._out[n - 1, 3]]
            labels, excluded = search.program[:, 1][used], search.program[:, 2][used] != 0
            found = Found.of(self._out[:n], self._offsets, labels, excluded)
        if self.problem == places.OUTPUT_FULL:
            self._out_path = np.empty(4 * self._out_path.size, dtype=np.int32)
        elif self.problem == places.WORK_FULL:
            self._make_room(4 * self._trail.size)
        else:
            return found
        self._state[places.PROBLEM] = places.NO_PROBLEM
        return found


@dataclass(frozen=True, slots=True)
class Kernel:
    """The matcher, with what belongs to one query."""

    match_rows: Any
    mark_near: Any
    tests: tuple[Any, Any]  # holds, fold


def load_kernel(spec: RowsSpec) -> Kernel:
    """The matcher with the query's conditions."""
    # Importing it compiles it, once per machine: not before a query needs it.
    from eventide.kernels import rows

    marks, tests = plain_near, rows.NO_TESTS
    if spec.near_source is not None:
        marks = load_specialized(plain_near, {"near": spec.near_source})
    if spec.tests_source is not None:
        made = load_module(spec.tests_source)
        tests = (made.holds, made.fold)
    return Kernel(rows.match_rows, marks.mark_near, tests)


def warm(spec: RowsSpec) -> None:
    """Compile the spec's matcher into the cache, so that workers that share it only load it."""
    empty = pa.table({name: pa.array([], pa.int64()) for name in (TS, *spec.mask_columns)})
    nothing = OrderedRows(np.empty(0, np.int64), np.zeros(1, np.int64))
    search = replace(
        _Search.of(
            replace(spec, encodings=()), empty, nothing, np.empty(0, np.int64), np.empty((0, 3), np.int64), 0, 1
        ),
        cols=(np.empty((0, 0), np.int64), np.empty((0, 0)), np.empty((0, 0), np.bool_)),
    )
    _Walk(search, nothing.offsets, 0, 0).step(load_kernel(spec))
