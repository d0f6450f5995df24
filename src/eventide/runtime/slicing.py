"""How the events of a query are cut by time: into parts that are worked on apart, or into slices that are combined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.runtime.block import MAX_US, MIN_US, TS, within
from eventide.runtime.costs import cost
from eventide.runtime.holding import WatermarkOperator
from eventide.runtime.kernels.arrays import BoolArray, IntArray
from eventide.runtime.protocol import Combiner, Operator, Results

Region: TypeAlias = tuple[int, int]  # from an instant up to another
Read: TypeAlias = Callable[[Sequence[Region]], Iterable[pa.Table]]  # the events of each region

NEEDS_EVENTS = "matches are made of the events themselves"
_SAMPLE = 10_000


class Part(Protocol):
    """Some of all time; its rows are found apart from those of other parts."""

    @property
    def from_us(self) -> int:
        """The first instant whose events the part needs."""

    @property
    def until_us(self) -> int:
        """The first instant behind them."""

    def cut(self, block: pa.Table) -> pa.Table:
        """The events that the part needs, of a block that holds more."""

    def run(self, operator: Operator, block: pa.Table) -> Results:
        """The part's rows, in order, by a new operator; `block` holds what `cut` leaves of all events."""


class Slicing:
    """How the events of one query are cut by time.

    With a combiner, tasks put less in place of all events of a slice. With parts, tasks work on parts of time apart.
    With both, the parts are of what the combiner leaves.
    """

    combines: bool = False
    has_parts: bool = False
    on_threads: bool = False  # parts also pay in one process: the operator leaves other threads nothing to do

    def combiner(self) -> Combiner:
        """What makes smaller blocks of the events of a slice."""
        raise NotImplementedError

    def count(self, n_events: int, n_slices: int, length_us: int) -> int:
        """How many parts are worth it for `n_events` events in a time of `length_us`; at most `n_slices`."""
        return 1

    def parts(self, bounds: Sequence[int], read: Read) -> Sequence[Part]:
        """All time, cut at the bounds or close behind them; `read` returns the events of regions."""
        raise NotImplementedError

    def then(self, n_parts: int, has_keys: bool) -> str:
        """What is done with what the combiner leaves, for `explain`."""
        return "put together"


@dataclass(frozen=True)
class Combined(Slicing):
    """Slices that a combiner makes smaller. The operator takes what is left by key."""

    make: Callable[[], Combiner]
    result: str

    combines = True

    def combiner(self) -> Combiner:
        return self.make()

    def then(self, n_parts: int, has_keys: bool) -> str:
        return self.result


@dataclass(frozen=True)
class LookBack(Slicing):
    """Parts for operators whose state is the events of the last window: a part looks back on those before it."""

    back_us: int
    on_threads: bool = True

    has_parts = True

    def count(self, n_events: int, n_slices: int, length_us: int) -> int:
        return most_slices(n_slices, length_us, self.back_us)

    def parts(self, bounds: Sequence[int], read: Read | None = None) -> list[Slice]:
        """All time, cut at the bounds.

        >>> [(each.first_us == MIN_US, each.stop_us == MAX_US) for each in LookBack(5).parts((10, 20))]
        [(True, False), (False, False), (False, True)]
        """
        return [Slice(first, stop, self.back_us) for first, stop in pairwise((MIN_US, *bounds, MAX_US))]


@dataclass(frozen=True)
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

    def run(self, operator: Operator, block: pa.Table) -> Results:
        """What is decided in the slice."""
        assert isinstance(operator, WatermarkOperator)
        if self.first_us != MIN_US:
            is_earlier = pc.less(block.column(TS), self.first_us)
            operator.look_back(block.filter(is_earlier), self.first_us - 1)
            block = block.filter(pc.invert(is_earlier))
        yield from self._decide(operator, block)

    def _decide(self, operator: Operator, block: pa.Table) -> Results:
        assert isinstance(operator, WatermarkOperator)
        if self.stop_us != MAX_US:
            # A slice may reach behind the end of the input: time does not.
            yield from operator.process(block, min(self.stop_us - 1, operator.end_us))
            return
        yield from operator.process(block, MIN_US)
        yield from operator.finish()


def most_slices(n_slices: int, length_us: int, back_us: int) -> int:
    """The number of slices with which looking back, as all slices but the first do, does not take most of the time.

    >>> most_slices(8, 100, back_us=10), most_slices(8, 100, back_us=60)
    (6, 1)
    """
    return min(n_slices, 1 + int(cost("most_overlap") * length_us // max(1, back_us)))


def between_shared(ts_us: IntArray, shared: Sequence[tuple[int, int]]) -> tuple[IntArray, BoolArray]:
    """For a combiner: which stretch between shared times each event lies in, and whether it lies in shared ones."""
    stretch = np.searchsorted(np.array(sorted(first for first, _ in shared), dtype=np.int64), ts_us, side="right")
    is_shared = np.zeros(ts_us.size, dtype=np.bool_)
    for first, last in shared:
        is_shared |= (ts_us >= first) & (ts_us <= last)
    return stretch.astype(np.int64), is_shared


@dataclass(frozen=True, slots=True)
class Times:
    """When events happen: instants in order, and how many of `n_events` come before each of them."""

    points_us: IntArray
    before: np.ndarray[tuple[int], np.dtype[np.float64]]
    n_events: float

    @classmethod
    def of(cls, times_us: IntArray) -> Times:
        """A sample of all times."""
        points_us = np.sort(times_us[:: max(1, times_us.size // _SAMPLE)])
        return cls(points_us, np.linspace(0, times_us.size, points_us.size, endpoint=False), times_us.size)

    @property
    def length_us(self) -> int:
        return int(self.points_us[-1]) - int(self.points_us[0])

    def bounds(self, n_slices: int) -> tuple[int, ...]:
        """The first instants of slices with about the same number of events each, the first slice's left out.

        >>> Times.of(np.arange(100)).bounds(4)
        (25, 50, 75)
        """
        wanted = np.linspace(0, self.n_events, n_slices + 1)[1:-1]
        places = np.minimum(np.searchsorted(self.before, wanted), self.points_us.size - 1)
        found = np.unique(self.points_us[places])
        return tuple(found[found > self.points_us[0]].tolist())
