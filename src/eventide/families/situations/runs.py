"""Blocks to runs: what is known from before and the events of a block, by partition and symbol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.families.situations import kernel
from eventide.families.situations.kernel_partners import drop_alone
from eventide.families.situations.spec import SituationSpec
from eventide.runtime.block import MASK, TS, numpy_int64
from eventide.runtime.by_code import order_by_code
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import is_sorted
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.rearrange import rearrange

OPEN = kernel.OPEN
# Columns of what is known, beside the partition's and those of the aggregates.
SYMBOL, START, END, READY, LAST = "symbol", "start", "end", "ready", "last"


@dataclass(frozen=True, slots=True)
class Input:
    """Events in order of partition and time, and the runs known from before in order of partition and start."""

    n_partitions: int
    order: IntArray  # rows of the block
    offsets: IntArray
    ts: IntArray
    mask: IntArray
    known_order: IntArray  # rows of what is known
    known: tuple[IntArray, ...]  # symbol, start, end, ready, first of each partition
    last_us: IntArray
    sample: IntArray  # of each partition a row: of what is known, and behind those of the block

    def share(self, n_shares: int) -> list[tuple[int, int]]:
        """Ranges of partitions with about the same number of events each."""
        wanted = np.linspace(0, self.ts.size, n_shares + 1)[1:-1]
        borders = sorted({0, self.n_partitions, *np.searchsorted(self.offsets, wanted).tolist()})
        return [(a, b) for a, b in pairwise(borders) if a < b]

    def last_events(self) -> IntArray:
        """The time of the last event of each partition."""
        stop = self.offsets[1:]
        if not self.ts.size:
            return self.last_us
        return np.where(stop > self.offsets[:-1], self.ts[np.maximum(stop - 1, 0)], self.last_us)


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of a range of partitions: those of symbol k in partition p are borders[k, p] to borders[k, p + 1]."""

    first_partition: int
    start: IntArray
    end: IntArray
    ready: IntArray
    told: IntArray
    lo: IntArray
    hi: IntArray
    origin: IntArray
    borders: IntArray

    def drop_alone(self, masks: IntArray) -> None:
        """Forget ended runs that no match can hold, for want of a partner."""
        arrays = (self.start, self.end, self.ready, self.told, self.lo, self.hi, self.origin)
        drop_alone(arrays, self.borders, masks)

    def places(self) -> tuple[IntArray, IntArray, IntArray]:
        """Of all runs: place, symbol, partition."""
        n_symbols, n_borders = self.borders.shape
        sizes = np.diff(self.borders, axis=1).reshape(-1)
        first = np.repeat(self.borders[:, :-1].reshape(-1), sizes)
        within = np.arange(first.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        symbol = np.repeat(np.repeat(np.arange(n_symbols), n_borders - 1), sizes)
        partition = np.repeat(np.tile(np.arange(n_borders - 1), n_symbols), sizes) + self.first_partition
        return first + within, symbol, partition


def read_input(block: pa.Table, known: pa.Table, spec: SituationSpec, n_threads: int) -> Input:
    """Sort events and what is known; events with one time by the tie columns, where there are any such."""
    partition = spec.layout.partition
    n_known = known.num_rows
    codes, n_codes = encode_partitions(_stacked(known, block, partition), partition)
    event_codes, known_codes = codes[n_known:], codes[:n_known]
    ts = numpy_int64(block.column(TS))
    order, offsets = order_by_code(
        event_codes, n_codes, None if is_sorted(ts) else np.argsort(ts, kind="stable"), n_threads
    )
    sorted_ts = rearrange(ts, order, n_threads)
    if _has_ties(sorted_ts, offsets) and spec.tie_columns:
        keys = [(name, "ascending", "at_start") for name in (TS, *spec.tie_columns)]
        by_time = pc.sort_indices(block, sort_keys=keys).to_numpy().astype(np.int64)
        order, offsets = order_by_code(event_codes, n_codes, by_time, n_threads)
    mask = rearrange(numpy_int64(block.column(MASK)), order, n_threads)
    columns = [numpy_int64(known.column(name)) for name in (SYMBOL, START, END, READY, LAST)]
    known_order = np.lexsort((columns[1], known_codes))
    symbol, start, end, ready, last = (column[known_order] for column in columns)
    counts = np.bincount(known_codes, minlength=n_codes)
    first_known = np.concatenate([[0], np.cumsum(counts)])
    last_us = np.zeros(n_codes, dtype=np.int64)
    last_us[known_codes[known_order]] = last
    sample = np.zeros(n_codes, dtype=np.int64)
    sample[known_codes] = np.arange(n_known)
    has_events = offsets[1:] > offsets[:-1]
    sample[has_events] = n_known + order[offsets[:-1][has_events]]
    return Input(
        n_codes, order, offsets, sorted_ts, mask, known_order, (symbol, start, end, ready, first_known), last_us, sample
    )


def _stacked(known: pa.Table, block: pa.Table, partition: Sequence[str]) -> pa.Table:
    rows = [table.select(partition) for table in (known, block)]
    if not partition:
        return pa.table({"n": pa.nulls(known.num_rows + block.num_rows, pa.int8())})
    return pa.concat_tables(rows)


def _has_ties(ts: IntArray, offsets: IntArray) -> bool:
    if ts.size < 2:
        return False
    tied = ts[1:] == ts[:-1]
    borders = offsets[1:-1]
    tied[borders[(borders > 0) & (borders < ts.size)] - 1] = False
    return bool(tied.any())


def derive(given: Input, spec: SituationSpec, partitions: tuple[int, int], closes: bool) -> Runs:
    """The runs of a range of partitions."""
    n = len(spec.symbols)
    bounds = np.array(
        [
            (least, OPEN if most is None else most, OPEN if gap is None else min(gap, OPEN))
            for (least, most), gap in zip(spec.durations, spec.gaps, strict=True)
        ],
        dtype=np.int64,
    )
    counts = np.zeros(n, dtype=np.int64)
    shortest_gap = int(bounds[:, 2].min())
    kernel.count_runs(given.ts, given.mask, given.offsets, given.known, shortest_gap, partitions, counts)
    base = np.cumsum(counts) - counts
    start, end, ready, told, lo, hi, origin = (np.empty(int(counts.sum()), dtype=np.int64) for _ in range(7))
    borders = np.zeros((n, partitions[1] - partitions[0] + 1), dtype=np.int64)
    kernel.derive(
        (given.ts, given.mask, given.offsets, given.last_us),
        given.known,
        bounds,
        closes,
        partitions,
        base,
        (start, end, ready, told, lo, hi, origin),
        borders,
    )
    return Runs(partitions[0], start, end, ready, told, lo, hi, origin, borders)
