"""The stacks of a walk over an automaton: frames, entries, paths, gaps and jobs; and what a walk writes.

`kernel.py` walks. Here a frame is opened, the walk of a negation gets its job, and a match that was found is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit
from eventide.families.events.kernel_places import (
    DONE,
    EXISTS,
    FOUND,
    FULL,
    GAP,
    MAX_ANSWERS,
    MAX_CLOSED,
    NEVER,
    OUT_DECIDED,
    OUT_ENTRIES,
    OUT_GAPS,
    OUT_SCOPE,
    OUT_WAITED,
    PAUSED,
    SPACE,
    WAYS,
    Program,
    Stacks,
)
from eventide.runtime.kernels.arrays import IntArray


@njit(cache=True, nogil=True, borrows=True)
def gap_job(job: Any, jobs: Any, negation: int, lo: int, hi: int, frame: int, entry: int, path: int, gap: int) -> Any:
    """The job of the walk that looks for a match of a negation between two rows, above what the asking walk uses.

    A walk that was paused goes on instead. The gaps of the inner walk begin at `gap`, above all that the candidate may
    write: after a pause the candidate is looked at again, and writes its own gaps once more.
    """
    inner = jobs[job.level]
    if job.is_asking:
        job.is_asking = 0
        inner.steps_left = job.steps_left
        return inner
    jobs[job.level] = job
    inner.mode, inner.negation, inner.lo, inner.hi, inner.depth = GAP, negation, lo, hi, -1
    inner.frame, inner.entry, inner.path, inner.open, inner.last_start = frame, entry, path, gap, hi
    inner.branch_idx, inner.n_answers, inner.answers, inner.level = 0, 0, 0, job.level + 1
    if job.n_answers >= MAX_ANSWERS:
        inner.steps_left = NEVER
    return inner


@njit(cache=True, nogil=True, borrows=True)
def is_answered(job: Any, inner: Any, status: int) -> bool:
    """Whether the walk of a negation has ended; if not, it is paused, and the asking walk must pause, too.

    An answer is remembered until the candidate is used up. Those beyond MAX_ANSWERS are not, so that their walks got
    steps without limit from `gap_job`; the steps that such a walk took are subtracted here.
    """
    is_kept = job.n_answers < MAX_ANSWERS
    job.steps_left = inner.steps_left if is_kept else job.steps_left - (NEVER - inner.steps_left)
    if status in (SPACE, PAUSED):
        job.is_asking = is_kept
        return False
    job.is_again = 0
    if is_kept:
        job.answers |= np.int64(status == FOUND) << job.n_answers
        job.n_answers += 1
    return True


@njit(cache=True, nogil=True, borrows=True)
def gaps_end(job: Any, frame: Any) -> int:
    """The place behind all gaps that one step may write, counted as `needs_room` counts them."""
    n_new = (frame.path_hi - frame.path_lo) * job.fan_out
    n_open = frame.gap_top - job.open + 2 * job.max_gaps
    return frame.gap_top + (n_new + 1) * n_open  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def needs_room(job: Any, frame: Any, depth: int, stacks: Any, out: Any) -> int:
    """DONE if there is room for all that one step may add; SPACE if a stack must grow, FULL if `out` has no room.

    Asked before a candidate is looked at, so that a step is either done as a whole or not begun.
    """
    n = frame.n
    n_new = (frame.path_hi - frame.path_lo) * job.fan_out
    # A path carries its open gaps on, an edge adds some, and an ending may add as many again.
    n_open = frame.gap_top - job.open + 2 * job.max_gaps
    if depth + 2 >= stacks.frames.shape[0] or n + job.max_entries > stacks.entries.shape[1]:
        return SPACE
    if frame.path_hi + n_new + 1 > stacks.paths.shape[1] or gaps_end(job, frame) > stacks.gaps.shape[1]:
        return SPACE
    if job.mode == EXISTS:
        return DONE
    n_ways = n_new * job.max_ends if job.mode == WAYS else 1
    n_entries = n_ways * (n - job.entry + job.max_entries)
    if job.n_out + n_ways > out[0].shape[0] or job.n_out_entries + n_entries > out[1].shape[1]:
        return FULL
    if job.mode == WAYS and job.n_out_gaps + n_ways * n_open > out[2].shape[1]:
        return FULL
    if job.keep and job.n_out_gaps + frame.path_hi - frame.path_lo > out[2].shape[1]:
        return FULL
    return DONE


@njit(cache=True, nogil=True, borrows=True)
def open_frame(
    frame: Any, row: int, end: int, limit: int, n: int, path_lo: int, path_hi: int, gap_top: int, last: int
) -> None:
    """Fill a frame: candidates from `row` up to `end`, the window up to `limit`, n entries, its paths, its last row."""
    frame.row = row
    frame.bits = 0
    frame.end = end
    frame.limit_row = limit
    frame.n = n
    frame.path_lo = path_lo
    frame.path_hi = path_hi
    frame.gap_top = gap_top
    frame.last = last
    frame.want = 0
    frame.want_offer = 0
    frame.closed = 0


@njit(cache=True, nogil=True, borrows=True)
def is_closed(closed: int, number: int) -> bool:
    """Whether the edge of this number is among the closed ones."""
    return number < MAX_CLOSED and closed >> number & 1 != 0


@njit(cache=True, nogil=True, borrows=True)
def close_edges(frame: Any, closed: int, program: Program, paths: IntArray) -> None:
    """Leave out some edges of a frame, numbered over its paths: what only they can take is wanted no more."""
    frame.closed |= closed
    frame.want = frame.want_offer = 0
    number = 0
    for path in range(frame.path_lo, frame.path_hi):
        position = paths[0, path]
        for edge in range(program.edge_lo[position], program.edge_lo[position + 1]):
            item = program.item[program.edge_to[edge]]
            if not is_closed(frame.closed, number):
                frame.want_offer |= item < 0
                frame.want |= np.int64(item >= 0) << max(item, 0)
            number += 1


@njit(cache=True, nogil=True, borrows=True)
def write_gap(gaps: IntArray, i: int, negation: int, lo: int, hi: int) -> None:
    """Gap i: the negation must not match from row `lo` up to `hi`; -1 stands for the edge of the window."""
    gaps[0, i] = negation
    gaps[1, i] = lo
    gaps[2, i] = hi


@njit(cache=True, nogil=True, borrows=True)
def is_bound(symbol: int, symbols: IntArray, n: int) -> bool:
    """Whether one of the first n entries is of the symbol."""
    for i in range(n):  # noqa: SIM110 (Numba compiles a loop, not a generator)
        if symbols[i] == symbol:
            return True
    return False


@njit(cache=True, nogil=True, borrows=True)
def is_known(paths: IntArray, start: int, stop: int, position: int, gaps: IntArray, gap_lo: int, gap_hi: int) -> bool:
    """Whether one of the paths from `start` up to `stop` has this position and the same open gaps."""
    for path in range(start, stop):
        if paths[0, path] != position or paths[2, path] - paths[1, path] != gap_hi - gap_lo:
            continue
        same = True
        for i in range(gap_hi - gap_lo):
            for k in range(3):
                same = same and gaps[k, paths[1, path] + i] == gaps[k, gap_lo + i]
        if same:
            return True
    return False


@njit(cache=True, nogil=True, borrows=True)
def write_entries(symbols: IntArray, rows: IntArray, lo: int, hi: int, at: int, out: IntArray) -> int:
    """Copy entries to `out` from `at` on; returns where they end."""
    for i in range(lo, hi):
        out[0, at], out[1, at] = symbols[i], rows[i]
        at += 1
    return at


@njit(cache=True, nogil=True, borrows=True)
def write_head(out: IntArray, i: int, entries: int, scope: int, decided: int, waited: int, gaps: int) -> None:
    """Describe match i: where its entries and gaps end, its scope, and when it was decided."""
    out[i, OUT_ENTRIES], out[i, OUT_SCOPE], out[i, OUT_DECIDED] = entries, scope, decided
    out[i, OUT_WAITED], out[i, OUT_GAPS] = waited, gaps


@njit(cache=True, nogil=True, borrows=True)
def write_kept(job: Any, frame: Any, stacks: Stacks, out: Any) -> None:
    """Write the match that a frame is, with the positions of its paths in place of gaps, and begin anew."""
    i, at, place = job.n_out, job.n_out_entries, job.n_out_gaps
    for path in range(frame.path_lo, frame.path_hi):
        write_gap(out[2], place, stacks.paths[0, path], 0, 0)
        place += 1
    at = write_entries(stacks.entries[0], stacks.entries[1], 0, frame.n, at, out[1])
    write_head(out[0], i, at, job.scope, 0, job.first_size, place)
    job.n_out, job.n_out_entries, job.n_out_gaps = i + 1, at, place
    job.frame = job.first_size = 0


@njit(cache=True, nogil=True, borrows=True)
def copy_gaps(lo: int, hi: int, at: int, gaps: IntArray) -> int:
    """Write the gaps from `lo` up to `hi` again from `at` on; returns where they end."""
    for i in range(lo, hi):
        write_gap(gaps, at, gaps[0, i], gaps[1, i], gaps[2, i])
        at += 1
    return at
