"""Bindings as flat arrays, sorted, equal ones once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventide.runtime.kernels.arrays import IntArray


@dataclass(frozen=True, slots=True)
class Ways:
    """Ways to match something: the entries (symbol, row) of way i begin at `lo[i]`, its open gaps at `gap_lo[i]`."""

    scope: IntArray
    tag: IntArray
    lo: IntArray
    symbols: IntArray
    rows: IntArray
    gap_lo: IntArray
    gaps: IntArray  # (3, n): negation, first row, end; -1 is the window's edge

    @staticmethod
    def of(
        scope: IntArray, tag: IntArray, ends: IntArray, entries: IntArray, gap_ends: IntArray, gaps: IntArray
    ) -> Ways:
        """Ways whose entries, symbols and rows, end at `ends[i]`."""
        lo, gap_lo = (np.concatenate([np.zeros(1, np.int64), each]) for each in (ends, gap_ends))
        return Ways(scope, tag, lo, entries[0], entries[1], gap_lo, gaps)

    @staticmethod
    def joined(parts: Sequence[Ways]) -> Ways:
        """All of them, one behind the other."""
        if not parts:
            nothing = np.empty(0, np.int64)
            return Ways.of(nothing, nothing, nothing, np.empty((2, 0), np.int64), nothing, np.empty((3, 0), np.int64))
        if len(parts) == 1:
            return parts[0]
        return Ways(
            np.concatenate([part.scope for part in parts]),
            np.concatenate([part.tag for part in parts]),
            _joined_offsets([part.lo for part in parts]),
            np.concatenate([part.symbols for part in parts]),
            np.concatenate([part.rows for part in parts]),
            _joined_offsets([part.gap_lo for part in parts]),
            np.concatenate([part.gaps for part in parts], axis=1),
        )

    @property
    def first(self) -> IntArray:
        return self.rows[self.lo[:-1]]

    @property
    def last(self) -> IntArray:
        return self.rows[self.lo[1:] - 1]

    def sorted(self) -> tuple[IntArray, NDArray[np.bool_]]:
        """The numbers of the ways by scope, entries, tag and gaps; and where another binding, another way begins."""
        # Importing it compiles it, once per machine: not before a query needs it.
        from eventide.families.events.kernel_pairs import mark_new, sort_bindings

        arrays = self.scope, self.lo, self.symbols, self.rows, self.tag, self.gap_lo, *self.gaps
        bindings = tuple(map(np.ascontiguousarray, arrays))
        order = np.arange(self.scope.size)
        sort_bindings(bindings, order, np.empty_like(order))
        is_new = np.empty((2, order.size), dtype=np.bool_)
        mark_new(bindings, order, is_new)
        return order, is_new

    def taken(self, chosen: IntArray) -> Ways:
        """The chosen ones, in this order."""
        entries, lo = _spread(self.lo, chosen)
        gaps, gap_lo = _spread(self.gap_lo, chosen)
        return Ways(
            self.scope[chosen],
            self.tag[chosen],
            lo,
            self.symbols[entries],
            self.rows[entries],
            gap_lo,
            np.ascontiguousarray(self.gaps[:, gaps]),
        )

    def distinct(self) -> Ways:
        """Sorted, equal ones once."""
        order, is_new = self.sorted()
        return self.taken(order[is_new[1]])


def _spread(lo: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Where the items of the chosen ranges stand, one range behind the other; and where each range then begins."""
    counts = lo[chosen + 1] - lo[chosen]
    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return np.arange(begins[-1]) + np.repeat(lo[chosen] - begins[:-1], counts), begins


def _joined_offsets(parts: Sequence[IntArray]) -> IntArray:
    sizes = np.cumsum([0, *(int(part[-1]) for part in parts)])
    return np.concatenate([part[:-1] + size for part, size in zip(parts, sizes[:-1], strict=True)] + [sizes[-1:]])
