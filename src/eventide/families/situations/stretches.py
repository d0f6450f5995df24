"""Stretches of time that are matched apart: which events a stretch needs, and the matches that are decided in it.

Situations begin and end in any stretch. One that a match holds began within the window before the deciding instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from eventide.families.situations.combine import SituationCombiner
from eventide.families.situations.operator import SituationOperator
from eventide.families.situations.spec import SituationSpec
from eventide.runtime.block import MAX_US, MIN_US, TS, numpy_int64
from eventide.runtime.costs import cost
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.protocol import Operator, Results
from eventide.runtime.slicing import Read, Slice, Slicing


@dataclass(frozen=True)
class Stretches(Slicing):
    """Slices are derived where their events are. What they leave is matched by key or in stretches of time."""

    spec: SituationSpec

    combines = True
    has_parts = True

    def combiner(self) -> SituationCombiner:
        return SituationCombiner(self.spec)

    def count(self, n_events: int, n_slices: int, length_us: int) -> int:
        """Without a window, or with one that is long beside all time, every task has most of the events.

        >>> from unittest.mock import Mock
        >>> slicing = Stretches(Mock(within_us=None, closes=False, complete=False))
        >>> [slicing.count(n_events, 500, 10**9) for n_events in (5_000, 50_000, 10**8)]
        [1, 5, 16]
        >>> Stretches(Mock(within_us=10**6, closes=False, complete=False)).count(10**8, 500, 10**9)
        500
        """
        spec = self.spec
        if spec.complete and spec.has_gaps:
            return 1  # what a gap has ended long before the event that tells, may match what began before the window
        most = int(cost("most_copies"))
        if spec.within_us is not None and not spec.closes:
            most = max(most, length_us // max(2 * spec.within_us, 1))
        return max(1, min(n_slices, most, n_events // int(cost("events_per_stretch"))))

    def parts(self, bounds: Sequence[int], read: Read | None = None) -> list[Stretch]:
        back_us = MAX_US - MIN_US if self.spec.within_us is None else self.spec.within_us
        edges = pairwise((MIN_US, *bounds, MAX_US))
        return [Stretch(first, stop, back_us, self.spec) for first, stop in edges]

    def then(self, n_parts: int, has_keys: bool) -> str:
        if n_parts > 1:
            return f"matched in {n_parts} stretches of time, a task each"
        return "matched by key in parallel tasks" if has_keys else "put together and matched by one task"


@dataclass(frozen=True)
class Stretch(Slice):
    """A slice of time that also needs to know what went on before the events that it looks back on."""

    spec: SituationSpec

    def cut(self, block: pa.Table) -> pa.Table:
        """The events of the stretch, those of a window before it, and before them the last of each partition.

        What goes on at that last event began too early for a match: without it, it would seem to begin later.

        >>> from unittest.mock import Mock
        >>> spec = Mock(closes=False, layout=Mock(partition=()))
        >>> Stretch(20, 40, 5, spec).cut(pa.table({"ts": [12, 14, 15, 20, 39, 40]})).column("ts").to_pylist()
        [14, 15, 20, 39]
        """
        ts = numpy_int64(block.column(TS))
        # Whether the end of the input closes a situation is known from later events.
        needed = np.ones(ts.size, dtype=np.bool_) if self.spec.closes else ts < self.stop_us
        if self.from_us > MIN_US:
            is_early = ts < self.from_us
            codes, n_codes = encode_partitions(block, self.spec.layout.partition)
            latest = np.full(n_codes, MIN_US, dtype=np.int64)
            np.maximum.at(latest, codes[is_early], ts[is_early])
            # Of tied events the order decides, which the operator knows.
            needed &= ~is_early | (ts == latest[codes])
        return block if needed.all() else block.filter(pa.array(needed))

    def _decide(self, operator: Operator, block: pa.Table) -> Results:
        if not self.spec.closes:
            yield from super()._decide(operator, block)
            return
        assert isinstance(operator, SituationOperator)
        yield from operator.process(block, MIN_US)
        yield from operator.finish_until(self.stop_us - 1)
