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
    events: places.Events
    offers: places.Offers
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
        self._job.scope, self._job.stop = start, stop
        self._stacks = places.Stacks(
            frames=np.empty(_FIRST_STACK, dtype=places.FRAME),
            entries=np.empty((2, _FIRST_STACK), dtype=np.int64),
            paths=np.empty((3, _FIRST_STACK), dtype=np.int64),
            gaps=np.empty((3, _FIRST_STACK), dtype=np.int64),
            jobs=np.empty(1 + len(setting.program.negations), dtype=places.JOB),
        )
        # A match of any length fits into some array: they grow when not even one does.
        self._out = (
            np.empty((MATCHES_PER_BATCH, places.HEAD_SIZE), dtype=np.int64),
            np.empty((2, min(_ENTRIES_PER_BATCH, 16 * MATCHES_PER_BATCH)), dtype=np.int64),
            np.empty((3, _FIRST_STACK), dtype=np.int64),
        )

    @property
    def ended(self) -> bool:
        return bool(self._job.scope >= self._stop)

    def __iter__(self) -> Iterator[Found]:
        while not self.ended:
            found = self.fill()
            if found.ends.size:
                yield found

    def fill(self) -> Found:
        """Walk on until the result arrays are full or the end is reached."""
        job, setting = self._job, self._setting
        job.n_out = job.n_out_entries = job.n_out_gaps = 0
        while True:
            if job.steps_left <= 0 and not self.ended:
                self._take_steps(int(setting.scopes[job.scope, places.PARTITION]))
            status = self._run()
            if status == places.PAUSED:
                continue
            if status == places.SPACE:
                self._stacks = wider(self._stacks)
            elif status == places.FULL and not job.n_out:
                head, *others = self._out
                self._out = doubled(head, 0), *map(doubled, others)
            else:
                break
        n, n_entries, n_gaps = int(job.n_out), int(job.n_out_entries), int(job.n_out_gaps)
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
            job.steps_left = self._pace.go_on(partition, int(job.steps_left))
        except TooManyStepsError:
            if setting.keep == places.ALL:
                raise
            setting.stopped.append(int(job.scope))
            job.is_asking = job.n_answers = job.answers = 0
            # Below the frame of what was found, the walk ends and writes it; it begins anew below all frames.
            job.depth = job.frame - 1
            while not job.first_size and not self.ended:
                if setting.scopes[job.scope, places.PARTITION] != partition:
                    break
                job.scope += 1
                job.branch_idx = 0

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


def _new_job(setting: Setting, mode: int) -> Any:
    program, offers = setting.program, setting.offers
    job = np.zeros(1, dtype=places.JOB)[0]
    sources = [position.edges for position in program.positions] + [branch.starts for branch in program.branches]
    moves = [edge.negations for source in sources for edge in source]
    moves += [ending.negations for position in program.positions for ending in position.endings]
    job.mode, job.depth = mode, -1
    job.reach, job.n_windows, job.min_length = setting.reach_us, program.n_windows, setting.min_length
    job.newer_than, job.up_to = setting.newer_than_us, setting.up_to_us
    job.fan_out = max(map(len, sources), default=0) * _widest(offers.member_lo)
    job.max_ends = max((len(position.endings) for position in program.positions), default=0)
    job.max_entries = _widest(offers.entry_lo)
    job.max_gaps = max(map(len, moves), default=0) + _widest(offers.member_gap_lo, 0)
    job.keep = setting.keep if mode == places.MATCHES else places.ALL
    return job


def _widest(offsets: IntArray, least: int = 1) -> int:
    return max(least, int(np.diff(offsets).max())) if offsets.size > 1 else least


def wider(stacks: places.Stacks) -> places.Stacks:
    """The same content in twice the room; there are never more jobs than negations."""
    frames, entries, paths, gaps, jobs = stacks
    return places.Stacks(doubled(frames), doubled(entries), doubled(paths), doubled(gaps), jobs)


def doubled(stack: Any, axis: int = -1) -> Any:
    """The same content in twice the room along an axis."""
    return np.concatenate([stack, np.empty_like(stack)], axis=axis)
