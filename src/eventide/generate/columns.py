"""What every generator makes its columns with: blocks, random streams by purpose, columns of times and strings.

A random stream per column, drawn in event order: how the events are cut into blocks changes none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Blocks: TypeAlias = Iterator[pa.RecordBatch]
T = TypeVar("T")

BLOCK_EVENTS = 1 << 17


class Drawn(Generic[T]):
    """What is drawn in order when it is first needed; only the last few stay in memory."""

    def __init__(self, draw: Callable[[], T]) -> None:
        self._draw = draw
        self._first_idx = 0
        self._held: list[T] = []

    def window(self, first_idx: int, last_idx: int) -> list[T]:
        """Those from `first_idx` to `last_idx`; earlier ones are forgotten."""
        while self._first_idx + len(self._held) <= last_idx:
            self._held.append(self._draw())
        del self._held[: first_idx - self._first_idx]
        self._first_idx = first_idx
        return self._held[: last_idx - first_idx + 1]


def cuts(events: int, block_events: int) -> Iterator[tuple[int, int]]:
    """The first event of each block, and how many events it has.

    >>> list(cuts(5, 2))
    [(0, 2), (2, 2), (4, 1)]
    """
    for first in range(0, events, block_events):
        yield first, min(block_events, events - first)


def passing_us(now_us: int, gap_us: Ints, *, is_first: bool) -> Ints:
    """The times of events that come so long one after another; the very first one comes now."""
    if is_first:
        gap_us[0] = 0
    return now_us + np.cumsum(gap_us)


def second_us(first: int, n: int, rate: int) -> Ints:
    """Microseconds from the first event to the events `first`, `first + 1`, ...: `rate` of them in every second.

    >>> second_us(first=1, n=4, rate=2).tolist()
    [0, 1000000, 1000000, 2000000]
    """
    return np.arange(first, first + n, dtype=np.int64) // rate * 1_000_000


def streams(seed: int, n_streams: int) -> list[np.random.Generator]:
    """Independent random streams, one per column or purpose, all decided by `seed`."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(n_streams)]


def timestamps(ts_us: Ints) -> pa.Array:
    """A timestamp column without a zone from microseconds since the epoch."""
    return pa.array(ts_us).view(pa.timestamp("us"))


def strings(codes: npt.NDArray[np.integer], names: Sequence[str]) -> pa.Array:
    """A string column from codes into `names`."""
    return pa.array(names, pa.string()).take(pa.array(codes))
