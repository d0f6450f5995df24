"""Windows without events, for each known group between two windows with events: EMIT EMPTY.

They are returned together with the next window of the group that has events, when that is over. What is kept beside
the panes is the last window of every group that was returned.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from eventide.errors import InputError
from eventide.families.windows.operator import LAST, Partials, WindowOperator
from eventide.runtime.block import concatenate, numpy_int64
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.known import KnowingOperator
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.protocol import Results

MOST_EMPTY = 10_000_000  # windows between two events of a group
_AT_ONCE = 1 << 18
_NONE = np.iinfo(np.int64).min


class EmptyOperator(KnowingOperator, WindowOperator):
    """Puts windows without a row between those that `spans` have."""

    def _rows(self, partials: Partials, spans: IntArray) -> Results:
        if not spans.shape[0]:
            return
        n_empty = self._gaps(partials, spans)
        if n_empty.max() > MOST_EMPTY:
            message = f"{n_empty.max():,} windows without an event lie between two events of a group"
            hint = "slide by more, leave out EMIT EMPTY, or leave out events with a wrong time: WHERE ts > ..."
            raise InputError(message, hint=hint)
        stops = np.cumsum(n_empty + 1)
        for start in range(0, int(stops[-1]), _AT_ONCE):
            place = np.arange(start, min(start + _AT_ONCE, int(stops[-1])))
            i = np.searchsorted(stops, place, side="right")
            before = stops[i] - 1 - place  # how many windows before one with events
            first = spans[i, 1]
            some = np.stack([spans[i, 0] - before, first, np.where(before == 0, spans[i, 2], first)], axis=1)
            yield from super()._rows(partials, some)

    def _gaps(self, partials: Partials, spans: IntArray) -> IntArray:
        """How many windows without events stand before each of those with some; its groups are known from now on."""
        firsts = partials.borders[:-1]
        group = np.searchsorted(firsts, spans[:, 1], side="right") - 1
        last = self._last_windows(partials.table.take(pa.array(firsts)))
        is_first = np.diff(group, prepend=-1) != 0
        before = np.where(is_first, last[group], np.roll(spans[:, 0], 1))
        self._remember(partials.table.take(pa.array(firsts[group])), group, spans[:, 0])
        return np.where(before == _NONE, 0, spans[:, 0] - before - 1)

    def _last_windows(self, groups: pa.Table) -> IntArray:
        """The last window of each group that was returned."""
        if self._known is None:
            return np.full(groups.num_rows, _NONE)
        n_known = self._known.num_rows
        both = concatenate([self._known, self._numbered(groups, np.full(groups.num_rows, _NONE))])
        codes, n_codes = encode_partitions(both, self.spec.layout.partition)
        last = np.full(n_codes, _NONE)
        last[codes[:n_known]] = numpy_int64(self._known.column(LAST))
        found: IntArray = last[codes[n_known:]]
        return found

    def _remember(self, groups: pa.Table, group: IntArray, window: IntArray) -> None:
        """Keep the last of the windows, which stand in order for each group."""
        is_last = np.flatnonzero(np.diff(group, append=-1))
        new = self._numbered(groups.take(pa.array(is_last)), window[is_last])
        if self._known is not None:
            both = concatenate([new, self._known])
            codes, _ = encode_partitions(both, self.spec.layout.partition)
            _, at = np.unique(codes, return_index=True)  # the newer one comes first
            new = both.take(pa.array(at))
        self._know(new)

    def _numbered(self, groups: pa.Table, window: IntArray) -> pa.Table:
        return groups.select(self.spec.layout.partition).append_column(LAST, pa.array(window))
