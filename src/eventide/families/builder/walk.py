"""One thread's way through partitions: calls the kernel, makes room for it, and reads what it found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from eventide.errors import InputError
from eventide.families.builder import kernel as plain_kernel
from eventide.families.builder.matches import Found
from eventide.families.builder.spec import DetectionSpec
from eventide.runtime.block import MAX_US, TS, numpy_int64
from eventide.runtime.effort import Effort, Pace
from eventide.runtime.encode import encode_columns
from eventide.runtime.generated import load_specialized
from eventide.runtime.kernels.arrays import IndexArray, IntArray
from eventide.runtime.rearrange import rearrange
from eventide.runtime.row_order import OrderedRows

MATCHES_PER_CALL = 1 << 14
ROOM = 1 << 10  # partial matches that there is room for at first
EVENTS_PER_BATCH = 1 << 18
MAX_RUNS = 1 << 24
_SKIP = {
    "no_skip": plain_kernel.NO_SKIP,
    "next": plain_kernel.SKIP_NEXT,
    "past_last": plain_kernel.SKIP_PAST_LAST,
    "to_first": plain_kernel.SKIP_TO_FIRST,
    "to_last": plain_kernel.SKIP_TO_LAST,
    "only_first": plain_kernel.ONLY_FIRST,
}


# By partition how many partial matches, complete matches and bindings, or where they end; then these.
Saved = tuple[IntArray, IndexArray, IndexArray, IndexArray]


@dataclass(frozen=True, slots=True)
class Search:
    """The arrays that all threads read."""

    ts_us: IntArray
    masks: IntArray
    program: tuple[IndexArray, ...]
    tests: IndexArray
    limits: IntArray
    progress: IntArray
    saved: Saved
    n_carried: tuple[int, int, int, int]
    cols: Any
    effort: Effort

    @staticmethod
    def of(
        spec: DetectionSpec,
        block: pa.Table,
        ordered: OrderedRows,
        progress: IntArray,
        saved: Saved,
        end_us: int,
        n_threads: int,
    ) -> Search:
        """`end_us` is how far time has come at the end of each partition."""
        order = ordered.order
        masks = np.empty((len(spec.mask_columns), order.size), dtype=np.int64)
        for i, name in enumerate(spec.mask_columns):
            masks[i] = rearrange(numpy_int64(block.column(name)), order, n_threads)
        ts_us = rearrange(numpy_int64(block.column(TS)), order, n_threads) if spec.is_timed else np.empty(0, np.int64)
        with_timeouts = spec.is_timed and spec.skip != "only_first"
        # What comes later comes an instant later at least.
        soonest_us = min(end_us + 1, MAX_US)
        limits = [*spec.spans_us, soonest_us, _SKIP[spec.skip], spec.skip_step, int(with_timeouts)]
        return Search(
            ts_us=ts_us,
            masks=masks,
            program=(*spec.program.arrays(), _alike(spec)),
            tests=np.array(spec.tests, dtype=np.int32).reshape(-1, 2),
            limits=np.array(limits, dtype=np.int64),
            progress=progress,
            saved=saved,
            n_carried=spec.n_carried,
            cols=encode_columns(block, spec.encodings, order, n_threads),
            effort=Effort(spec.max_steps, ordered.offsets, may_double=spec.program.may_double),
        )


class Walk:
    """The way through partitions `start` to `stop`, with its own room to work in."""

    def __init__(self, search: Search, offsets: IntArray, start: int, stop: int) -> None:
        self._search = search
        self._offsets = offsets
        self._start, self._stop = start, stop
        self._state = np.zeros(plain_kernel.STATE_SIZE, dtype=np.int64)
        self._state[plain_kernel.PARTITION], self._state[plain_kernel.ROW] = start, -1
        self._pace = Pace(search.effort)
        self._runs = np.empty((2, 3, ROOM), dtype=np.int32)
        self._complete = np.empty((2, 2, ROOM), dtype=np.int32)
        self._bindings = np.empty((3, 4 * ROOM), dtype=np.int32)
        self._carried = self._make_carried(4 * ROOM)
        self._out = np.empty((MATCHES_PER_CALL, 3), dtype=np.int64)
        self._kept = no_room(offsets.size - 1, ROOM if search.progress[start:stop, plain_kernel.IS_OPEN].any() else 0)

    @property
    def is_done(self) -> bool:
        return bool(self._state[plain_kernel.PARTITION] >= self._stop)

    def step(self, kernel: Any) -> None:
        """Advance; what was found is read by `found`, before the next step."""
        self._run(kernel)
        while self._n_out == 0 and self._state[plain_kernel.PROBLEM] == plain_kernel.NO_STEPS_LEFT:
            self._run(kernel)

    def _run(self, kernel: Any) -> None:
        search = self._search
        self._state[plain_kernel.PROBLEM] = plain_kernel.NO_PROBLEM
        if self._state[plain_kernel.STEPS_LEFT] <= 0 and not self.is_done:
            at, left = self._state[[plain_kernel.PARTITION, plain_kernel.STEPS_LEFT]].tolist()
            self._state[plain_kernel.STEPS_LEFT] = self._pace.go_on(at, left)
        self._n_out: int = kernel.advance_matches(
            self._offsets,
            self._stop,
            search.ts_us,
            search.masks,
            search.program,
            search.tests,
            search.limits,
            search.progress,
            search.saved,
            self._kept,
            self._state,
            self._runs,
            self._complete,
            self._bindings,
            self._carried,
            search.cols,
            self._out,
        )

    def found(self) -> Iterator[Found]:
        """What the last step found, a bounded number of events at a time; then there is room for the next step."""
        out = self._out[: self._n_out]
        counts = np.empty(out.shape[0], dtype=np.int64)
        plain_kernel.count_events(self._bindings, out[:, 2].copy(), counts)
        start = 0
        while start < out.shape[0]:
            ends = np.cumsum(counts[start:])
            stop = start + max(1, int(np.searchsorted(ends, EVENTS_PER_BATCH, side="right")))
            ends = ends[: stop - start]
            positions, steps = np.empty(ends[-1], dtype=np.int64), np.empty(ends[-1], dtype=np.int32)
            plain_kernel.unwind(self._bindings, out[start:stop, 2].copy(), ends, positions, steps)
            yield Found(out[start:stop, 0].copy(), out[start:stop, 1].copy(), ends, positions, steps)
            start = stop
        self._make_room()

    def _make_room(self) -> None:
        problem = int(self._state[plain_kernel.PROBLEM])
        self._state[plain_kernel.PROBLEM] = plain_kernel.NO_PROBLEM
        if problem == plain_kernel.OUT_FULL and self._n_out == 0:
            self._out = np.empty((2 * self._out.shape[0], 3), dtype=np.int64)
        elif problem == plain_kernel.RUNS_FULL:
            self._runs = _doubled(self._runs)
            if self._runs.shape[2] > MAX_RUNS:
                hint = "add within(...), use followed_by for followed_by_any, or leave out allow_combinations"
                raise InputError(f"more than {MAX_RUNS:,} partial matches are open at once", hint=hint)
        elif problem == plain_kernel.COMPLETE_FULL:
            self._complete = _doubled(self._complete)
        elif problem == plain_kernel.KEPT_FULL:
            counts, runs, complete, bindings = self._kept
            self._kept = counts, _doubled(runs), _doubled(complete), _doubled(bindings)
        elif problem == plain_kernel.BINDINGS_FULL:
            n_before = int(self._state[plain_kernel.N_BINDINGS])
            plain_kernel.compact_bindings(self._state, self._runs, self._complete, self._bindings, self._carried)
            n_kept = int(self._state[plain_kernel.N_BINDINGS])
            # Where nothing was freed, one event alone needs more.
            if 2 * n_kept > self._bindings.shape[1] or n_kept == n_before:
                self._bindings = _doubled(self._bindings)
                self._carried = tuple(_doubled(array) for array in self._carried)

    def kept(self) -> Saved:
        """What the walk's partitions keep: how many of each, by partition, and what, with rows of the order."""
        counts, runs, complete, bindings = self._kept
        used = self._state[plain_kernel.N_KEPT_RUNS : plain_kernel.N_KEPT_BINDINGS + 1]
        return counts[self._start : self._stop], runs[:, : used[0]], complete[:, : used[1]], bindings[:, : used[2]]

    def _make_carried(self, size: int) -> tuple[Any, ...]:
        n_lasts, n_integers, n_doubles, n_counts = self._search.n_carried
        return (
            np.empty((n_lasts, size), np.int32),
            np.empty((n_integers, size), np.int64),
            np.empty((n_doubles, size)),
            np.empty((n_counts, size), np.int64),
        )


def no_room(n: int, size: int) -> Saved:
    """Room for what `n` partitions keep."""
    runs, complete, bindings = (np.empty((rows, size), dtype=np.int32) for rows in (3, 2, 3))
    return np.zeros((n, 3), dtype=np.int64), runs, complete, bindings


def _alike(spec: DetectionSpec) -> IndexArray:
    """By state, whether only the event at hand decides what its partial matches do from there on."""
    states = spec.program.states
    alike = np.full(len(states), not spec.is_timed, dtype=np.int32)
    related = {condition for condition, (_, looks_back) in enumerate(spec.tests) if looks_back}
    for i, state in enumerate(states):
        terms = [term for edge in state for term in (*edge.terms, *edge.accepts)]
        alike[i] &= not any(literal >> 1 in related for term in terms for literal in term)
    changed = True
    while changed:
        changed = False
        for i, state in enumerate(states):
            if alike[i] and not all(alike[edge.target] for edge in state if edge.target >= 0):
                alike[i], changed = 0, True
    return alike


def _doubled(array: Any) -> Any:
    """The array with twice as much room on its last axis."""
    return np.concatenate([array, np.empty_like(array)], axis=-1)


def load_kernel(spec: DetectionSpec) -> ModuleType | Any:
    """The kernel, with the pattern's conditions compiled in."""
    if spec.holds_source is None or spec.carry_source is None:
        return plain_kernel
    return load_specialized(plain_kernel, {"holds": spec.holds_source, "carry": spec.carry_source})
