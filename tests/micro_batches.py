"""A query in micro-batches, without Spark: events in, watermark up, state out and in again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from eventide.engines.computed import add_computed
from eventide.engines.intake import take_in
from eventide.engines.local import run as local
from eventide.engines.local.sources import open_source
from eventide.families.registry import make_operator
from eventide.plan.physical import Physical
from eventide.runtime.block import MIN_US
from eventide.runtime.protocol import Operator

SECOND_US = 1_000_000


@dataclass(frozen=True)
class Arrival:
    """How events come: cut into micro-batches at `borders`, in disorder, each within `delay` seconds."""

    borders: list[int]
    delay: int
    disorder: Any

    def order(self, seconds: Sequence[int]) -> list[int]:
        """Which event comes first, second, ..."""
        return sorted(range(len(seconds)), key=lambda i: seconds[i] + self.disorder.randrange(self.delay))


def arrivals(last: int, most: int, delays: Sequence[int] = (1, 3)) -> st.SearchStrategy[Arrival]:
    """At most `most` borders, up to the event `last`. With a delay of 0 a row of the newest time could be late."""
    borders = st.lists(st.integers(0, last), max_size=most)
    return st.builds(Arrival, borders, st.sampled_from(list(delays)), st.randoms(use_true_random=False))


class Stream:
    """A plan over micro-batches; each is taken by a new operator that restores the state of the one before."""

    def __init__(self, physical: Physical) -> None:
        self.physical = physical
        self.source: Any = None
        self.snapshot: Any = None
        self.watermark_us = MIN_US
        self.rows: list[dict[str, Any]] = []

    def operator(self) -> Operator:
        operator = make_operator(self.physical.spec, compute=add_computed)
        if self.snapshot is not None:
            operator.restore(self.snapshot)
        return operator

    def step(self, table: pa.Table, watermark_us: int) -> list[dict[str, Any]]:
        """The rows that a micro-batch of events decides."""
        return self._step(self._block(table), watermark_us)

    def _step(self, block: pa.Table, watermark_us: int) -> list[dict[str, Any]]:
        operator = self.operator()
        self.watermark_us = max(self.watermark_us, watermark_us)
        found = self._read(operator.process(block if block.num_rows else None, self.watermark_us))
        self.snapshot = operator.snapshot()
        return found

    def finish(self) -> list[dict[str, Any]]:
        """The rows that the end of the input decides."""
        return self._read(self.operator().finish())

    def pending_us(self) -> int | None:
        return self.operator().pending_us()

    def n_held(self) -> int:
        """How many rows the state holds."""
        held = self.operator()._buffer.take(2**61)  # type: ignore[attr-defined]
        return 0 if held is None else int(held.block.num_rows)

    def _block(self, table: pa.Table) -> pa.Table:
        self.source = open_source(table)
        (raw,) = local._read(self.physical, self.source, 1 << 40)
        return take_in(raw, self.physical.intake)[0]

    def _read(self, results: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for rows in results:
            computed = add_computed(rows, self.physical.computed)
            found += local.project_rows(self.source, self.physical, computed).to_pylist()
        self.rows += found
        return found

    def play_arrival(self, table: pa.Table, seconds: Sequence[int], arrival: Arrival) -> None:
        """All events of a table, as they arrive."""
        order = arrival.order(seconds)
        times_us = [seconds[i] * SECOND_US for i in order]
        self.play(table.take(pa.array(order, pa.int64())), times_us, arrival.borders, arrival.delay * SECOND_US)

    def play(self, table: pa.Table, times_us: Sequence[int], borders: Sequence[int], delay_us: int) -> None:
        """All events of a table in its order, cut at `borders`, with the watermark `delay_us` behind the newest."""
        block, n = self._block(table), table.num_rows
        for start, stop in pairwise([0, *sorted(min(border, n) for border in borders), n]):
            newest_us = max(times_us[:stop], default=MIN_US + delay_us)
            self._step(block.slice(start, stop - start), newest_us - delay_us)
        self.finish()
