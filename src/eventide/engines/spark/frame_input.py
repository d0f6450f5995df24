"""A batch DataFrame as input to choose a physical form for: jobs over its times, a sample, and parts of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from eventide.engines.intake import microseconds, take_in
from eventide.engines.spark.exchange import from_dataframe, select_events
from eventide.engines.spark.slices import cut_events
from eventide.plan.choose import Input
from eventide.plan.physical import Physical
from eventide.runtime.block import TS, concatenate, from_bytes
from eventide.runtime.costs import cost
from eventide.runtime.slicing import Region, Slice, Times

_SAMPLE_ROWS = 100_000
_ACCURACY = 1000  # of the quantiles


@dataclass(frozen=True)
class FrameInput(Input):
    """The events of a DataFrame, for so many tasks."""

    df: DataFrame
    physical: Physical
    n_tasks: int

    def why_few(self) -> str | None:
        if self.n_tasks < 2:
            return "there is one core"
        # What Spark takes the input for; it does not say on Connect.
        plan = getattr(self.df, "_jdf", None)
        size = None if plan is None else int(str(plan.queryExecution().optimizedPlan().stats().sizeInBytes()))
        return "the events are few" if size is not None and size < cost("few_bytes") else None

    def times(self) -> Times | None:
        return self._times

    @cached_property
    def _times(self) -> Times | None:
        """Quantiles of the times: reads the events' times, once."""
        time, shares = sf.col(TS), [i / self.n_tasks for i in range(1, self.n_tasks)]
        events = select_events(self.df, self.physical).filter(time.isNotNull()).select(time)
        found = events.select(
            sf.count(time), sf.min(time), sf.max(time), sf.percentile_approx(time, shares, _ACCURACY)
        ).toArrow()
        n_events, first, last, cuts = (found.column(i)[0].as_py() for i in range(4))
        if not n_events:
            return None
        points = pa.chunked_array([pa.array([first, *cuts, last], found.schema.field(1).type)])
        points_us = np.array(microseconds(points, self.physical.intake).to_pylist(), dtype=np.int64)
        return Times(points_us, np.arange(self.n_tasks + 1) * (n_events / self.n_tasks), n_events)

    def sample(self) -> pa.Table:
        return self._sample

    @cached_property
    def _sample(self) -> pa.Table:
        """The first events."""
        events = select_events(self.df, self.physical).filter(sf.col(TS).isNotNull())
        return take_in(events.limit(_SAMPLE_ROWS).toArrow(), self.physical.intake)[0]

    def read(self, regions: Sequence[Region]) -> Iterator[pa.Table]:
        """One job reads them all."""
        parts, intake = [Slice(*region, back_us=0) for region in regions], self.physical.intake
        rows = cut_events(from_dataframe(self.df, self.physical), parts, intake).toArrow()
        held: list[list[pa.Table]] = [[] for _ in regions]
        for number, data in zip(rows.column("bucket").to_pylist(), rows.column("data"), strict=True):
            held[number].append(from_bytes(data.as_buffer()))
        for blocks in held:
            yield concatenate(blocks) if blocks else pa.table({TS: pa.array([], pa.int64())})
