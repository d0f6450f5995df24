"""The longest partial match of every partition of a block, or its first match.

In: a pattern's spec, a block that also holds the events that no step wants, and the rank of each position. Out:
`Longest`, flat arrays over the partitions in the order of `Ordered`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from eventide.families.events import kernel_partial_places as places
from eventide.families.events.kernel_places import EXISTS, FOUND, FULL, LIMIT, N_OUT, NEVER, SPACE
from eventide.families.events.offers import with_offers
from eventide.families.events.operator import PatternOperator
from eventide.families.events.program import Branch, Edge, PatternProgram
from eventide.families.events.walk import Setting, Walk, doubled, too_wide
from eventide.runtime.block import MIN_US
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.ordered import Ordered, order_events

MAX_STEPS = 100_000_000  # candidates that are looked at in all partitions together
LEAST_STEPS = 100_000  # in one partition, however many there are
_MAX_RANKS = 1 << 26  # rows times positions; beyond, the walk goes without
_PARTITIONS_PER_PIECE = 1 << 14
_ENTRIES_PER_PIECE = 1 << 17


@dataclass(frozen=True, slots=True)
class Ranks:
    """How far into the pattern each position lies, from 1; and the highest rank that lies behind it."""

    rank: tuple[int, ...]
    most: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Longest:
    """Per partition: the entries (symbol, row) end at `ends[i]`, the positions reached at `position_ends[i]`."""

    partition: IntArray
    scope: IntArray
    matched: np.ndarray[Any, np.dtype[np.bool_]]
    stopped: np.ndarray[Any, np.dtype[np.bool_]]  # the steps were used up before all was looked at
    first_size: IntArray  # how many entries lead to where it stands; more are repetitions
    ends: IntArray
    symbols: IntArray
    rows: IntArray
    position_ends: IntArray
    positions: IntArray

    def entries(self, i: int) -> tuple[list[int], list[int]]:
        """Symbols and rows of partition i."""
        piece = slice(int(self.ends[i - 1]) if i else 0, int(self.ends[i]))
        return self.symbols[piece].tolist(), self.rows[piece].tolist()

    def reached(self, i: int) -> list[int]:
        """The positions at which the partial match of partition i may stand."""
        start = int(self.position_ends[i - 1]) if i else 0
        return list(map(int, self.positions[start : int(self.position_ends[i])]))


@dataclass(frozen=True, slots=True)
class Searched:
    """The events in order, what the matcher sees of them, and what was found."""

    ordered: Ordered
    setting: Setting
    longest: Longest


class LongestOperator(PatternOperator):
    """Looks at a whole block at once."""

    def search(self, block: pa.Table, ranks: Ranks, max_steps: int = MAX_STEPS) -> Searched:
        """The longest partial match of each partition."""
        ordered = order_events(block, self.spec.layout.partition, self.spec.tie_columns, self._n_threads)
        self._watermark_us = self.spec.end_us
        setting = with_offers(self._setting(block, ordered, MIN_US))
        walk = _LongestWalk(setting, ordered, ranks, max(LEAST_STEPS, max_steps // max(1, ordered.n_partitions)))
        return Searched(ordered, setting, walk.longest())


class _LongestWalk(Walk):
    def __init__(self, setting: Setting, ordered: Ordered, ranks: Ranks, max_steps: int) -> None:
        # Importing it compiles it, once per machine: not before a diagnosis needs it.
        from eventide.families.events import kernel_partial as partial

        super().__init__(setting, setting.program.main, EXISTS, 0, len(setting.scopes))
        self._partial = partial
        n_positions = len(setting.program.positions)
        rank, most = (np.array(numbers, dtype=np.int64) for numbers in (ranks.rank, ranks.most))
        ahead = np.zeros((0, 0), dtype=np.int32)
        if n_positions * ordered.ts_us.size <= _MAX_RANKS:
            ahead = np.zeros((n_positions, ordered.ts_us.size), dtype=np.int32)
            item, edge_lo, edge_to = setting.program.tables[:3]
            partial.index_ranks(
                ordered.offsets, ordered.precedes, ordered.mask, item, edge_lo, edge_to, rank, most, ahead
            )
        self._guide = (setting.scopes, self._branches, rank, ahead)
        self._state = np.zeros((1, places.STATE_SIZE), dtype=np.int64)
        self._state[0, places.MAX_STEPS] = max_steps
        self._state[0, places.SINCE] = NEVER
        self._best = (
            np.empty((2, self._stacks[1].shape[1]), dtype=np.int64),
            np.zeros((1, n_positions), dtype=np.int64),
            self._state,
        )
        self._found = (
            np.empty((_PARTITIONS_PER_PIECE, places.FOUND_SIZE), dtype=np.int64),
            np.empty((2, _ENTRIES_PER_PIECE), dtype=np.int64),
            np.empty((1, _ENTRIES_PER_PIECE + n_positions), dtype=np.int64),
        )

    def longest(self) -> Longest:
        """Walk to the end."""
        heads, entries, positions = [], [], []
        while not self.ended:
            status = self._find()
            if status == SPACE:
                self._grow()
                continue
            n = int(self._job[N_OUT])
            head, kept, reached = self._found
            if status == FULL and n == 0:
                self._found = head, np.empty((2, 2 * kept.shape[1]), dtype=np.int64), reached
                continue
            if n:
                heads.append(head[:n].copy())
                entries.append(kept[:, : head[n - 1, places.HEAD_ENTRIES]].copy())
                positions.append(reached[0, : head[n - 1, places.HEAD_POSITIONS]].copy())
            self._job[N_OUT] = 0
        return _joined(heads, entries, positions)

    def _grow(self) -> None:
        self._stacks = tuple(map(doubled, self._stacks))  # type: ignore[assignment]
        best = np.empty((2, self._stacks[1].shape[1]), dtype=np.int64)
        best[:, : self._best[0].shape[1]] = self._best[0]
        self._best = best, *self._best[1:]

    def _find(self) -> int:
        setting = self._setting
        with too_wide():
            status: int = self._partial.find_longest(
                self._job,
                setting.program.tables,
                setting.events,
                setting.offers,
                self._stacks,
                setting.tests,
                setting.cols,
                self._guide,
                self._best,
                self._found,
            )
        return status


def _joined(heads: list[IntArray], entries: list[IntArray], positions: list[IntArray]) -> Longest:
    if not heads:
        heads = [np.empty((0, places.FOUND_SIZE), np.int64)]
        entries, positions = [np.empty((2, 0), np.int64)], [np.empty(0, np.int64)]
    for ends, pieces in (
        (places.HEAD_ENTRIES, [e.shape[1] for e in entries]),
        (places.HEAD_POSITIONS, map(len, positions)),
    ):
        before = 0
        for head, size in zip(heads, pieces, strict=True):
            head[:, ends] += before
            before += size
    head, bound = np.concatenate(heads), np.concatenate(entries, axis=1)
    return Longest(
        partition=head[:, places.HEAD_PARTITION],
        scope=head[:, places.HEAD_SCOPE],
        matched=head[:, places.HEAD_RESULT] == FOUND,
        stopped=head[:, places.HEAD_RESULT] == LIMIT,
        first_size=head[:, places.HEAD_FIRST_SIZE],
        ends=head[:, places.HEAD_ENTRIES],
        symbols=bound[0],
        rows=bound[1],
        position_ends=head[:, places.HEAD_POSITIONS],
        positions=np.concatenate(positions),
    )


def reached_from(program: PatternProgram, starts: list[int]) -> list[int]:
    """The positions that can be reached from some, themselves among them, ascending."""
    return program.reached(Branch(tuple(Edge(start) for start in starts), ""))
