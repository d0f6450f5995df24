"""Two inputs in micro-batches, without Spark: what joins and Allen's relations have in common."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from eventide.engines.database import connect
from eventide.families.registry import family_of, make_operator
from eventide.plan.physical import Physical
from eventide.runtime.block import MIN_US
from eventide.runtime.protocol import Operator, Snapshot
from eventide.runtime.slicing import LookBack

SECOND_US = 1_000_000


class Stream:
    """Each micro-batch is taken by a new operator that restores the state of the one before."""

    def __init__(self, plan: Physical) -> None:
        self.plan = plan
        self.snapshot: Snapshot | None = None
        self.watermark_us = MIN_US

    def operator(self) -> Operator:
        operator = make_operator(self.plan.spec)
        if self.snapshot is not None:
            operator.restore(self.snapshot)
        return operator

    def step(self, block: pa.Table | None, watermark_us: int) -> list[dict[str, Any]]:
        operator = self.operator()
        self.watermark_us = max(self.watermark_us, watermark_us)
        rows = self._rows(operator.process(block, self.watermark_us))
        self.snapshot = operator.snapshot()
        return rows

    def finish(self) -> list[dict[str, Any]]:
        return self._rows(self.operator().finish())

    def _rows(self, results: Any) -> list[dict[str, Any]]:
        items = ", ".join(f"{column.duckdb} AS {column.name}" for column in self.plan.project)
        made = []
        for batch in results:
            connection = connect()
            connection.register("matches", pa.Table.from_batches([batch]))
            made += connection.sql(f"SELECT {items} FROM matches").to_arrow_table().to_pylist()
        return made


def in_parts(plan: Physical, block: pa.Table, cuts: list[int]) -> list[dict[str, Any]]:
    """All rows in parts of time, cut at some seconds and paired apart."""
    stream, spec = Stream(plan), plan.spec
    slicing = family_of(spec).slicing(spec)
    assert isinstance(slicing, LookBack)
    parts = slicing.parts([cut * SECOND_US for cut in sorted(set(cuts))])
    return [row for part in parts for row in stream._rows(part.run(make_operator(spec), part.cut(block)))]
