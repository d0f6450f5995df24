"""Runs to matches: chunks of time, so that the order of evaluation can follow what is seen, shared out over threads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from eventide.families.situations import kernel_matches as kernel
from eventide.families.situations.program import Program
from eventide.families.situations.runs import OPEN, Runs
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.threads import share_among_threads

_RUNS_PER_CHUNK = 1 << 14
_MOST_PARTITIONS = 8  # with more, chunks of time would be looked for in each
_ROOM = 1 << 12  # matches at first


def find_matches(runs: Runs, program: Program, times: tuple[int, int], n_threads: int) -> Iterator[IntArray]:
    """Rows (instant, partition, run of each symbol) of the matches decided in (times[0], times[1]], chunk by chunk."""
    for borders in _chunks(runs, times, n_threads):
        shares = list(pairwise(borders))
        made = share_among_threads(lambda share: _find(runs, program, share), shares)
        program.learn(sum((stats for _, stats in made), np.zeros_like(made[0][1])))
        yield np.concatenate([rows for rows, _ in made])


def _chunks(runs: Runs, times: tuple[int, int], n_threads: int) -> list[list[int]]:
    """Borders in time of what threads do at once, chunk by chunk."""
    n_partitions = runs.borders.shape[1] - 1
    if n_partitions > _MOST_PARTITIONS:
        return [list(times)]
    places, _, _ = runs.places()
    starts = np.sort(runs.start[places])
    n_shares = max(1, starts.size // _RUNS_PER_CHUNK) * n_threads if starts.size >= _RUNS_PER_CHUNK else 1
    cuts = starts[np.linspace(0, starts.size, n_shares + 1)[1:-1].astype(np.int64)].tolist() if n_shares > 1 else []
    borders = sorted({*times, *(cut for cut in cuts if times[0] < cut < times[1])})
    return [borders[i : i + n_threads + 1] for i in range(0, len(borders) - 1, n_threads)]


def _find(runs: Runs, program: Program, times: tuple[int, int]) -> tuple[IntArray, IntArray]:
    """The matches of a stretch of time, and what the kernel counted."""
    n = len(program.spec.symbols)
    within_us = program.spec.within_us
    within = OPEN if within_us is None else within_us
    stats = np.zeros((n, n + 1, 2), dtype=np.int64)
    memory = (
        np.zeros(n, dtype=np.int64),
        np.zeros((n, 10), dtype=np.int64),
        np.zeros(10, dtype=np.int64),
        np.zeros((n, 2), dtype=np.int64),
    )
    resume = np.zeros(4, dtype=np.int64)
    parts: list[IntArray] = []
    room = _ROOM
    while resume[0] >= 0:
        out = np.empty((room, n + 2), dtype=np.int64)
        arrays = (runs.start, runs.end, runs.ready, runs.told)
        n_out = kernel.match(arrays, runs.borders, program.tables(), within, times, resume, memory, stats, out)
        parts.append(out[:n_out].copy() if n_out < room // 2 else out[:n_out])
        room *= 2
    return np.concatenate(parts), stats
