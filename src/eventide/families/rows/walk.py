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
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.measures import Found
from eventide.runtime.rearrange import rearrange, rearrange_integers
from eventide.runtime.row_order import OrderedRows

MATCHES_PER_BATCH = 1 << 16
ROWS_PER_BATCH = 1 << 20
ROOM = 1 << 10  # choices that there is room for at first
_GROWING = ("labels", "before", "codes", "stack_pc", "stack_row", "stack_trail", "trail")
_SKIP = {"past last": places.SKIP_PAST_LAST, "next": places.SKIP_NEXT}


@dataclass(frozen=True, slots=True)
class Search:
    """What all threads read."""

    rows: places.Rows
    program: places.Program
    limits: places.Limits
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
        skip_members = np.zeros(max(len(spec.program.labels), 1), dtype=np.int32)
        skip_members[list(spec.skip_members)] = 1
        return Search(
            rows=places.Rows(ordered.offsets, ts_us, masks, progress),
            program=places.Program(
                code=spec.program.arrays(),
                joins=spec.program.joins(spec.depends_on_path),
                bits=np.array(spec.bits, dtype=np.int32),
                near_bits=np.array([-1 if i < 0 else 64 * n_columns + i for i in spec.nears], dtype=np.int32),
                tested=np.array(spec.tested, dtype=np.int32),
                skip_members=skip_members,
            ),
            limits=places.Limits(
                window_us=spec.span_us,
                skip=_SKIP.get(spec.skip, places.SKIP_TO),
                skips_to_last=spec.skip == "last",
                forgets=spec.is_timed or spec.depends_on_start,
                ahead=spec.ahead,
                frontier_us=frontier_us,
                first_bits=_first_bits(spec),
            ),
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

    def __init__(self, search: Search, start: int, stop: int) -> None:
        self._search = search
        self._start, self._stop = start, stop
        self._is_marked = False
        self._state = np.zeros(1, dtype=places.STATE)[0]
        self._state.partition, self._state.row, self._state.number = start, -1, 1
        self._pace = Pace(search.effort)
        self.problem = places.DONE  # what the user must hear of
        offsets, program = search.rows.offsets, search.program
        largest = int(np.diff(offsets[start : stop + 1]).max(initial=0))
        n_numbers = int(np.where(program.joins >= 0, program.joins + program.code[:, 3] + 1, 0).max(initial=0))
        n_integers, n_doubles, n_counts = search.n_folds
        depth = largest if n_counts else 0
        self._room = places.Room(
            tried=np.zeros(n_numbers * (largest + 1), dtype=np.int32),
            labels=np.empty(ROOM, dtype=np.int32),
            before=np.empty(ROOM, dtype=np.int32),
            codes=np.empty(ROOM, dtype=np.int32),
            stack_pc=np.empty(ROOM, dtype=np.int32),
            stack_row=np.empty(ROOM, dtype=np.int32),
            stack_trail=np.empty(ROOM, dtype=np.int32),
            trail=np.empty(ROOM, dtype=np.int64),
            first=np.full(program.bits.size, -1, dtype=np.int32),
            last=np.full(program.bits.size, -1, dtype=np.int32),
            registers=np.zeros(search.n_registers, dtype=np.int64),
            span=np.zeros(4, dtype=np.int64),
            folds=(
                np.empty((n_integers, depth), np.int64),
                np.empty((n_doubles, depth)),
                np.empty((n_counts, depth), np.int64),
            ),
        )
        self._out = places.Out(
            np.empty((MATCHES_PER_BATCH, 4), dtype=np.int64),
            np.empty(min(ROWS_PER_BATCH, 4 * int(offsets[stop] - offsets[start]) + 1), dtype=np.int32),
        )

    @property
    def is_done(self) -> bool:
        return bool(self._state.partition >= self._stop)

    def step(self, kernel: Kernel) -> Found | None:
        """The next matches; None when there are no more."""
        search, state = self._search, self._state
        if not self._is_marked:
            self._is_marked = True
            offsets, masks = search.rows.offsets, search.rows.masks
            kernel.mark_near(offsets, self._start, self._stop, search.n_near, search.n_mask_columns, masks, search.cols)
        state.n_out = state.n_path = 0
        ended = self._run(kernel)
        while self._may_go_on(ended):
            ended = self._run(kernel)
        self.problem = ended if ended in (places.NO_SKIP_ROW, places.SKIP_TO_FIRST_ROW) else places.DONE
        if not state.n_out:
            return None
        code, used = search.program.code, self._out.path[: state.n_path]
        return Found.of(self._out.matches[: state.n_out], search.rows.offsets, code[:, 1][used], code[:, 2][used] != 0)

    def _run(self, kernel: Kernel) -> int:
        search, state = self._search, self._state
        if state.steps_left <= 0 and not self.is_done:
            state.steps_left = self._pace.go_on(int(state.partition), int(state.steps_left))
        return int(
            kernel.match_rows(
                search.rows,
                self._stop,
                search.program,
                search.limits,
                state,
                self._room,
                kernel.tests,
                search.cols,
                self._out,
            )
        )

    def _may_go_on(self, ended: int) -> bool:
        """Whether a search that paused can go on at once, with more steps or more room."""
        if ended == places.OUTPUT_FULL and not self._state.n_out:
            self._out = self._out._replace(path=np.empty(4 * self._out.path.size, dtype=np.int32))
        elif ended == places.WORK_FULL:
            # What the paused attempt has there stays.
            self._room = self._room._replace(**{name: np.tile(getattr(self._room, name), 4) for name in _GROWING})
        else:
            return ended == places.NO_STEPS_LEFT
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
