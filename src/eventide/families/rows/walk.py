"""One thread's way through partitions of rows: calls the matcher, makes room for it, and reads what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from eventide.families.rows import kernel_near as plain_near
from eventide.families.rows import kernel_places as places
from eventide.families.rows.spec import RowsSpec
from eventide.runtime.block import TS, numpy_int64
from eventide.runtime.effort import Effort, Pace
from eventide.runtime.encode import encode_columns
from eventide.runtime.generated import load_module, load_specialized
from eventide.runtime.kernels.arrays import IndexArray, IntArray
from eventide.runtime.measures import Found
from eventide.runtime.rearrange import rearrange, rearrange_integers
from eventide.runtime.row_order import OrderedRows

MATCHES_PER_BATCH = 1 << 16
ROWS_PER_BATCH = 1 << 20
ROOM = 1 << 10  # choices that there is room for at first
_SKIP = {"past last": places.SKIP_PAST_LAST, "next": places.SKIP_NEXT}


@dataclass(frozen=True, slots=True)
class Search:
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
    n_registers: int
    n_folds: tuple[int, int, int]
    n_mask_columns: int
    n_near: int
    cols: Any
    effort: Effort

    @staticmethod
    def of(
        spec: RowsSpec,
        block: pa.Table,
        ordered: OrderedRows,
        ts_us: IntArray,
        progress: IntArray,
        frontier_us: int,
        n_threads: int,
    ) -> Search:
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
            spec.ahead,
            frontier_us,
            _first_bits(spec),
        ]
        return Search(
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
            n_registers=spec.program.n_registers,
            n_folds=spec.n_folds,
            n_mask_columns=n_columns,
            n_near=n_near,
            cols=encode_columns(block, spec.encodings, order, n_threads),
            # Where no condition depends on the labels of other rows, what failed once is not tried again.
            effort=Effort(spec.max_steps, ordered.offsets, may_double=any(spec.depends_on_path)),
        )


def _first_bits(spec: RowsSpec) -> int:
    """The bits of the first mask of which a match's first row has one; 0: nothing is known of it."""
    bits = [spec.bits[label] for label in spec.program.first_labels() or ()]
    return sum(1 << bit for bit in bits) if all(0 <= bit < 64 for bit in bits) else 0


def times_in_order(spec: RowsSpec, block: pa.Table, order: IntArray, n_threads: int) -> IntArray:
    if not spec.is_timed:
        return np.empty(0, np.int64)
    return rearrange(numpy_int64(block.column(TS)), order, n_threads)


class Walk:
    """One thread's way through partitions `start` to `stop`, with its own room to work in."""

    def __init__(self, search: Search, offsets: IntArray, start: int, stop: int) -> None:
        self._search = search
        self._offsets = offsets
        self._start, self._stop = start, stop
        self._is_marked = False
        self._state = np.zeros(places.REGISTERS + search.n_registers, dtype=np.int64)
        self._state[[places.PARTITION, places.ROW, places.NUMBER]] = start, -1, 1
        self._pace = Pace(search.effort)
        largest = int(np.diff(offsets[start : stop + 1]).max(initial=0))
        n_numbers = int(np.where(search.joins >= 0, search.joins + search.program[:, 3] + 1, 0).max(initial=0))
        self._tried = np.zeros(n_numbers * (largest + 1), dtype=np.int32)
        self._path, self._stack = (np.empty((3, ROOM), dtype=np.int32) for _ in range(2))
        self._trail = np.empty(ROOM, dtype=np.int64)
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

    def step(self, kernel: Kernel) -> Found | None:
        """The next matches; None when there are no more."""
        search = self._search
        if not self._is_marked:
            self._is_marked = True
            kernel.mark_near(
                self._offsets, self._start, self._stop, search.n_near, search.n_mask_columns, search.masks, search.cols
            )
        n = self._run(kernel)
        while self._make_room() and n == 0:
            n = self._run(kernel)
        if n == 0:
            return None
        used = self._out_path[: self._out[n - 1, 3]]
        labels, excluded = search.program[:, 1][used], search.program[:, 2][used] != 0
        return Found.of(self._out[:n], self._offsets, labels, excluded)

    def _run(self, kernel: Kernel) -> int:
        search = self._search
        if self._state[places.STEPS_LEFT] <= 0 and not self.is_done:
            at, left = self._state[[places.PARTITION, places.STEPS_LEFT]].tolist()
            self._state[places.STEPS_LEFT] = self._pace.go_on(at, left)
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
        return n

    def _make_room(self) -> bool:
        """Whether the search was paused for lack of room, which it now has, or of steps."""
        if self.problem == places.OUTPUT_FULL:
            self._out_path = np.empty(4 * self._out_path.size, dtype=np.int32)
        elif self.problem == places.WORK_FULL:
            # What the paused attempt has there stays.
            self._path, self._stack = (np.tile(array, 4) for array in (self._path, self._stack))
            self._trail = np.tile(self._trail, 4)
        elif self.problem != places.NO_STEPS_LEFT:
            return False
        self._state[places.PROBLEM] = places.NO_PROBLEM
        return True


@dataclass(frozen=True, slots=True)
class Kernel:
    """The matcher, with what belongs to one query."""

    match_rows: Any
    mark_near: Any
    tests: tuple[Any, Any]  # holds, fold


def load_kernel(spec: RowsSpec) -> Kernel:
    """The matcher with the query's conditions."""
    # Importing it compiles it, once per machine: not before a query needs it.
    from eventide.families.rows import kernel as rows

    marks, tests = plain_near, rows.NO_TESTS
    if spec.near_source is not None:
        marks = load_specialized(plain_near, {"near": spec.near_source})
    if spec.tests_source is not None:
        made = load_module(spec.tests_source)
        tests = (made.holds, made.fold)
    return Kernel(rows.match_rows, marks.mark_near, tests)
