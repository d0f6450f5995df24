"""Windows over positions while events come: which windows are full, and what no later one needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.ordered import Ordered, order_events
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.windows import CountWindows

FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class Positions:
    """Events that are held, by partition, and how many of each partition came before them.

    `names` are the columns of a partition, `codes` the partitions of the events; `sizes` and `before` have a number
    for each partition.
    """

    names: list[str]
    events: pa.Table
    codes: IntArray
    sizes: IntArray
    before: IntArray
    sample: IntArray  # of each partition a row: of what is known, and behind those of the events

    @staticmethod
    def of(events: pa.Table, known: pa.Table | None, names: list[str]) -> Positions:
        """`known` has the partitions that have forgotten events: their columns, and how many."""
        n_known = 0 if known is None else known.num_rows
        stacked = (
            events.select(names) if known is None else pa.concat_tables([known.select(names), events.select(names)])
        )
        if names:
            codes, n_codes = encode_partitions(stacked, names)
        else:
            codes, n_codes = np.zeros(n_known + events.num_rows, np.int64), 1
        before = np.zeros(n_codes, dtype=np.int64)
        if known is not None:
            before[codes[:n_known]] = known.column(FORGOTTEN).to_numpy()
        sample = np.zeros(n_codes, dtype=np.int64)
        sample[codes] = np.arange(codes.size)
        sizes = np.bincount(codes[n_known:], minlength=n_codes)
        return Positions(names, events, codes[n_known:], sizes, before, sample)

    def full(self, rows: IntArray, start: IntArray, windows: CountWindows) -> NDArray[np.bool_]:
        """Whether windows are full that begin with some rows, at positions among the events that are held."""
        return start + windows.length <= self.sizes[self.codes[rows]]

    def behind(self, rows: IntArray) -> IntArray:
        """How many events came before those that are held, of the partitions of some rows."""
        return self.before[self.codes[rows]]

    def forget(
        self,
        known: pa.Table | None,
        windows: CountWindows,
        tie_columns: Sequence[str] | None,
        ordered: Ordered | None = None,
    ) -> tuple[pa.Table, pa.Table]:
        """The events that windows to come hold, and the partitions with how many they have forgotten.

        `ordered` is the order of the events, where it is known.
        """
        names = self.names
        n_full = np.maximum((self.before + self.sizes - windows.length) // windows.slide + 1, 0)
        # A slide that is longer than its window may go on behind the events that have come.
        gone = np.clip(n_full * windows.slide - self.before, 0, self.sizes)
        if ordered is None:
            ordered = order_events(self.events, names, tie_columns)
        sizes = np.diff(ordered.offsets)
        first, stop = ordered.offsets[:-1][sizes > 0], ordered.offsets[1:][sizes > 0]
        first = first + gone[self.codes[ordered.order[first]]]
        lengths = stop - first
        places = np.repeat(stop - np.cumsum(lengths), lengths) + np.arange(lengths.sum())
        kept = np.sort(ordered.order[places])
        total = self.before + gone
        which = np.flatnonzero(total)
        rows = pa.array(self.sample[which])
        both = [table.select(names) for table in (known, self.events) if table is not None]
        columns = {
            name: pa.chunked_array([c for t in both for c in t.column(name).chunks]).take(rows) for name in names
        }
        columns[FORGOTTEN] = pa.chunked_array([pa.array(total[which])])
        return self.events.take(pa.array(kept)), pa.table(columns)
