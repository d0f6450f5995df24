"""The kernel's walk over scopes: stacks that grow when they must, results in bounded pieces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eventide.errors import InputError
from eventide.families.events import kernel_places as places
from eventide.families.events.program import PatternProgram
from eventide.runtime.effort import Effort, Pace, TooManyStepsError
from eventide.runtime.kernels.arrays import IntArray

MATCHES_PER_BATCH = 1 << 14
_ENTRIES_PER_BATCH = 1 << 18
_FIRST_STACK = 64

Stacks = tuple[IntArray, IntArray, IntArray, IntArray, IntArray]


@dataclass(frozen=True, slots=True)
class Found:
    """Matches as flat arrays: the entries (symbol, row) of match i end at `ends[i]`, its open gaps at `gap_ends[i]`."""

    ends: IntArray
    symbols: IntArray
    rows: IntArray
    scope: IntArray
    decided_us: IntArray
    waited: IntArray
    gap_ends: IntArray
    gaps: IntArray  # (3, n): negation, first row, end; -1 is the window's edge


@dataclass(frozen=True, slots=True)
class Setting:
    """What all walks over one block share."""

    kernel: Any
    tests: tuple[Any, Any, Any]
    program: PatternProgram
    events: tuple[Any, ...]
    offers: tuple[IntArray, ...]
    scopes: IntArray
    cols: Any
    reach_us: int
    newer_than_us: int
    up_to_us: int
    min_length: int
    max_ways: int  # of one side of an AND
    effort: Effort
    keep: int = places.ALL
    stopped: list[int] = field(default_factory=list)  # scopes whose partition had too many steps


@contextmanager
def too_wide() -> Iterator[None]:
    """An overflow in a test is an error about the input."""
    try:
        yield
    except OverflowError as error:
        raise InputError(
            f"a condition that relates events leaves the range of its type: {error}",
            hint="cast one side to DOUBLE or to a wider DECIMAL",
        ) from error


class Walk:
    """The walk of some branches over a range of scopes; `mode` is MATCHES or WAYS of the kernel."""

    def __init__(self, setting: Setting, branches: tuple[int, ...], mode: int, start: int, stop: int) -> None:
        self._setting = setting
        self._branches = np.array(branches, dtype=np.int64)
        self._stop = stop
        self._pace = Pace(setting.effort)
        self._job = _new_job(setting, mode)
        self._job[places.SCOPE] = start
        self._job[places.STOP] = stop
        self._stacks: Stacks = tuple(  # type: ignore[assignment]
            np.empty(shape, dtype=np.int64)
            for shape in (
                (_FIRST_STACK, places.FRAME_SIZE),
                (2, _FIRST_STACK),
                (3, _FIRST_STACK),
                (3, _FIRST_STACK),
                (1 + len(setting.program.negations), places.JOB_SIZE),
            )
        )
        # A match of any length fits into some array: they grow when not even one does.
        self._out = (
            np.empty((MATCHES_PER_BATCH, places.HEAD_SIZE), dtype=np.int64),
            np.empty((2, min(_ENTRIES_PER_BATCH, 16 * MATCHES_PER_BATCH)), dtype=np.int64),
            np.empty((3, _FIRST_STACK), dtype=np.int64),
        )

    @property
    def ended(self) -> bool:
        return bool(self._job[places.SCOPE] >= self._stop)

    def __iter__(self) -> Iterator[Found]:
        while not self.ended:
            found = self.fill()
            if found.ends.size:
                yield found

    def fill(self) -> Found:
        """Walk on until the result arrays are full or the end is reached."""
        job, setting = self._job, self._setting
        job[places.N_OUT : places.N_OUT_GAPS + 1] = 0
        while True:
            if job[places.STEPS_LEFT] <= 0 and not self.ended:
                self._take_steps(int(setting.scopes[job[places.SCOPE], places.PARTITION]))
            status = self._run()
            if status == places.PAUSED:
                continue
            if status == places.SPACE:
                self._stacks = tuple(doubled(stack) for stack in self._stacks)  # type: ignore[assignment]
            elif status == places.FULL and job[places.N_OUT] == 0:
                self._out = tuple(doubled(array) for array in self._out)  # type: ignore[assignment]
            else:
                break
        n, n_entries, n_gaps = (int(job[i]) for i in range(places.N_OUT, places.N_OUT_GAPS + 1))
        head, entries, gaps = self._out
        assert setting.scopes.shape[1] == places.SCOPE_SIZE
        columns = [head[:n, k].copy() for k in range(places.HEAD_SIZE)]
        return Found(
            ends=columns[places.OUT_ENTRIES],
            symbols=entries[0, :n_entries].copy(),
            rows=entries[1, :n_entries].copy(),
            scope=columns[places.OUT_SCOPE],
            decided_us=columns[places.OUT_DECIDED],
            waited=columns[places.OUT_WAITED],
            gap_ends=columns[places.OUT_GAPS],
            gaps=gaps[:, :n_gaps].copy(),
        )

    def _take_steps(self, partition: int) -> None:
        """Steps for the partition in which the walk is; or on to the next one, where it has had enough of them."""
        job, setting = self._job, self._setting
        try:
            job[places.STEPS_LEFT] = self._pace.go_on(partition, int(job[places.STEPS_LEFT]))
        except TooManyStepsError:
            if setting.keep == places.ALL:
                raise
            setting.stopped.append(int(job[places.SCOPE]))
            job[[places.IS_ASKING, places.N_ANSWERS, places.ANSWERS]] = 0
            # Below the frame of what was found, the walk ends and writes it; it begins anew below all frames.
            job[places.DEPTH] = job[places.FRAME] - 1
            while not job[places.FIRST_SIZE] and not self.ended:
                if setting.scopes[job[places.SCOPE], places.PARTITION] != partition:
                    break
                job[places.SCOPE] += 1
                job[places.BRANCH_IDX] = 0

    def _run(self) -> int:
        setting = self._setting
        with too_wide():
            status: int = setting.kernel.match_scopes(
                setting.scopes,
                self._branches,
                self._job,
                setting.program.tables,
                setting.events,
                setting.offers,
                self._stacks,
                setting.tests,
                setting.cols,
                self._out,
            )
        return status


def _new_job(setting: Setting, mode: int) -> IntArray:
    program = setting.program
    job = np.zeros(places.JOB_SIZE, dtype=np.int64)
    sources = [position.edges for position in program.positions] + [branch.starts for branch in program.branches]
    member_lo, member_gap_lo, entry_lo = setting.offers[5], setting.offers[7], setting.offers[2]
    n_members = _widest(member_lo)
    moves = [edge.negations for source in sources for edge in source]
    moves += [ending.negations for position in program.positions for ending in position.endings]
    for place, value in (
        (places.MODE, mode),
        (places.DEPTH, -1),
        (places.REACH, setting.reach_us),
        (places.NEWER_THAN, setting.newer_than_us),
        (places.UP_TO, setting.up_to_us),
        (places.N_WINDOWS, program.n_windows),
        (places.MIN_LENGTH, setting.min_length),
        (places.FAN_OUT, max((len(source) for source in sources), default=0) * n_members),
        (places.MAX_ENDS, max((len(position.endings) for position in program.positions), default=0)),
        (places.MAX_ENTRIES, _widest(entry_lo)),
        (places.MAX_GAPS, max(map(len, moves), default=0) + _widest(member_gap_lo, 0)),
        (places.KEEP, setting.keep if mode == places.MATCHES else places.ALL),
    ):
        job[place] = value
    return job


def _widest(offsets: IntArray, least: int = 1) -> int:
    return max(least, int(np.diff(offsets).max())) if offsets.size > 1 else least


def doubled(stack: IntArray) -> IntArray:
    """The same content in twice the room: frames, heads and jobs lie along the first side, others along the second."""
    axis = 0 if stack.shape[1] in (places.FRAME_SIZE, places.HEAD_SIZE, places.JOB_SIZE) else 1
    shape = tuple(2 * size if i == axis else size for i, size in enumerate(stack.shape))
    wider = np.empty(shape, dtype=np.int64)
    wider[tuple(slice(size) for size in stack.shape)] = stack
    return wider
