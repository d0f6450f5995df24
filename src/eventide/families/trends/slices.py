"""Slices of time as matrices: what the events of a partition in a slice of a pane do to the records of the states.

A matrix stands for its events, wherever they were: tasks make them of the events that they have, micro-batches of those
that the watermark has passed, and `compose` multiplies them in order of time. Pairs of a partition and a pane with few
events stay events, which take less room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import EventideError
from eventide.families.trends.compiled import Kernel, load_kernel
from eventide.families.trends.inputs import Inputs, event_values, make_inputs
from eventide.families.trends.kernel_pane_pairs import find_times, mark_frequent
from eventide.families.trends.matrices import LAST, finite_name, read_matrices, write_matrices
from eventide.families.trends.panes import MAX_MATRIX, Panes, PaneWalk, Timeline, find_panes, pane_tables, timeline
from eventide.families.trends.products import Product, rearrange
from eventide.families.trends.records import Counted
from eventide.families.trends.spec import TrendSpec
from eventide.families.trends.states import States
from eventide.families.trends.tables import Tables
from eventide.runtime.block import MASK, TS, concatenate, numpy_int64
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import find_ends
from eventide.runtime.partitions import encode_partitions

WORTH = 4  # times the room of a matrix that its events take: below, they are as quickly walked where they meet
Range = tuple[int, int]  # from an instant to another, both included


def make_states(spec: TrendSpec) -> States:
    """The automaton of a spec."""
    tests = {(left, right): bits for left, right, bits in spec.tests}
    min_length = spec.min_length if len(spec.sides) == 1 else 1
    lengths = (min_length, spec.n_lengths)
    return States(spec.program, spec.sides, spec.strategy, *lengths, spec.counted, tests, spec.absences)


@lru_cache(maxsize=128)
def slice_tables(spec: TrendSpec) -> Tables | str:
    """The automaton over all letters that events can have; or why there are no slices."""
    if spec.tests:
        return "a condition on adjacent events reads the events themselves"
    if spec.count_windows is not None:
        return "the place of a window of events depends on all events before it"
    if spec.ties_follow:
        return "tied events follow one another"
    if spec.alphabet is None:
        return "the symbols' conditions may hold in too many combinations"
    try:
        tables = pane_tables(make_states(spec), list(spec.alphabet), spec, MAX_MATRIX)
    except EventideError:
        return f"the pattern has more than {MAX_MATRIX} states, and a slice is a matrix over them"
    if tables is None:
        return "a trend may be bound in several ways, or events of one time be of too many kinds"
    return tables


def make_slicer(spec: TrendSpec) -> Slicer | None:
    """What makes slices and puts them together; None where the events themselves are needed."""
    tables = slice_tables(spec)
    return None if isinstance(tables, str) else slicer_over(spec, tables)


def slicer_over(spec: TrendSpec, tables: Tables) -> Slicer:
    """The same over a known automaton."""
    return Slicer(spec, tables, make_inputs(spec.measures, spec.counts), load_kernel(spec.counts))


@dataclass(frozen=True, slots=True)
class Slicer:
    """Slices of one query."""

    spec: TrendSpec
    tables: Tables
    inputs: Inputs
    kernel: Kernel

    def combine(self, block: pa.Table, shared: Sequence[Range] = ()) -> list[pa.Table]:
        """Blocks of events and of matrices that stand for the block; of times that others share only events.

        >>> import eventide as ev
        >>> spec = ev.query("PATTERN A+ RETURN COUNT(*)", ts_unit="s", type="kind").plan(
        ...     pa.schema([("ts", pa.int64()), ("kind", pa.string())])).spec
        >>> block = pa.table({"ts": range(100), "mask": [1] * 100})
        >>> [made.num_rows for made in make_slicer(spec).combine(block, shared=[(99, 200)])]
        [1, 1]
        """
        if not block.num_rows:
            return []
        line, panes = self._lay_out(block, shared)
        frequent = self._frequent(block, line, panes)
        for lo, hi in shared:
            frequent[np.searchsorted(line.ts_us, lo) : np.searchsorted(line.ts_us, hi, side="right")] = False
        made = []
        if not frequent.all():
            rows = np.flatnonzero(~frequent)
            made.append(block.take(pa.array(rows if line.order is None else line.order[rows])))
        if frequent.any():
            made.append(self._matrices(block, *_select(line, panes, frequent)))
        return [each for each in made if each.num_rows]

    def _least(self, block: pa.Table) -> int:
        """From how many events on a matrix in their place is worth its product."""
        n_each = 1 + len(self.inputs.weights) + len(self.inputs.sums) + len(self.inputs.extremes)
        # A number has two words; two times stand beside them.
        matrix_bytes = 16 * (self.tables.n_states**2 * n_each + 1)
        return max(2, int(WORTH * matrix_bytes * block.num_rows // max(block.nbytes, 1)))

    def _frequent(self, block: pa.Table, line: Timeline, panes: Panes) -> Any:
        """Of every event whether a matrix would stand for it."""
        frequent = np.zeros(line.key.size, dtype=np.bool_)
        mark_frequent(panes.rows, line.key, self._least(block), np.zeros(line.n_keys, np.int64), frequent)
        return frequent

    def frequent_share(self, block: pa.Table) -> float:
        """The share of the events that matrices would stand for."""
        return float(self._frequent(block, *self._lay_out(block, ())).mean()) if block.num_rows else 0.0

    def _lay_out(self, block: pa.Table, shared: Sequence[Range]) -> tuple[Timeline, Panes]:
        line = timeline(block, self.spec, self._letters(numpy_int64(block.column(MASK))))
        panes = find_panes(line.ts_us, self.spec, self.tables.n_states)
        borders = [lo for lo, _ in shared] + [hi + 1 for _, hi in shared]
        return line, _cut(panes, np.searchsorted(line.ts_us, np.array(borders, dtype=np.int64)), self.tables.n_states)

    def _letters(self, mask: IntArray) -> IntArray:
        alphabet = np.array(self.spec.alphabet, dtype=np.int64)
        place = np.searchsorted(alphabet, mask)
        found = alphabet[np.minimum(place, alphabet.size - 1)] == mask if alphabet.size else mask == 0
        if not np.all(found | (mask == 0)):
            raise EventideError(
                "an event takes symbols together that the query's conditions seem to keep apart",
                hint="compare strings without collations, or give the symbols conditions on different columns",
            )
        return np.where(mask == 0, -1, place)

    def _matrices(self, block: pa.Table, line: Timeline, panes: Panes) -> pa.Table:
        """A row for every pair of a partition and a pane."""
        values, distinct = event_values(block, line.order, self.inputs, self.kernel.numbers.WEIGHT)
        n = self.tables.n_states
        walk = PaneWalk(self.kernel, self.tables, self.inputs, line, values, panes, n_threads=1)
        key, pane, records = walk.run(n_rows=n, n_each=n * n)
        times = np.empty(key.size, np.int64), np.empty(key.size, np.int64)
        ends = np.full(line.n_keys, -1), np.full(line.n_keys, -1)
        find_times(panes.rows, (line.key, line.ts_us, line.letter), (key, pane), ends, times)
        find_ends(line.key, *ends)
        rows = ends[0][key] if line.order is None else line.order[ends[0][key]]
        columns = {name: block.column(name).take(pa.array(rows)) for name in self.spec.layout.partition}
        columns |= {TS: pa.array(times[0]), LAST: pa.array(times[1])}
        columns |= write_matrices(records, key.size, self.inputs, distinct)
        for i, (_, name) in enumerate(self.inputs.sums):
            taken = block.column(name) if line.order is None else block.column(name).take(pa.array(line.order))
            finite = pc.all(pc.is_finite(taken)).as_py() is not False
            columns[finite_name(i)] = pa.array(np.full(key.size, finite))
        return pa.table(columns)

    def compact(self, slices: pa.Table) -> pa.Table:
        """One matrix for all of a partition in one pane."""
        order, key, oldest, newest = self._in_order(slices)
        slices = slices.take(pa.array(order))
        new = np.concatenate([[True], (np.diff(key) != 0) | (np.diff(oldest) != 0) | (np.diff(newest) != 0)])
        if new.all():
            return slices
        borders = np.append(np.flatnonzero(new), key.size)
        records, distinct = read_matrices(slices, self.inputs, self.kernel)
        product = Product(self.kernel, self.tables, self._shape)
        made = product.runs(borders, records)
        first = slices.take(pa.array(borders[:-1]))
        columns = {name: first.column(name) for name in [*self.spec.layout.partition, TS]}
        columns[LAST] = pa.array(np.maximum.reduceat(numpy_int64(slices.column(LAST)), borders[:-1]))
        columns |= write_matrices(made, borders.size - 1, self.inputs, distinct)
        for i in range(len(self.inputs.sums)):
            finite = np.asarray(slices.column(finite_name(i)))
            columns[finite_name(i)] = pa.array(np.logical_and.reduceat(finite, borders[:-1]))
        return pa.table(columns)

    def compose(self, slices: Sequence[pa.Table], events: pa.Table | None, n_threads: int) -> tuple[pa.Table, Counted]:
        """All windows, from matrices and the events that stayed events; and the slices whose rows they refer to."""
        table = concatenate(slices)
        if events is not None and events.num_rows:
            line, panes = self._lay_out(events, ())
            key = self._between(table, events)
            line = replace(line, key=key if line.order is None else key[line.order], n_keys=int(key.max()) + 1)
            table = concatenate([table, *(part for part in [self._matrices(events, line, panes)] if part.num_rows)])
        order, key, oldest, newest = self._in_order(table)
        records, distinct = read_matrices(table, self.inputs, self.kernel)
        ordered = rearrange(records, key.size, order)
        product = Product(self.kernel, self.tables, self._shape)
        pair, window, found = product.windows(key, oldest, newest, ordered, n_threads)
        last_us = np.full(int(key.max(initial=0)) + 1, -(2**62))
        np.maximum.at(last_us, key, numpy_int64(table.column(LAST))[order])
        slide, n_sides = self.spec.slide, self.tables.verdicts[0].shape[0]
        start = window * 0 if slide is None else slide.origin_us + window * slide.slide_us
        end = start if slide is None else start + slide.length_us
        ambiguous = np.zeros(pair.size * n_sides, np.bool_)
        return table, Counted(order[pair], start, end, last_us[key[pair]], found, ambiguous, distinct)

    def _between(self, slices: pa.Table, events: pa.Table) -> IntArray:
        """A number for each event, equal for those of one partition that no matrix of it lies between."""
        names = self.spec.layout.partition
        both = concatenate([slices.select([*names, TS]), events.select([*names, TS])])
        codes, _ = encode_partitions(both, names)
        order = np.lexsort((numpy_int64(both.column(TS)), codes))
        begins = order < slices.num_rows
        begins[1:] |= np.diff(codes[order]) != 0
        number = np.empty(order.size, dtype=np.int64)
        number[order] = np.cumsum(begins)
        return number[slices.num_rows :]

    @property
    def _shape(self) -> IntArray:
        return np.array([1, len(self.inputs.weights), len(self.inputs.sums), len(self.inputs.extremes)])

    def _in_order(self, slices: pa.Table) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The rows by partition and time; the partition, the oldest and the newest window of each."""
        codes, _ = encode_partitions(slices, self.spec.layout.partition)
        ts_us, slide = numpy_int64(slices.column(TS)), self.spec.slide
        order = np.lexsort((ts_us, codes))
        key, ts_us = codes[order].astype(np.int64), ts_us[order]
        if slide is None:
            return order, key, np.zeros_like(key), np.zeros_like(key)
        newest = (ts_us - slide.origin_us) // slide.slide_us
        oldest = (ts_us - slide.origin_us - slide.length_us) // slide.slide_us + 1
        return order, key, oldest, newest


def is_sliced(block: pa.Table) -> bool:
    """Whether a block holds matrices."""
    return LAST in block.schema.names


def all_finite(slices: pa.Table, inputs: Inputs) -> dict[str, bool]:
    """By column of doubles that is added up: whether no event has an infinite value."""
    made: dict[str, bool] = {}
    for i, (_, name) in enumerate(inputs.sums):
        made[name] = made.get(name, True) and bool(pc.all(slices.column(finite_name(i))).as_py())
    return made


def _cut(panes: Panes, places: Any, n_states: int) -> Panes:
    """The panes, cut at more places."""
    begins, n = panes.rows[:, 0], int(panes.rows[-1, 1])
    first = np.unique(np.concatenate([begins, places[(places > 0) & (places < n)]]))
    pane = np.searchsorted(begins, first, side="right") - 1
    rows = np.stack([first, np.append(first[1:], n), np.full(first.size, n_states)], axis=1)
    return Panes(rows, panes.oldest[pane], panes.newest[pane])


def _select(line: Timeline, panes: Panes, keep: Any) -> tuple[Timeline, Panes]:
    """Some of the events; panes without any are left out."""
    if keep.all():
        return line, panes
    rows = np.flatnonzero(keep)
    order = rows if line.order is None else line.order[rows]
    before = np.concatenate([[0], np.cumsum(keep)])
    first, stop = before[panes.rows[:, 0]], before[panes.rows[:, 1]]
    held = stop > first
    left = np.stack([first, stop, panes.rows[:, 2]], axis=1)[held]
    made = Timeline(line.key[rows], line.ts_us[rows], line.letter[rows], line.n_keys, order)
    return made, Panes(left, panes.oldest[held], panes.newest[held])
