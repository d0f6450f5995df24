"""Slices of time for tasks: the events that tell all situations of a slice, in place of all its events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from eventide.families.situations.kernel import mark_needed
from eventide.families.situations.operator import nothing_known
from eventide.families.situations.runs import Input, read_input
from eventide.families.situations.spec import SituationSpec
from eventide.runtime.slicing import between_shared


class SituationCombiner:
    """Derives within a slice; situations that go on over its borders are put together by the operator."""

    def __init__(self, spec: SituationSpec) -> None:
        self._spec = spec
        self._measured = sum({1 << measure.symbol for measure in spec.measures})
        self._least = np.array([least if most is None else 0 for least, most in spec.durations], dtype=np.int64)

    def combine(self, block: pa.Table, shared: Sequence[tuple[int, int]] = ()) -> list[pa.Table]:
        """One smaller block; in shared times, where others have events too, all events stay."""
        given = read_input(block, nothing_known(self._spec, block.schema), self._spec, 1)
        rows = np.sort(given.order[self._needed(given, shared)])
        return [block.take(pa.array(rows))]

    def frequent_share(self, block: pa.Table) -> float:
        """The share of events that others stand for."""
        if not block.num_rows:
            return 0.0
        given = read_input(block, nothing_known(self._spec, block.schema), self._spec, 1)
        return 1.0 - float(self._needed(given, ()).mean())

    def _needed(self, given: Input, shared: Sequence[tuple[int, int]]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        stretch, is_shared = between_shared(given.ts, shared)
        stretch[is_shared] = -1
        out = np.ones(given.ts.size, dtype=np.bool_)
        if self._spec.has_gaps:  # an event that is left out would be a gap
            return out
        mark_needed(given.ts, given.mask, given.offsets, stretch, self._measured, self._least, out)
        return out
