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
from eventide.families.builder import kernel_bindings as forest
from eventide.families.builder import kernel_places as places
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
    "no_skip": places.NO_SKIP,
    "next": places.SKIP_NEXT,
    "past_last": places.SKIP_PAST_LAST,
    "to_first": places.SKIP_TO_FIRST,
    "to_last": places.SKIP_TO_LAST,
    "only_first": places.ONLY_FIRST,
}


# By partition how many partial matches, complete matches and bindings, or where they end; then these.
Saved = tuple[IntArray, IndexArray, IndexArray, IndexArray]


@dataclass(frozen=True, slots=True)
class Search:
    """What all threads read."""

    events: places.Events
    program: places.Program
    limits: places.Limits
    saved: Saved
    n_carried: tuple[int, int, int, int]
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
        window_us, gap_us = spec.spans_us
        return Search(
            events=places.Events(
                ordered.offsets, ts_us, masks, progress, encode_columns(block, spec.encodings, order, n_threads)
            ),
            program=places.Program(
                *spec.program.arrays(), _alike(spec), np.array(spec.tests, dtype=np.int32).reshape(-1, 2)
            ),
            limits=places.Limits(
                window_us=window_us,
                gap_us=gap_us,
                # What comes later comes an instant later at least.
                end_us=min(end_us + 1, MAX_US),
                skip=_SKIP[spec.skip],
                skip_step=spec.skip_step,
                has_timeouts=spec.is_timed and spec.skip != "only_first",
            ),
            saved=saved,
            n_carried=spec.n_carried,
            effort=Effort(spec.max_steps, ordered.offsets, may_double=spec.program.may_double),
        )


class Walk:
    """The way through partitions `start` to `stop`, with its own room to work in."""

    def __init__(self, search: Search, start: int, stop: int) -> None:
        self._search = search
        self._start, self._stop = start, stop
        self._state = np.zeros(1, dtype=places.STATE)[0]
        self._state.partition, self._state.row = start, -1
        self._pace = Pace(search.effort)
        self._problem = places.NO_PROBLEM
        self._room = places.Room(
            runs=np.empty((2, 3, ROOM), dtype=np.int32),
            complete=np.empty((2, 2, ROOM), dtype=np.int32),
            bindings=np.empty((3, 4 * ROOM), dtype=np.int32),
            carried=_room_to_carry(search.n_carried, 4 * ROOM),
            seen=np.empty(search.program.alike.size, dtype=np.int64),
        )
        # Of nothing: so it is compiled before the search, in which Numba would not let Ctrl-C through.
        forest.compact_bindings(self._state, self._room)
        self._out = np.empty((MATCHES_PER_CALL, 3), dtype=np.int64)
        progress = search.events.progress
        self._kept = no_room(progress.shape[0], ROOM if progress[start:stop, places.IS_OPEN].any() else 0)

    @property
    def is_done(self) -> bool:
        return bool(self._state.partition >= self._stop)

    def step(self, kernel: Any) -> None:
        """Advance; what was found is read by `found`, before the next step."""
        self._state.n_out = 0
        self._problem = self._run(kernel)
        while self._problem == places.NO_STEPS_LEFT:
            self._problem = self._run(kernel)

    def _run(self, kernel: Any) -> int:
        search, state = self._search, self._state
        if state.steps_left <= 0 and not self.is_done:
            state.steps_left = self._pace.go_on(int(state.partition), int(state.steps_left))
        return int(
            kernel.advance_matches(
                search.events,
                self._stop,
                search.program,
                search.limits,
                search.saved,
                self._kept,
                state,
                self._room,
                self._out,
            )
        )

    def found(self) -> Iterator[Found]:
        """What the last step found, a bounded number of events at a time; then there is room for the next step."""
        out, bindings = self._out[: self._state.n_out], self._room.bindings
        counts = np.empty(out.shape[0], dtype=np.int64)
        forest.count_events(bindings, out[:, 2].copy(), counts)
        start = 0
        while start < out.shape[0]:
            ends = np.cumsum(counts[start:])
            stop = start + max(1, int(np.searchsorted(ends, EVENTS_PER_BATCH, side="right")))
            ends = ends[: stop - start]
            positions, steps = np.empty(ends[-1], dtype=np.int64), np.empty(ends[-1], dtype=np.int32)
            forest.unwind(bindings, out[start:stop, 2].copy(), ends, positions, steps)
            yield Found(out[start:stop, 0].copy(), out[start:stop, 1].copy(), ends, positions, steps)
            start = stop
        self._make_room()

    def _make_room(self) -> None:
        room, state, problem = self._room, self._state, self._problem
        if problem == places.OUT_FULL and not state.n_out:
            self._out = np.empty((2 * self._out.shape[0], 3), dtype=np.int64)
        elif problem == places.RUNS_FULL:
            self._room = room._replace(runs=_doubled(room.runs))
            if self._room.runs.shape[2] > MAX_RUNS:
                hint = "add within(...), use followed_by for followed_by_any, or leave out allow_combinations"
                raise InputError(f"more than {MAX_RUNS:,} partial matches are open at once", hint=hint)
        elif problem == places.COMPLETE_FULL:
            self._room = room._replace(complete=_doubled(room.complete))
        elif problem == places.KEPT_FULL:
            counts, runs, complete, bindings = self._kept
            self._kept = counts, _doubled(runs), _doubled(complete), _doubled(bindings)
        elif problem == places.BINDINGS_FULL:
            n_before = int(state.n_bindings)
            forest.compact_bindings(state, room)
            n_kept = int(state.n_bindings)
            # Where nothing was freed, one event alone needs more.
            if 2 * n_kept > room.bindings.shape[1] or n_kept == n_before:
                carried = tuple(_doubled(array) for array in room.carried)
                self._room = room._replace(bindings=_doubled(room.bindings), carried=carried)

    def kept(self) -> Saved:
        """What the walk's partitions keep: how many of each, by partition, and what, with rows of the order."""
        (counts, runs, complete, bindings), state = self._kept, self._state
        return (
            counts[self._start : self._stop],
            runs[:, : state.n_kept_runs],
            complete[:, : state.n_kept_complete],
            bindings[:, : state.n_kept_bindings],
        )


def _room_to_carry(n_carried: tuple[int, int, int, int], size: int) -> tuple[Any, ...]:
    n_lasts, n_integers, n_doubles, n_counts = n_carried
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
