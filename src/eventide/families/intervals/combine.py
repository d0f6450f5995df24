"""Slices of time for tasks: a slice's intervals, and the events at its borders that only others can settle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from eventide.families.intervals.operator import IntervalOperator, order_of
from eventide.families.intervals.settling import settles
from eventide.families.intervals.spec import IntervalSpec
from eventide.runtime.block import MASK, MIN_US, TS, numpy_int64
from eventide.runtime.kernels.arrays import BoolArray
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.slicing import between_shared


class IntervalCombiner:
    """Derives within a slice, and leaves the events at its borders to the operator."""

    def __init__(self, spec: IntervalSpec) -> None:
        self._spec = spec

    def combine(self, block: pa.Table, shared: Sequence[tuple[int, int]] = ()) -> list[pa.Table]:
        """The events that are left, and the rows of the intervals between them; in shared times all events are left."""
        is_inside = self._inside(block, shared)
        operator = IntervalOperator(self._spec)
        rows = list(operator.process(block.filter(pa.array(is_inside)), MIN_US))
        rows += operator.finish()
        left = block.filter(pa.array(~is_inside))
        return [table for table in (left, *(pa.Table.from_batches([each]) for each in rows)) if table.num_rows]

    def frequent_share(self, block: pa.Table) -> float:
        """The share of events that need not be left."""
        return float(self._inside(block, ()).mean()) if block.num_rows else 0.0

    def _inside(self, block: pa.Table, shared: Sequence[tuple[int, int]]) -> BoolArray:
        """Events behind the first that settles something in its stretch and partition, up to the last one."""
        spec = self._spec
        codes, n_codes = encode_partitions(block, spec.layout.partition)
        ts_us = numpy_int64(block.column(TS))
        order = order_of(spec, block, codes.astype(np.int64), n_codes, ts_us, 1)
        place = np.arange(ts_us.size)
        if order.size:
            place[order] = np.arange(ts_us.size)
        group, is_shared = between_shared(ts_us, shared)
        group = group * n_codes + codes
        at = np.flatnonzero(settles(spec, numpy_int64(block.column(MASK))) & ~is_shared)
        first = np.full(int(group.max(initial=0)) + 1, ts_us.size)
        last = np.full(first.size, -1)
        np.minimum.at(first, group[at], place[at])
        np.maximum.at(last, group[at], place[at])
        # Shared times begin a stretch, so they lie before what settles it.
        inside: BoolArray = (place > first[group]) & (place <= last[group])
        return inside
