"""Two tables in micro-batches, without Spark: by their times, or in slices of time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa

from eventide.engines.database import connect
from eventide.engines.intake import take_in
from eventide.engines.local.pairs import open_inputs
from eventide.engines.raw_columns import WANTED
from eventide.families.registry import family_of, make_operator
from eventide.plan.physical import Physical
from eventide.runtime.block import MAX_US, MIN_US
from eventide.runtime.protocol import Operator, Snapshot
from eventide.runtime.slicing import LookBack
from tests.families.joins.cases import Case

SECOND_US = 1_000_000


def plan_of(case: Case) -> Physical:
    query = case.query(ts_unit="s")
    left, right = case.tables()
    return query._plan(query.options, (left.schema, right.schema))


def block_of(case: Case, plan: Physical) -> pa.Table:
    """Both sides as one block, in the order left, right."""
    source, _ = open_inputs(dict(zip(("left", "right"), case.tables(), strict=True)), lambda *schemas: plan)
    items = ", ".join(f"{column.duckdb} AS {column.name}" for column in plan.select)
    raw = source.connection.sql(f"SELECT * FROM (SELECT {items} FROM {source.sql}) WHERE {WANTED}").to_arrow_table()
    return take_in(raw, plan.intake)[0]


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


def play(case: Case, borders: list[int], disorder: Any) -> list[dict[str, Any]]:
    """All rows by their times, a little out of order, cut at `borders`; the watermark follows."""
    plan = plan_of(case)
    block, stream = block_of(case, plan), Stream(plan)
    times = block.column("ts").to_pylist()
    order = sorted(range(len(times)), key=lambda i: times[i] + disorder.random() * SECOND_US * 2)
    rows: list[dict[str, Any]] = []
    for start, stop in pairwise([0, *sorted(min(border, len(order)) for border in borders), len(order)]):
        newest_us = max((times[i] for i in order[:stop]), default=MIN_US + MAX_US // 2)
        rows += stream.step(block.take(pa.array(order[start:stop], pa.int64())), newest_us - 2 * SECOND_US - 1)
        assert stream.operator().late_events() == 0
    return rows + stream.finish()


def play_parts(case: Case, cuts: list[int]) -> list[dict[str, Any]]:
    """All rows in parts of time, cut at some seconds and joined apart."""
    plan = plan_of(case)
    block, stream, spec = block_of(case, plan), Stream(plan), plan.spec
    slicing = family_of(spec).slicing(spec)
    assert isinstance(slicing, LookBack)
    parts = slicing.parts([cut * SECOND_US for cut in sorted(set(cuts))])
    return [row for part in parts for row in stream._rows(part.run(make_operator(spec), part.cut(block)))]
