"""How large blocks should be and how many workers take them, from what was measured: lowest latency that keeps up.

The model of the seed: processing time grows with the size of a block, so the rate of input tells the size at which as
many blocks arrive in a second as are wanted, and the time that such a block takes tells how many workers keep up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SIZES = tuple(1 << power for power in range(5, 21))
_OFF_BALANCE = 0.1  # share of a worker's load from which buckets move


@dataclass(frozen=True, slots=True)
class Decision:
    """What was measured over one period, and what follows from it."""

    at_seconds: float  # since the start
    events_per_second: float
    block_seconds: float  # work on one block, all workers together
    block_events: int
    workers: int
    moved_buckets: int


@dataclass(slots=True)
class Tuner:
    """Decides every `period_seconds`; in between it adds up what happens.

    >>> tuner = Tuner(blocks_per_second=100, most_workers=4)
    >>> tuner.saw_input(100_000)
    >>> for _ in range(100):
    ...     tuner.saw_block(n_events=1000, seconds=0.015)
    >>> decision = tuner.decide(now=1.0)
    >>> decision.block_events, decision.workers
    (1024, 2)
    """

    blocks_per_second: float = 50.0
    most_workers: int = 1
    spare: float = 1.2  # times as many workers as the model asks for
    period_seconds: float = 1.0
    block_events: int = 1024
    workers: int = 1
    _began: float = 0.0
    _last: float = 0.0
    _n_input: int = 0
    _n_blocks: int = 0
    _n_events: int = 0
    _busy: float = 0.0

    def start(self, now: float) -> None:
        """Measure from here on."""
        self._began = self._last = now

    def saw_input(self, n_events: int) -> None:
        """Events have come in."""
        self._n_input += n_events

    def saw_block(self, n_events: int, seconds: float) -> None:
        """A block was worked off; `seconds` is the work of all workers together."""
        self._n_blocks += 1
        self._n_events += n_events
        self._busy += seconds

    def is_due(self, now: float) -> bool:
        return now - self._last >= self.period_seconds and self._n_blocks > 0

    def decide(self, now: float, moved_buckets: int = 0, waiting: int = 0) -> Decision:
        """Set size and workers for the next period; `waiting` events have come and are not worked off."""
        elapsed = max(now - self._last, 1e-9)
        measured = self._n_input / elapsed
        rate, blocks_per_second = measured, self.blocks_per_second
        if waiting:
            # What has piled up is to be worked off as if it had come now, in as many blocks as there is time for.
            rate = max(rate, (self._n_events + waiting) / elapsed)
            blocks_per_second = min(blocks_per_second, self._n_blocks / elapsed)
        block_seconds = self._busy / max(self._n_blocks, 1)
        size = self._n_events / max(self._n_blocks, 1)
        self.block_events = min(SIZES, key=lambda b: abs(blocks_per_second - rate / b))
        expected = block_seconds * self.block_events / max(size, 1.0)
        needed = math.ceil(rate / self.block_events * expected * self.spare)
        self.workers = max(1, min(needed, self.most_workers))
        self._last, self._n_input, self._n_blocks, self._n_events, self._busy = now, 0, 0, 0, 0.0
        return Decision(now - self._began, measured, block_seconds, self.block_events, self.workers, moved_buckets)


def assign(loads: list[int], n_workers: int) -> list[int]:
    """A worker for each bucket, so that the loads are about the same: the largest buckets first.

    >>> assign([10, 1, 10, 1], 2)
    [0, 0, 1, 1]
    """
    workers = [0] * len(loads)
    total = [0] * n_workers
    for bucket in sorted(range(len(loads)), key=lambda bucket: -loads[bucket]):
        worker = min(range(n_workers), key=lambda each: (total[each], each))
        workers[bucket] = worker
        total[worker] += loads[bucket]
    return workers


def is_off_balance(loads: list[int], workers: list[int], n_workers: int) -> bool:
    """Whether some worker has a tenth more or less than its share.

    >>> is_off_balance([10, 1, 10, 1], [0, 1, 0, 1], 2), is_off_balance([10, 10], [0, 1], 2)
    (True, False)
    """
    total = [0] * n_workers
    for load, worker in zip(loads, workers, strict=True):
        total[worker] += load
    wanted = sum(loads) / n_workers
    return any(abs(each - wanted) > _OFF_BALANCE * wanted for each in total)
