"""Windows from panes: every event is walked once, whatever the number of windows that hold it.

For patterns without conditions on adjacent events. Threads share the panes by time, even those of one partition. The
results are equal to walking each window (`walks.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from eventide.families.trends.compiled import Kernel
from eventide.families.trends.inputs import Inputs, event_values
from eventide.families.trends.letters import code_masks
from eventide.families.trends.products import Product, in_threads, rearrange
from eventide.families.trends.records import Counted, new_records
from eventide.families.trends.spec import TrendSpec
from eventide.families.trends.states import States
from eventide.families.trends.tables import MAX_STATES, Tables, make_tables
from eventide.runtime.block import MASK, TS, numpy_int64
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import find_ends, find_last, is_sorted
from eventide.runtime.partitions import encode_partitions

MAX_SET_LETTERS = 5  # n letters have 2**n sets, each with a row in the table
MAX_MATRIX = 12  # states; with more, the products of matrices cost more than they save
LEAST_SLICE = 50_000  # events; a slice with fewer is not worth a thread


@dataclass(frozen=True, slots=True)
class Timeline:
    """The events in order of time: their partitions, times and letters.

    `order` has their rows in the block; None: the block is in order of time already.
    """

    key: Any
    ts_us: IntArray
    letter: IntArray
    n_keys: int
    order: IntArray | None


@dataclass(frozen=True, slots=True)
class Panes:
    """Ranges of events that lie in the same windows: from the window `oldest` to the window `newest`.

    A row of `rows` is (first event, end, number of states in which a partial trend may enter the pane).
    """

    rows: IntArray
    oldest: IntArray
    newest: IntArray

    @property
    def overlap(self) -> bool:
        """Whether a pane lies in several windows, or a window holds several panes."""
        return bool((self.oldest != self.newest).any() or (self.newest[1:] == self.newest[:-1]).any())


def count_by_panes(
    block: pa.Table, spec: TrendSpec, states: States, inputs: Inputs, kernel: Kernel, n_threads: int
) -> Counted | None:
    """The records of every partition and window; None where each window must be walked."""
    if spec.tests or spec.count_windows is not None or spec.ties_follow:
        return None
    masks, coded = code_masks(numpy_int64(block.column(MASK)), n_threads)
    tables = pane_tables(states, masks, spec)
    if tables is None:
        return None
    line = timeline(block, spec, coded)
    panes = find_panes(line.ts_us, spec, tables.n_states)
    if spec.slide is None and n_threads > 1 and block.num_rows >= LEAST_SLICE * n_threads:
        if not counts_only(tables, inputs):
            # Walked by partition if there are several: a row of records for every state costs more than threads save.
            return None if line.n_keys > 1 else _walk_panes(block, spec, inputs, kernel, line, tables, panes, 1)
        panes = _slices(line.ts_us, n_threads, int(rows_to_walk(tables).max()) + 1)
    if panes.overlap and tables.n_states > MAX_MATRIX:
        return None
    return _walk_panes(block, spec, inputs, kernel, line, tables, panes, n_threads)


def _walk_panes(
    block: pa.Table,
    spec: TrendSpec,
    inputs: Inputs,
    kernel: Kernel,
    line: Timeline,
    tables: Tables,
    panes: Panes,
    n_threads: int,
) -> Counted:
    values, distinct = event_values(block, line.order, inputs, kernel.numbers.WEIGHT)
    walk = PaneWalk(kernel, tables, inputs, line, values, panes, n_threads)
    return walk.windows(spec, distinct) if panes.overlap else walk.single(spec, distinct)


def pane_tables(states: States, masks: list[int], spec: TrendSpec, max_states: int = MAX_STATES) -> Tables | None:
    """The automaton; None if the sets of letters that share a time are too many for a small table."""
    plain = states.strategy == "any" and not spec.program.negations
    if plain:
        tables = make_tables(states, masks, [()], max_states)
    elif len(masks) <= MAX_SET_LETTERS:
        sets = [tuple(m for i, m in enumerate(masks) if each >> i & 1) for each in range(1 << len(masks))]
        tables = make_tables(states, masks, sets, max_states)
    else:
        return None
    # Several classes of bindings are left to the walk of windows: they are not worth a second mechanism here.
    has_classes = tables.n_classes > 1 or any(state.mixed for state in tables.states)
    return None if has_classes and spec.counted else tables


def timeline(block: pa.Table, spec: TrendSpec, letter: IntArray) -> Timeline:
    """The events of a block with their letters, in order of time."""
    key, n_keys = encode_partitions(block, spec.layout.partition)
    ts_us = numpy_int64(block.column(TS))
    if is_sorted(ts_us):
        return Timeline(key, ts_us, letter, n_keys, None)
    order = np.argsort(ts_us, kind="stable")
    return Timeline(key[order], ts_us[order], letter[order], n_keys, order)


def find_panes(ts_us: IntArray, spec: TrendSpec, n_states: int) -> Panes:
    """The panes of all windows that hold an event."""
    slide, n = spec.slide, ts_us.size
    if slide is None:
        nothing = np.zeros(1, dtype=np.int64)
        return Panes(np.array([[0, n, 1]]), nothing, nothing)
    # Panes begin where a window begins or ends. Where events are sparse there are more such borders than events: then
    # every event is looked at instead.
    span = (int(ts_us[-1]) - int(ts_us[0])) // slide.slide_us + 2
    if span < n:
        begins = (
            slide.origin_us + ((int(ts_us[0]) - slide.origin_us) // slide.slide_us + np.arange(span)) * slide.slide_us
        )
        ends = begins + slide.length_us % slide.slide_us
        places = np.unique(np.searchsorted(ts_us, np.concatenate([begins, ends])))
        first = np.unique(np.concatenate([[0], places[places < n]]))
    else:
        first = np.arange(n)
    newest = (ts_us[first] - slide.origin_us) // slide.slide_us
    oldest = (ts_us[first] - slide.origin_us - slide.length_us) // slide.slide_us + 1
    begun = np.concatenate([[True], (newest[1:] != newest[:-1]) | (oldest[1:] != oldest[:-1])])
    first, newest, oldest = first[begun], newest[begun], oldest[begun]
    rows = np.stack([first, np.append(first[1:], n), np.full(first.size, n_states)], axis=1)
    return Panes(rows, oldest, newest)


def _slices(ts_us: IntArray, n_threads: int, n_rows: int) -> Panes:
    """One window cut into slices of time, one for each thread.

    No partial trend enters the first slice, so that it is walked with a single row of records and may be longer.
    """
    shares = [0.6 + 0.4 * n_rows, *[1.0] * (n_threads - 1)]
    wanted = (np.cumsum(shares)[:-1] / sum(shares) * ts_us.size).astype(np.int64)
    # Events with one time stay together.
    borders = sorted({0, ts_us.size, *np.searchsorted(ts_us, ts_us[wanted]).tolist()})
    # Partial trends enter every slice but the first. A number above 1 says so, even if all states share one row.
    rows = np.array([(a, b, n_rows + 1 if a else 1) for a, b in pairwise(borders)], dtype=np.int64)
    nothing = np.zeros(len(rows), dtype=np.int64)
    return Panes(rows, nothing, nothing)


@dataclass(frozen=True, slots=True)
class PaneWalk:
    """The walk of all panes; a thread takes some of them."""

    kernel: Kernel
    tables: Tables
    inputs: Inputs
    line: Timeline
    values: Any
    panes: Panes
    n_threads: int

    @property
    def shape(self) -> IntArray:
        return np.array([1, len(self.inputs.weights), len(self.inputs.sums), len(self.inputs.extremes)])

    def single(self, spec: TrendSpec, distinct: list[pa.Array]) -> Counted:
        """Windows that are one pane each."""
        n_sets = self.tables.verdicts[0].shape[0]
        key, pane, records = self.run(n_rows=1, n_each=n_sets)
        return self._counted(key, self.panes.newest[pane], records, n_sets, spec, distinct)

    def windows(self, spec: TrendSpec, distinct: list[pa.Array]) -> Counted:
        """Windows that share panes."""
        n = self.tables.n_states
        key, pane, matrices = self.run(n_rows=n, n_each=n * n)
        n_sets = self.tables.verdicts[0].shape[0]
        if not key.size:
            return self._counted(key, pane, matrices, n_sets, spec, distinct)
        order = np.lexsort((pane, key))
        ordered = rearrange(matrices, key.size, order)
        key, pane = key[order], pane[order]
        product = Product(self.kernel, self.tables, self.shape)
        oldest, newest = self.panes.oldest[pane], self.panes.newest[pane]
        pair, window, records = product.windows(key, oldest, newest, ordered, self.n_threads)
        return self._counted(key[pair], window, records, n_sets, spec, distinct)

    def _counted(
        self, key: IntArray, window: IntArray, records: Any, n_sets: int, spec: TrendSpec, distinct: list[pa.Array]
    ) -> Counted:
        line, slide = self.line, spec.slide
        first, last = np.full(line.n_keys, -1), np.full(line.n_keys, -1)
        if line.n_keys == 1:
            first[0], last[0] = 0, line.key.size - 1
        else:
            find_ends(line.key, first, last)
        if slide is None:
            # Where results are detected: the last event that a symbol takes.
            find_last(line.key, line.letter, last)
        rows = first[key] if line.order is None else line.order[first[key]]
        start = window * 0 if slide is None else slide.origin_us + window * slide.slide_us
        end = start if slide is None else start + slide.length_us
        return Counted(
            rows, start, end, line.ts_us[last[key]], records, np.zeros(key.size * n_sets, np.bool_), distinct
        )

    def _n_pairs(self, panes: IntArray) -> IntArray:
        """How many partitions have an event in each pane."""
        n_pairs = np.ones(len(panes), dtype=np.int64)
        if self.line.n_keys > 1:
            self.kernel.panes.count_pairs(panes, self.line.key, np.full(self.line.n_keys, -1), n_pairs)
        return n_pairs

    def _judged(self, cells: Any, n: int) -> Any:
        """What the states of every pair count for, by role."""
        counted = self.tables.verdicts[0]
        shaped = cells.reshape(n, self.tables.n_states, 2)
        out = np.zeros((n, counted.shape[0], 2), dtype=cells.dtype)
        for k, states in enumerate(counted):
            chosen = np.flatnonzero(states)
            if chosen.size == 1:
                out[:, k] = shaped[:, chosen[0]]
            elif chosen.size:
                self.kernel.records.add_states(shaped, chosen, out, k)
        return out.reshape(-1, 2)

    def run(self, n_rows: int, n_each: int) -> tuple[IntArray, IntArray, Any]:
        """Partition, pane and records of every pair of a partition and a pane that holds an event of it."""
        panes, line = self.panes, self.line
        events = (line.key, line.ts_us, line.letter)
        shape = self.shape
        sizes = np.append(shape, n_rows)
        tables = self.tables
        program = (
            tables.moves,
            tables.letters,
            tables.keeps,
            tables.verdicts,
            tables.n_states,
            tables.keeps_all,
            np.arange(tables.keeps[0].shape[0]),
        )

        def walk(first: int, stop: int) -> tuple[IntArray, IntArray, Any]:
            mine = panes.rows[first:stop]
            n_pairs = self._n_pairs(mine)
            n_slots, n = int(n_pairs.max()), int(n_pairs.sum())
            n_records = 2 * tables.n_states * n_rows * n_slots + tables.n_states
            memory = (
                new_records(self.kernel, n_records, shape),
                np.full(line.n_keys, -1),
                *(np.empty(n_slots, np.int64) for _ in range(3)),
            )
            out = (np.empty(n, np.int64), np.empty(n, np.int64), new_records(self.kernel, n * n_each, shape))
            with np.errstate(all="ignore"):
                found = self.kernel.panes.walk_panes(mine, events, program, self.values, memory, sizes, out)
            records = tuple(a[: found * n_each * w] for a, w in zip(out[2], (1, *shape[1:].tolist()), strict=True))
            return out[0][:found], out[1][:found] + first, records

        def walk_counts(first: int, stop: int) -> tuple[IntArray, IntArray, Any]:
            mine = panes.rows[first:stop]
            n, dtype = tables.n_states, self.kernel.numbers.DTYPE
            row_of = rows_to_walk(tables) if mine[0, 2] > 1 and n_rows > 1 else np.array([0, *[-1] * (n - 1)])
            entered = np.array([int(np.flatnonzero(row_of == row)[0]) for row in range(row_of.max() + 1)])
            n_pairs = self._n_pairs(mine)
            n_slots, n_all, n_cells = int(n_pairs.max()), int(n_pairs.sum()), n * entered.size
            memory = (
                np.zeros((2 * n_cells * n_slots, 2), dtype),
                np.full(line.n_keys, -1),
                *(np.empty(n_slots, np.int64) for _ in range(3)),
            )
            out = (np.empty(n_all, np.int64), np.empty(n_all, np.int64), np.zeros((n_all * n_cells, 2), dtype))
            steps = (*tables.letters[:2], *_targets(tables))
            with np.errstate(all="ignore"):
                found = self.kernel.counts.walk_counts(mine, events, steps, n, entered, memory, out)
                cells = out[2][: found * n_cells]
                if n_rows == 1:
                    cells = self._judged(cells, found)
                else:
                    spread, one = np.zeros((found * n * n, 2), dtype), np.zeros((1, 2), dtype)
                    self.kernel.numbers.set_one(one, 0)
                    self.kernel.counts.spread_rows(cells, n, entered.size, row_of, one, spread)
                    cells = spread
            records = (cells, *new_records(self.kernel, 0, shape)[1:])
            return out[0][:found], out[1][:found] + first, records

        work = walk_counts if counts_only(tables, self.inputs) else walk
        sizes_of = panes.rows[:, 1] - panes.rows[:, 0]
        total = np.cumsum(sizes_of)
        wanted = np.linspace(0, total[-1], self.n_threads + 1)[1:-1]
        cuts = sorted({0, len(sizes_of), *(np.searchsorted(total, wanted, side="left") + 1).tolist()})
        if self.panes.overlap and len(sizes_of) <= self.n_threads:
            cuts = list(range(len(sizes_of) + 1))
        parts = in_threads(work, list(pairwise(cuts)))
        return (
            np.concatenate([part[0] for part in parts]),
            np.concatenate([part[1] for part in parts]),
            tuple(np.concatenate([part[2][i] for part in parts]) for i in range(4)),
        )


def counts_only(tables: Tables, inputs: Inputs) -> bool:
    """Whether only numbers of trends are counted, and no event makes partial trends disappear."""
    return tables.keeps_all and not (inputs.weights or inputs.sums or inputs.extremes) and tables.n_states < 62


def rows_to_walk(tables: Tables) -> IntArray:
    """For each state the row of the matrix that is walked for it.

    A state in which every letter leads to the same states as in the start shares row 0; every other state has a row.
    """
    step_lo, step_from, step_move = tables.letters
    leads: list[set[tuple[int, int]]] = [set() for _ in range(tables.n_states)]
    for letter, (first, stop) in enumerate(pairwise(step_lo.tolist())):
        for i in range(first, stop):
            leads[int(step_from[i])].add((letter, int(tables.moves[0][step_move[i]])))
    row_of = np.zeros(tables.n_states, dtype=np.int64)
    n_rows = 1
    for state in range(1, tables.n_states):
        if leads[state] != leads[0]:
            row_of[state] = n_rows
            n_rows += 1
    return row_of


def _targets(tables: Tables) -> tuple[IntArray, IntArray]:
    """For each step the state behind it; for each letter the states to which it leads, as bits."""
    step_lo, _, step_move = tables.letters
    step_to = tables.moves[0][step_move]
    bits = [int(np.bitwise_or.reduce(1 << step_to[a:b], initial=0)) for a, b in pairwise(step_lo.tolist())]
    return step_to, np.array(bits, dtype=np.int64)
