"""Aggregates over windows of time and sessions, from panes that are aggregated as events come.

What is held are partial aggregates: never an event, and of each pane and group one row for every call that brought
events of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.families.windows.kernel_panes import assign_sessions, assign_slots
from eventide.families.windows.kernel_spans import find_growing_spans, find_spans
from eventide.families.windows.partials import Rows, finish, output_type
from eventide.families.windows.spec import (
    ALL,
    COUNT,
    DETECTED_AT,
    GROWING,
    SESSION,
    WINDOW_END,
    WINDOW_START,
    Measure,
    WindowSpec,
)
from eventide.runtime.block import MASK, MAX_US, MIN_US, TS, concatenate, numpy_int64
from eventide.runtime.holding import WatermarkOperator
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.protocol import Results
from eventide.runtime.threads import share_among_threads

Parts: TypeAlias = list[pa.Array]
LAST = "last"
_ROWS_PER_THREAD = 1 << 17
_SPARSE = 8  # slots for each event: with more, most would be empty
_FEW = 1 << 10
_ROWS_PER_BATCH = 1 << 18
_ITEMS_PER_BATCH = 1 << 22  # of lists, which windows that overlap have several times
_ROWS_HELD = 1 << 22  # with more, those of one pane and group are put together


def result_fields(spec: WindowSpec) -> list[pa.Field]:
    """What windows have besides the columns of their group."""
    times, kind = spec.time_type.arrow, spec.windows.kind
    fields = [pa.field(DETECTED_AT, times)]
    if kind != ALL:
        bound = pa.int64() if kind == COUNT else times
        fields = [pa.field(WINDOW_START, bound), pa.field(WINDOW_END, bound), *fields]
    for i, measure in enumerate(spec.measures):
        fields += measure_fields(i, measure)
    return fields


def measure_fields(i: int, measure: Measure) -> list[pa.Field]:
    """The columns of measure i: one, or a list of each value."""
    if measure.is_list:
        return [pa.field(f"l{i}_{j}", pa.list_(dtype)) for j, (_, dtype) in enumerate(measure.columns())]
    return [pa.field(f"a{i}", output_type(measure))]


@dataclass(slots=True)
class Partials:
    """Partial aggregates sorted by group, then by time: rows of `table`, and the first row of each group."""

    table: pa.Table
    borders: IntArray


class WindowOperator(WatermarkOperator):
    """Decides a window when the watermark has come to its end."""

    def __init__(self, spec: WindowSpec, n_threads: int = 1) -> None:
        super().__init__(spec.query, spec.facts)
        self.spec = spec
        self._n_threads = n_threads
        self._most_rows = _ROWS_HELD

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        if block is not None and block.num_rows:
            self.take(block)
        if watermark_us > self._watermark_us:
            yield from self._advance(watermark_us)

    def take(self, block: pa.Table) -> None:
        """Hold what a block adds to the panes; a block of partial aggregates is held as it is."""
        if not is_partial(block):
            block = self._without_late(block)
            if self.spec.is_filtered:
                block = block.filter(pc.not_equal(block.column(MASK), 0))
            if not block.num_rows:
                return
            block = partials_of(self.spec, block, self._n_threads)
        self._buffer.append(block)
        held = self._buffer.select_all() if self._buffer.count(MAX_US) > self._most_rows else None
        if held is not None:
            table = merged(self.spec, held).table
            self._most_rows = max(_ROWS_HELD, 2 * table.num_rows)
            self._buffer.clear()
            self._buffer.append(table)

    def _advance(self, watermark_us: int) -> Results:
        before_us, self._watermark_us = self._watermark_us, max(watermark_us, self._watermark_us)
        held = self._buffer.select_all()
        if held is None:
            return
        if self.spec.windows.kind in (SESSION, ALL):
            yield from self._close_sessions(held, before_us)
        else:
            yield from self._close_windows(held, before_us)

    def _close_windows(self, held: pa.Table, before_us: int) -> Results:
        windows = self.spec.windows
        first, stop = window_after(self.spec, before_us), window_after(self.spec, self._watermark_us)
        partials = merged(self.spec, held)
        n_groups = partials.borders.size - 1
        pane = panes_of(self.spec, numpy_int64(partials.table.column(TS)))
        spans = spans_of(self.spec, partials.borders, pane, np.full(n_groups, first), np.full(n_groups, stop))
        yield from self._rows(partials, spans)
        if stop < MAX_US:
            steps = windows.panes_per_window if windows.kind == GROWING else 1
            self._buffer.purge(older_than_us=windows.origin + stop // steps * steps * windows.slide)

    def _rows(self, partials: Partials, spans: IntArray) -> Results:
        """The rows of windows that hold spans of partial aggregates."""
        windows = self.spec.windows
        for lo, hi in self._cuts(partials.table, spans):
            some = spans[lo:hi]
            if windows.kind == GROWING:
                n_steps = windows.panes_per_window
                start = windows.origin + some[:, 0] // n_steps * windows.size
                end = windows.origin + (some[:, 0] + 1) * windows.slide
            else:
                start = windows.origin + some[:, 0] * windows.slide
                end = start + windows.size
            # A window without a row stands at one of its group, too.
            stop = max(some[-1, 2], some[-1, 1] + 1)
            table = partials.table.slice(some[0, 1], stop - some[0, 1])
            inside = some - np.array([0, some[0, 1], some[0, 1]])
            parts = self._spans(table, inside)
            yield self._batch(table, inside[:, 1], (start, end), self._complete_us(partials, some, end), parts)

    def _cuts(self, table: pa.Table, spans: IntArray) -> list[tuple[int, int]]:
        """Where batches of rows begin and end: each has so many windows and so many items of lists, or one window."""
        number = np.arange(spans.shape[0]) // _ROWS_PER_BATCH
        lists = [i for i, measure in enumerate(self.spec.measures) if measure.is_list]
        if lists:
            rows = np.ones(table.num_rows, dtype=np.int64)
            if is_partial(table):
                rows = pc.list_value_length(table.column(f"m{lists[0]}_0")).to_numpy().astype(np.int64)
            before = np.concatenate([[0], np.cumsum(rows)])
            items = np.cumsum(before[spans[:, 2]] - before[spans[:, 1]]) * len(lists)
            number += items // _ITEMS_PER_BATCH
        borders = np.flatnonzero(np.diff(number, prepend=-1, append=-1)).tolist()
        return list(pairwise(borders))

    def _complete_us(self, partials: Partials, spans: IntArray, end: IntArray) -> IntArray:
        """When windows that hold spans of rows were complete."""
        return end

    def _spans(self, table: pa.Table, spans: IntArray) -> list[Parts]:
        """What the measures come to over spans of rows, worked on by several threads."""
        rows, numbered = Rows(table, is_partial=is_partial(table)), list(enumerate(self.spec.measures))
        n_shares = min(self._n_threads, len(numbered)) if spans.shape[0] >= _ROWS_PER_THREAD else 1
        shares = [numbered[i::n_shares] for i in range(n_shares)]
        made = share_among_threads(lambda share: [(i, rows.by_span(i, one, spans)) for i, one in share], shares)
        return [parts for _, parts in sorted((pair for share in made for pair in share), key=lambda pair: pair[0])]

    def _batch(
        self, table: pa.Table, at: IntArray, bounds: tuple[IntArray, ...], complete_us: IntArray, parts: list[Parts]
    ) -> pa.RecordBatch:
        """Rows of the groups that stand `at` some rows of a table."""
        groups = table.select(self.spec.layout.partition).take(pa.array(at)).combine_chunks()
        columns = [_decoded(column) for column in groups.columns]
        is_count = self.spec.windows.kind == COUNT
        restored = [pa.array(bound) if is_count else self.spec.time_type.restore(bound) for bound in bounds]
        restored.append(self.spec.time_type.restore(complete_us))
        made: list[pa.Array] = []
        for measure, each in zip(self.spec.measures, parts, strict=True):
            made += each[: len(measure.columns())] if measure.is_list else [finish(measure, each)]
        names = [*self.spec.layout.partition, *(field.name for field in result_fields(self.spec))]
        return pa.RecordBatch.from_arrays([*columns, *restored, *made], names=names)

    def _close_sessions(self, held: pa.Table, before_us: int) -> Results:
        sessions = merged(self.spec, held).table
        last_us = numpy_int64(sessions.column(LAST)) + self.spec.windows.size
        has_end = self.spec.windows.kind == SESSION
        is_closed = last_us <= self._watermark_us + 1
        if not has_end:
            is_closed[:] = self._watermark_us == MAX_US
        # Those of earlier calls are still among the rows held.
        at = np.flatnonzero(is_closed & ((last_us > before_us + 1) | (not has_end)))
        yield from self._session_rows(sessions, at)
        left = sessions.filter(pa.array(~is_closed))
        # What is over is let go when it is the larger part: until then no row is written twice.
        if 2 * left.num_rows < held.num_rows:
            self._buffer.clear()
            self._buffer.append(left)

    def _session_rows(self, sessions: pa.Table, at: IntArray) -> Results:
        """The rows of the sessions that are `at` some rows."""
        for lo, hi in self._cuts(sessions, np.stack([at, at, at + 1], axis=1)):
            some = sessions.take(pa.array(at[lo:hi]))
            rows = Rows(some, is_partial=True)
            columns = [rows.parts(i, measure) for i, measure in enumerate(self.spec.measures)]
            parts = [[part.combine_chunks() for part in each] for each in columns]
            end_us = numpy_int64(some.column(LAST)) + self.spec.windows.size
            bounds = (numpy_int64(some.column(TS)), end_us) if self.spec.windows.kind == SESSION else ()
            yield self._batch(sessions, at[lo:hi], bounds, end_us, parts)

    def open_runs(self) -> int:
        return self._buffer.count(MAX_US)

    def overflows(self) -> int | None:
        """Single events leave no range; what is asked in place of trends is counted as theirs is."""
        return 0 if any(measure.is_wide for measure in self.spec.measures) else None

    def pending_us(self) -> int | None:
        held = self._buffer.select_all()
        if held is None:
            return None
        windows = self.spec.windows
        if windows.kind == ALL:
            return None
        if windows.kind == SESSION:
            ends = numpy_int64(merged(self.spec, held).table.column(LAST)) + windows.size - 1
            ends = ends[ends > self._watermark_us]
            return int(ends.min()) if ends.size else None
        stop = window_after(self.spec, self._watermark_us)
        since = int(pc.min(held.column(TS)).as_py()) - windows.origin
        if windows.kind == GROWING:
            return windows.origin + (max(stop, since // windows.slide) + 1) * windows.slide - 1
        oldest = -((windows.size - 1 - since) // windows.slide)
        return windows.origin + max(stop, oldest) * windows.slide + windows.size - 1


def _decoded(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece, strings as themselves."""
    whole = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def is_partial(block: pa.Table) -> bool:
    """Whether a block holds partial aggregates in place of events."""
    return LAST in block.column_names


def window_after(spec: WindowSpec, watermark_us: int) -> int:
    """The first window that ends later than the watermark decides."""
    windows = spec.windows
    if watermark_us >= MAX_US or watermark_us <= MIN_US:
        return MAX_US if watermark_us > 0 else MIN_US
    length = windows.slide if windows.kind == GROWING else windows.size
    return (watermark_us + 1 - windows.origin - length) // windows.slide + 1


def spans_of(spec: WindowSpec, borders: IntArray, pane: IntArray, first: IntArray, stop: IntArray) -> IntArray:
    """The rows that windows hold, from a first window of each group up to a last."""
    windows = spec.windows
    find: Any
    shape: Any
    if windows.kind == GROWING:
        find, shape = find_growing_spans, windows.panes_per_window
    else:
        shapes = (windows.panes_per_slide, windows.panes_per_window)
        find, shape = find_spans, np.array(shapes, dtype=np.int64)
    out = np.empty((0, 3), dtype=np.int64)
    n = find(borders, pane, shape, first, stop, out)
    if n:
        out = np.empty((n, 3), dtype=np.int64)
        find(borders, pane, shape, first, stop, out)
    return out


def partials_of(spec: WindowSpec, block: pa.Table, n_threads: int = 1) -> pa.Table:
    """The partial aggregates of a block's events."""
    codes, n_codes = encode_partitions(block, spec.layout.partition)
    n_shares = max(1, min(n_threads, block.num_rows // _ROWS_PER_THREAD))
    borders = np.linspace(0, block.num_rows, n_shares + 1).astype(np.int64).tolist()

    def share(ends: tuple[int, int]) -> pa.Table:
        lo, hi = ends
        return _reduced(spec, block.slice(lo, hi - lo), codes[lo:hi], n_codes)

    made = share_among_threads(share, list(pairwise(borders)))
    return concatenate(made)


def _reduced(spec: WindowSpec, block: pa.Table, codes: IntArray, n_codes: int) -> pa.Table:
    windows, ts_us = spec.windows, numpy_int64(block.column(TS))
    slot = np.empty(ts_us.size, dtype=np.int64)
    if windows.kind == ALL:
        slot, n_slots = codes.astype(np.int64), n_codes
        starts, lasts = _ends(ts_us, ts_us, slot, n_slots)
    elif windows.kind == SESSION:
        n_slots = assign_sessions(np.lexsort((ts_us, codes)), codes, ts_us, ts_us, windows.size, slot)
        starts, lasts = _ends(ts_us, ts_us, slot, n_slots)
    else:
        ends = panes_of(spec, np.array([ts_us.min(), ts_us.max()]))
        first, n_panes = int(ends[0]), int(ends[1] - ends[0]) + 1
        shape = np.array([windows.origin, windows.slide, windows.rest], dtype=np.int64)
        assign_slots(ts_us, codes, shape, first, n_codes, slot)
        slot, numbers = _dense(slot, n_codes * n_panes)
        n_slots = numbers.size
        starts = lasts = _pane_starts(spec, numbers // n_codes + first)
    return _table(spec, Rows(block, is_partial=False), slot, n_slots, starts, lasts)


def _table(
    spec: WindowSpec, rows: Rows, slot: IntArray, n_slots: int, start_us: IntArray, last_us: IntArray
) -> pa.Table:
    """One row for each slot that has rows, with the columns of its group."""
    some = np.full(n_slots, -1, dtype=np.int64)
    some[slot] = np.arange(slot.size)
    is_there = some >= 0
    groups = rows.table.select(spec.layout.partition).take(pa.array(some[is_there]))
    columns = {name: groups.column(name) for name in spec.layout.partition}
    columns |= {TS: pa.array(start_us[is_there]), LAST: pa.array(last_us[is_there])}
    kept = None if is_there.all() else pa.array(np.flatnonzero(is_there))
    for i, measure in enumerate(spec.measures):
        for j, part in enumerate(rows.by_slot(i, measure, slot, n_slots)):
            columns[f"m{i}_{j}"] = part if kept is None else part.take(kept)
    return pa.table(columns)


def merged(spec: WindowSpec, held: pa.Table) -> Partials:
    """Partial aggregates with one row for each group and pane or session, sorted by both."""
    codes, n_codes = encode_partitions(held, spec.layout.partition)
    start_us, last_us = numpy_int64(held.column(TS)), numpy_int64(held.column(LAST))
    slot = np.empty(start_us.size, dtype=np.int64)
    if spec.windows.kind == ALL:
        slot, n_slots = codes.astype(np.int64), n_codes
        starts, lasts = _ends(start_us, last_us, slot, n_slots)
    elif spec.windows.kind == SESSION:
        order = np.lexsort((start_us, codes))
        n_slots = assign_sessions(order, codes, start_us, last_us, spec.windows.size, slot)
        starts, lasts = _ends(start_us, last_us, slot, n_slots)
    else:
        pane = panes_of(spec, start_us)
        first = int(pane.min())
        n_panes = int(pane.max()) - first + 1
        slot, numbers = _dense(codes.astype(np.int64) * n_panes + (pane - first), n_codes * n_panes)
        n_slots = numbers.size
        starts = lasts = _pane_starts(spec, numbers % n_panes + first)
    table = _table(spec, Rows(held, is_partial=True), slot, n_slots, starts, lasts)
    some = np.full(n_slots, -1, dtype=np.int64)
    some[slot] = codes
    code = some[some >= 0]
    borders = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1], [True]]))
    return Partials(table, borders)


def panes_of(spec: WindowSpec, at_us: IntArray) -> IntArray:
    """The panes of some times."""
    windows = spec.windows
    since = at_us - windows.origin
    whole = since // windows.slide
    return 2 * whole + (since - whole * windows.slide >= windows.rest) if windows.rest else whole


def _pane_starts(spec: WindowSpec, pane: IntArray) -> IntArray:
    windows = spec.windows
    within = pane // 2 * windows.slide + pane % 2 * windows.rest if windows.rest else pane * windows.slide
    return windows.origin + within


def _dense(slot: IntArray, n_slots: int) -> tuple[IntArray, IntArray]:
    """Slots without gaps between them where gaps would be most of it, and the number that each had before."""
    if n_slots <= _SPARSE * slot.size + _FEW:
        return slot, np.arange(n_slots)
    numbers, slot = np.unique(slot, return_inverse=True)
    return slot, numbers


def _ends(first_us: IntArray, last_us: IntArray, slot: IntArray, n_slots: int) -> tuple[IntArray, IntArray]:
    """The first and the last time of every slot."""
    starts, lasts = np.full(n_slots, MAX_US, dtype=np.int64), np.full(n_slots, MIN_US, dtype=np.int64)
    np.minimum.at(starts, slot, first_us)
    np.maximum.at(lasts, slot, last_us)
    return starts, lasts
