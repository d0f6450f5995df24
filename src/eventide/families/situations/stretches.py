"""Stretches of time that are matched apart: which events a stretch needs, and the matches that are decided in it.

Situations begin and end in any stretch. One that a match holds began within the window before the deciding instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.families.situations.operator import SituationOperator
from eventide.families.situations.spec import SituationSpec
from eventide.runtime.block import MAX_US, MIN_US, TS, numpy_int64
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.protocol import Results

EVENTS_PER_STRETCH = 10_000  # below, one task has matched before another has begun
MOST_COPIES = 16  # stretches whose tasks may all have the events from the first on


@dataclass(frozen=True, slots=True)
class Stretch:
    """The instants from `first_us` up to `stop_us`; the first one begins at MIN_US, the last one stops at MAX_US."""

    first_us: int
    stop_us: int

    def cut(self, block: pa.Table, spec: SituationSpec) -> pa.Table:
        """The events of the stretch, those of a window before it, and before them the last of each partition.

        What goes on at that last event began too early for a match: without it, it would seem to begin later.

        >>> from unittest.mock import Mock
        >>> spec = Mock(within_us=5, closes=False, layout=Mock(partition=()))
        >>> Stretch(20, 40).cut(pa.table({"ts": [12, 14, 15, 20, 39, 40]}), spec).column("ts").to_pylist()
        [14, 15, 20, 39]
        """
        ts = numpy_int64(block.column(TS))
        # Whether the end of the input closes a situation is known from later events.
        needed = np.ones(ts.size, dtype=np.bool_) if spec.closes else ts < self.stop_us
        if spec.within_us is not None and self.first_us - spec.within_us > MIN_US:
            is_early = ts < self.first_us - spec.within_us
            codes, n_codes = encode_partitions(block, spec.layout.partition)
            latest = np.full(n_codes, MIN_US, dtype=np.int64)
            np.maximum.at(latest, codes[is_early], ts[is_early])
            # Of tied events the order decides, which the operator knows.
            needed &= ~is_early | (ts == latest[codes])
        return block if needed.all() else block.filter(pa.array(needed))

    def match(self, block: pa.Table, spec: SituationSpec) -> Results:
        """The rows of the matches decided in the stretch, in order; `block` holds what `cut` has left."""
        operator = SituationOperator(spec)
        if self.first_us != MIN_US:
            is_earlier = pc.less(block.column(TS), self.first_us)
            operator.look_back(block.filter(is_earlier), self.first_us - 1)
            block = block.filter(pc.invert(is_earlier))
        if spec.closes:
            yield from operator.process(block, MIN_US)
            yield from operator.finish_until(self.stop_us - 1)
        elif self.stop_us != MAX_US:
            yield from operator.process(block, self.stop_us - 1)
        else:
            yield from operator.process(block, MIN_US)
            yield from operator.finish()


def stretches(bounds: Sequence[int]) -> list[Stretch]:
    """All time, cut at the bounds.

    >>> [(each.first_us == MIN_US, each.stop_us == MAX_US) for each in stretches((10, 20))]
    [(True, False), (False, False), (False, True)]
    """
    return [Stretch(first, stop) for first, stop in pairwise((MIN_US, *bounds, MAX_US))]


def count_stretches(spec: SituationSpec, n_events: int, n_slices: int, length_us: int) -> int:
    """How many stretches are worth it, of so many events left by slices of so long a time.

    Without a window, or with one that is long beside the time of all events, every task has most of the events.

    >>> from unittest.mock import Mock
    >>> spec = Mock(within_us=None, closes=False, complete=False)
    >>> [count_stretches(spec, n_events, 500, 10**9) for n_events in (5_000, 50_000, 10**8)]
    [1, 5, 16]
    >>> count_stretches(Mock(within_us=10**6, closes=False, complete=False), 10**8, 500, 10**9)
    500
    """
    if spec.complete and spec.has_gaps:
        return 1  # what a gap has ended long before the event that tells, may match what began before the window
    most = MOST_COPIES
    if spec.within_us is not None and not spec.closes:
        most = max(most, length_us // max(2 * spec.within_us, 1))
    return max(1, min(n_slices, most, n_events // EVENTS_PER_STRETCH))
