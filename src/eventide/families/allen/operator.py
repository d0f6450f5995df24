"""Left and right intervals to pairs: holds the intervals of one window, returns one row per pair.

An interval's time is its end: a pair is decided when the watermark has passed the later end of the two. Derived ones
come later than that: then the operator's watermark stays as far behind the stream's.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.families.allen.index import Intervals, make_index
from eventide.families.allen.kernel import count_related, fill_related
from eventide.families.allen.spec import COMPOSITE_END, COMPOSITE_START, LAST_END, RELATION, AllenSpec
from eventide.runtime.block import MASK, MAX_US, TS, numpy_int64
from eventide.runtime.interval_columns import LEFT, RIGHT, START
from eventide.runtime.kernels.arrays import IntArray, ShortArray
from eventide.runtime.paired import PairedOperator, cut_pairs
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.protocol import Results
from eventide.runtime.taken import take
from eventide.runtime.threads import share_among_threads

_NO_WINDOW = -1
_MAX_WINDOW_US = 2**62 - 1  # a time and a window together stay within int64


class AllenOperator(PairedOperator):
    """The operator of an `AllenSpec`."""

    def __init__(self, spec: AllenSpec, n_threads: int = 1) -> None:
        super().__init__(spec.query, spec.facts, spec.following, spec.lag_us)
        self.spec = spec
        self._n_threads = n_threads

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        window_us = self.spec.window_us
        if block is not None:
            block = self._in_time(block, watermark_us)
            if window_us is not None:
                # One that is longer than the window fits into none, with whatever other.
                lengths = pc.subtract(block.column(TS), block.column(START))
                block = block.filter(pc.less_equal(lengths, window_us))
            self._buffer.append(block)
        yield from self._advance_behind(watermark_us)
        if window_us is not None:
            # What comes later ends behind the watermark.
            self._buffer.purge(older_than_us=self._watermark_us - window_us + 1)

    def open_runs(self) -> int:
        """Intervals that a later one may be related to."""
        window_us = self.spec.window_us
        n_over = 0 if window_us is None else self._buffer.count(self._watermark_us - window_us)
        return self._buffer.count(MAX_US) - n_over

    def pending_us(self) -> int | None:
        waiting_us = self._buffer.earliest_after(self._watermark_us)
        return None if waiting_us is None else waiting_us + self.spec.lag_us

    def _advance(self, watermark_us: int) -> Results:
        """Pairs whose later end lies in (old watermark, new watermark]."""
        newer_than_us, self._watermark_us = self._watermark_us, watermark_us
        if watermark_us <= newer_than_us:
            return
        block = self._buffer.select(up_to_us=watermark_us)
        if block is None or pc.max(block.column(TS)).as_py() <= newer_than_us:
            return
        block = block.combine_chunks()
        codes, n_codes = encode_partitions(block, self.spec.layout.partition)
        mask = numpy_int64(block.column(MASK))
        held = Intervals(
            np.arange(block.num_rows),
            codes.astype(np.int64, copy=False),
            numpy_int64(block.column(START)),
            numpy_int64(block.column(TS)),
        )
        is_new = held.end_us > newer_than_us
        is_left, is_right = mask & LEFT != 0, mask & RIGHT != 0
        yield from self._relate(block, held.take(is_left & is_new), held.take(is_right), n_codes)
        yield from self._relate(block, held.take(is_left & ~is_new), held.take(is_right & is_new), n_codes)

    def _relate(self, block: pa.Table, lefts: Intervals, rights: Intervals, n_codes: int) -> Results:
        if not lefts.rows.size or not rights.rows.size:
            return
        lefts = lefts.ordered(n_codes)
        index = make_index(rights, n_codes, self.spec.relations)
        longest_us = int((rights.end_us - rights.start_us).max())
        limits, arrays = _limits(self.spec, longest_us), lefts.arrays()
        counts = np.empty(lefts.rows.size, dtype=np.int64)
        borders = np.linspace(0, counts.size, self._n_threads + 1).astype(np.int64).tolist()
        shares = [(a, b) for a, b in pairwise(borders) if a < b]
        share_among_threads(lambda share: count_related(arrays, index, limits, share[0], counts[slice(*share)]), shares)
        ends = np.cumsum(counts)

        def rows(share: tuple[int, int]) -> pa.RecordBatch:
            first, stop = share
            size = int(ends[stop - 1] - ends[first] + counts[first])
            left_idx, right_rows, held = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int16)
            if size:
                fill_related(arrays, index, limits, first, stop, left_idx, right_rows, held)
            return _rows(block, self.spec, lefts.rows[left_idx], right_rows, held)

        batches = list(cut_pairs(ends))
        for i in range(0, len(batches), self._n_threads):
            made = share_among_threads(rows, batches[i : i + self._n_threads])
            yield from (batch for batch in made if batch.num_rows)


def _limits(spec: AllenSpec, longest_us: int) -> IntArray:
    window_us = _NO_WINDOW if spec.window_us is None else min(spec.window_us, _MAX_WINDOW_US)
    return np.array([spec.relations, window_us, min(longest_us, _MAX_WINDOW_US)], dtype=np.int64)


def _rows(block: pa.Table, spec: AllenSpec, lefts: IntArray, rights: IntArray, held: ShortArray) -> pa.RecordBatch:
    start_us, end_us = numpy_int64(block.column(START)), numpy_int64(block.column(TS))
    left_rows, right_rows = pa.array(lefts), pa.array(rights)
    columns = {name: take(block, name, left_rows) for name in spec.layout.partition}

    def add(prefix: str, names: tuple[str, ...], rows: pa.Array, idx: IntArray) -> None:
        for i, name in enumerate(names):
            times = {START: start_us, TS: end_us}.get(name)
            columns[f"{prefix}{i}"] = take(block, name, rows) if times is None else spec.time_type.restore(times[idx])

    add("l", spec.left, left_rows, lefts)
    add("r", spec.right, right_rows, rights)
    columns[RELATION] = _names(held, spec)
    columns[COMPOSITE_START] = spec.time_type.restore(np.minimum(start_us[lefts], start_us[rights]))
    last_us = np.maximum(end_us[lefts], end_us[rights])
    columns[COMPOSITE_END] = spec.time_type.restore(last_us + spec.lag_us)
    if spec.lag_us:
        columns[LAST_END] = spec.time_type.restore(last_us)
    return pa.RecordBatch.from_pydict(columns)


def _names(held: ShortArray, spec: AllenSpec) -> pa.Array:
    bits = np.searchsorted(1 << np.arange(len(spec.names)), held).astype(np.int8)
    return pa.DictionaryArray.from_arrays(bits, pa.array(spec.names)).dictionary_decode()


def warm(spec: AllenSpec) -> None:
    """Compile the kernels into the cache, so that workers that share it only load them."""
    one = np.zeros(1, dtype=np.int64)
    some = Intervals(one, one, one, one)
    index = make_index(some, 1, spec.relations)
    counts = np.empty(1, dtype=np.int64)
    count_related(some.arrays(), index, _limits(spec, 0), 0, counts)
    fill_related(some.arrays(), index, _limits(spec, 0), 0, 1, counts, counts.copy(), np.empty(1, dtype=np.int16))
