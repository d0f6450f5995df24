"""Derived intervals: holds the events that wait for the watermark, and what is open; returns a row per interval.

An interval leaves when an event closes it, when it has reached its maximum, when no event within the gap can come any
more, or at the end of bounded input; what has no end then is no interval of the kind that needs one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import InputError
from eventide.families.intervals import kernel as plain_kernel
from eventide.families.intervals.kernel import (
    BY,
    COUNT,
    FIRST,
    HIGH,
    LAST,
    LOW,
    N_CLOSED,
    N_OPEN,
    N_WAY,
    POSITION,
    STOP,
)
from eventide.families.intervals.opened import Kept, Opened, no_homes, slots_of
from eventide.families.intervals.outputs import Closed, rows_of
from eventide.families.intervals.saved import SavedOpened
from eventide.families.intervals.settling import stretches
from eventide.families.intervals.spec import RUNS, IntervalSpec
from eventide.runtime.block import MASK, MAX_US, MIN_US, TS, concatenate, numpy_int64
from eventide.runtime.encode import encode_columns
from eventide.runtime.generated import load_specialized
from eventide.runtime.holding import WatermarkOperator
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import is_sorted, meets_equal
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.protocol import Results, Snapshot
from eventide.runtime.row_order import order_rows
from eventide.runtime.shares import share_out
from eventide.runtime.threads import share_among_threads

ROOM = 1 << 16  # intervals that a thread closes in one call
_WORTH_A_THREAD = 1 << 16
_AS_THEY_ARE = np.empty(0, dtype=np.int64)


class IntervalOperator(WatermarkOperator):
    """The operator of an `IntervalSpec`."""

    def __init__(self, spec: IntervalSpec, n_threads: int = 1) -> None:
        super().__init__(spec.query, spec.facts, spec.end_us)
        self.spec = spec
        self._n_threads = n_threads
        self._derive = load_derive(spec)
        self._opened = Opened.none(spec)
        self._saved = SavedOpened(spec)

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        if block is not None and TS not in block.column_names:
            # What a combiner has derived.
            yield from block.to_batches()
        elif block is not None:
            self._buffer.append(self._without_late(block))
        yield from self._advance(max(watermark_us, self._watermark_us))

    def memory_bytes(self) -> int:
        return super().memory_bytes() + self._opened.memory_bytes()

    def open_runs(self) -> int:
        """Intervals that have begun and not ended, as of the watermark."""
        return self._opened.size

    def pending_us(self) -> int | None:
        """The next event behind the watermark, or the next time at which a run is over."""
        waiting = self._buffer.earliest_after(self._watermark_us)
        soon = MAX_US if waiting is None else waiting
        if self.spec.gap_us is not None and self._opened.size:
            soon = min(soon, self._opened.earliest_us + self.spec.gap_us - 1)
        return None if soon == MAX_US else max(soon, self._watermark_us + 1)

    def snapshot(self) -> Snapshot:
        self._opened = self._saved.save(self._opened, self._buffer.take_number)
        return super().snapshot()

    def _segments(self) -> dict[int, bytes]:
        return {**super()._segments(), **self._saved.segments()}

    def _take_segments(self, segments: dict[int, bytes], head: dict[str, Any]) -> None:
        self._opened = self._saved.restore(head["opened_in"], segments)
        super()._take_segments(segments, head)

    def _counters(self) -> dict[str, Any]:
        return {**super()._counters(), "opened_in": self._saved.heads(self._opened)}

    def _advance(self, watermark_us: int) -> Results:
        """What the events in (old watermark, new watermark] and the time itself decide."""
        newer_than_us, self._watermark_us = self._watermark_us, watermark_us
        if watermark_us <= newer_than_us:
            return
        block = self._buffer.select(watermark_us)
        if block is not None and newer_than_us > MIN_US:
            ts = block.column(TS)
            if pc.min(ts).as_py() <= newer_than_us:
                block = block.filter(pc.greater(ts, newer_than_us))
        if (block is None or not block.num_rows) and not self._is_due(watermark_us):
            return
        self._buffer.purge(older_than_us=watermark_us + 1)
        yield from self._derive_from(block, watermark_us)

    def _is_due(self, watermark_us: int) -> bool:
        """Whether time alone closes something."""
        if not self._opened.size:
            return False
        gap_us = self.spec.gap_us
        return watermark_us == MAX_US or (gap_us is not None and self._opened.earliest_us + gap_us - 1 <= watermark_us)

    def _derive_from(self, events: pa.Table | None, watermark_us: int) -> Results:
        spec, before = self.spec, self._opened
        parts = [part for part in (before.events, events) if part is not None]
        block = concatenate(parts)
        codes, n_codes = encode_partitions(block, spec.layout.partition)
        base = before.n_events
        slots = _frozen(codes[base:].astype(np.int64, copy=False))
        ts_us = _frozen(numpy_int64(block.column(TS)))
        shares = self._shares(slots, n_codes)
        opened = np.zeros((n_codes, N_OPEN), dtype=np.int64)
        kept = empty_kept(spec, n_codes)
        cols = encode_columns(block, spec.encodings)
        open_slots, homes = slots_of(codes, before, spec), no_homes(n_codes)
        before.load(spec, open_slots, cols, opened, kept)
        homes[open_slots] = before.homes
        homes[slots] = -1
        mask = _frozen(numpy_int64(block.column(MASK)) if spec.is_masked else _AS_THEY_ARE)
        order = _AS_THEY_ARE
        if events is not None:
            order = order_of(spec, events, slots, n_codes, ts_us[base:], self._n_threads)
        given = (slots, order, base, ts_us, mask)
        # Of one partition stretches of time; nothing is open where one begins, nor where one but the last ends.
        n_stretches = self._n_shares(slots) if n_codes == 1 else 1
        first, *others = stretches(spec, mask[base:], order, slots.size, n_stretches)
        walks = [_Walk(self._derive, spec, given, (opened, kept), cols, share, first) for share in shares]
        for stretch in others:
            opened, kept = np.zeros_like(opened), empty_kept(spec, n_codes)
            walks.append(_Walk(self._derive, spec, given, (opened, kept), cols, shares[0], stretch))
        for closed in _walk_together(walks):
            yield from rows_of(spec, block, ts_us, closed)
        left = np.flatnonzero(opened[:, COUNT])
        over = self._over(ts_us[opened[left, LAST]], watermark_us)
        if spec.kind == RUNS:
            long = left[over & (opened[left, COUNT] >= spec.minimum)]
            ends = opened[long]
            numbers = tuple(array[long] for array in kept)
            yield from rows_of(spec, block, ts_us, Closed(ends[:, FIRST], ends[:, LAST], ends[:, COUNT], numbers))
        self._opened = Opened.of(spec, block, left[~over], opened, kept, homes)

    def _over(self, last_us: IntArray, watermark_us: int) -> Any:
        """Which open intervals no event can continue."""
        if watermark_us == MAX_US:
            return np.ones(last_us.size, dtype=np.bool_)
        if self.spec.gap_us is None:
            return np.zeros(last_us.size, dtype=np.bool_)
        return last_us <= watermark_us + 1 - self.spec.gap_us

    def _n_shares(self, slots: IntArray) -> int:
        return max(1, min(self._n_threads, slots.size // _WORTH_A_THREAD))

    def _shares(self, slots: IntArray, n_codes: int) -> list[tuple[int, int]]:
        """Slots with about the same number of events for each thread."""
        n_shares = self._n_shares(slots)
        if n_shares == 1 or n_codes < 2:
            return [(0, n_codes)]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(slots, minlength=n_codes))])
        return share_out(offsets, n_shares)


def order_of(
    spec: IntervalSpec, events: pa.Table, slots: IntArray, n_codes: int, ts_us: IntArray, n_threads: int
) -> IntArray:
    """The events in an order that is right inside each partition; none where they lie in it."""
    order = _AS_THEY_ARE if is_sorted(ts_us) else np.argsort(ts_us, kind="stable")
    at = order if order.size else slice(None)
    if meets_equal(slots[at], ts_us[at], np.full(n_codes, MIN_US)):
        order = order_rows(events, spec.layout.partition, spec.order, spec.tie_columns, n_threads).order
    return order


class _Walk:
    """One thread's way through the events of its slots in a stretch of time, with room for what it closes."""

    def __init__(
        self,
        derive: Callable[..., int],
        spec: IntervalSpec,
        events: Any,
        state: tuple[IntArray, Kept],
        cols: Any,
        share: tuple[int, int],
        stretch: tuple[int, int],
    ) -> None:
        self._derive = derive
        self._way = np.zeros(N_WAY, dtype=np.int64)
        self._way[LOW], self._way[HIGH] = share
        self._way[POSITION], self._way[STOP] = stretch
        room = min(ROOM, events[0].size + plain_kernel.ROOM_PER_EVENT)
        self._out = np.empty((room, N_CLOSED), dtype=np.int64)
        self._out_kept = empty_kept(spec, room)
        self._given = (events, limits_of(spec), self._way, *state, cols, self._out, self._out_kept)

    @property
    def is_done(self) -> bool:
        return bool(self._way[POSITION] >= self._way[STOP])

    def step(self) -> Closed:
        """The next intervals; read before the next step."""
        try:
            n = self._derive(*self._given)
        except OverflowError as error:
            raise InputError(
                f"a condition or a sum leaves the range of its type: {error}",
                hint="cast one side to DOUBLE or to a wider DECIMAL",
            ) from error
        out = self._out[:n]
        kept = tuple(array[:n] for array in self._out_kept)
        return Closed(out[:, FIRST], out[:, LAST], out[:, COUNT], kept, out[:, BY])


def _walk_together(walks: list[_Walk]) -> Iterator[Closed]:
    while walks:
        yield from share_among_threads(_Walk.step, walks)
        walks = [walk for walk in walks if not walk.is_done]


def _frozen(array: IntArray) -> IntArray:
    """The array as one that nobody writes to, as Arrow gives it: kernels are compiled for one of the two."""
    view = array.view()
    view.flags.writeable = False
    return view


def empty_kept(spec: IntervalSpec, n: int) -> Kept:
    """The kept arrays of `n` slots."""
    n_integers, n_doubles, n_counts, n_rows = spec.sizes
    return (
        np.zeros((n, n_integers), np.int64),
        np.zeros((n, n_doubles), np.float64),
        np.zeros((n, n_counts), np.int64),
        np.zeros((n, n_rows), np.int64),
    )


def limits_of(spec: IntervalSpec) -> IntArray:
    """The limits of a run."""
    maximum = MAX_US if spec.maximum is None else spec.maximum
    return np.array([spec.minimum, maximum, 2 * MAX_US - 1 if spec.gap_us is None else spec.gap_us], dtype=np.int64)


def load_derive(spec: IntervalSpec) -> Callable[..., int]:
    """The kernel, with the conditions and aggregates compiled in."""
    kernel: ModuleType = plain_kernel
    if spec.source:
        kernel = load_specialized(plain_kernel, dict(spec.source))
    made: Callable[..., int] = kernel.derive_runs if spec.kind == RUNS else kernel.derive_spans
    return made


def warm(spec: IntervalSpec) -> None:
    """Compile the spec's kernel into the cache, so that workers that share it only load it."""
    nothing = _frozen(_AS_THEY_ARE)
    events = (nothing, _AS_THEY_ARE, 0, nothing, nothing)
    cols = (np.empty((0, 0), np.int64), np.empty((0, 0)), np.empty((0, 0), np.bool_))
    _Walk(
        load_derive(spec), spec, events, (np.zeros((1, N_OPEN), np.int64), empty_kept(spec, 1)), cols, (0, 0), (0, 0)
    ).step()
