"""Slices of time for operators whose state is the events of the last window: a slice looks back on those before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from eventide.runtime.block import MAX_US, MIN_US, TS, within
from eventide.runtime.holding import WatermarkOperator
from eventide.runtime.protocol import Operator, Results


@dataclass(frozen=True, slots=True)
class Slice:
    """The instants from `first_us` up to `stop_us`; the first slice begins at MIN_US, the last one stops at MAX_US."""

    first_us: int
    stop_us: int
    back_us: int  # how long it looks back

    @property
    def from_us(self) -> int:
        return self.first_us if self.first_us == MIN_US else max(MIN_US, self.first_us - self.back_us)

    @property
    def until_us(self) -> int:
        return self.stop_us

    def cut(self, block: pa.Table) -> pa.Table:
        """The events of the slice, and those that it looks back on.

        >>> Slice(20, 40, back_us=5).cut(pa.table({"ts": [14, 15, 20, 39, 40]})).column("ts").to_pylist()
        [15, 20, 39]
        """
        return within(block, self.from_us, self.until_us)


def slices(bounds: Sequence[int], back_us: int) -> list[Slice]:
    """All time, cut at the bounds.

    >>> [(each.first_us == MIN_US, each.stop_us == MAX_US) for each in slices((10, 20), back_us=5)]
    [(True, False), (False, False), (False, True)]
    """
    edges = (MIN_US, *bounds, MAX_US)
    return [Slice(first, stop, back_us) for first, stop in pairwise(edges)]


def run_slice(operator: Operator, block: pa.Table, part: Slice) -> Results:
    """What is decided in the slice; `block` holds its events and those it looks back on."""
    assert isinstance(operator, WatermarkOperator)
    if part.first_us != MIN_US:
        is_earlier = pc.less(block.column(TS), part.first_us)
        operator.look_back(block.filter(is_earlier), part.first_us - 1)
        block = block.filter(pc.invert(is_earlier))
    if part.stop_us != MAX_US:
        # A slice may reach behind the end of the input: time does not.
        yield from operator.process(block, min(part.stop_us - 1, operator.end_us))
        return
    yield from operator.process(block, MIN_US)
    yield from operator.finish()
