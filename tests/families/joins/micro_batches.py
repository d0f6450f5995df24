"""Two tables in micro-batches, without Spark: by their times, or in slices of time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa

from eventide.engines.intake import take_in
from eventide.engines.local.pairs import open_inputs
from eventide.engines.raw_columns import WANTED
from eventide.plan.physical import Physical
from eventide.runtime.block import MAX_US, MIN_US
from tests.families.joins.cases import Case
from tests.families.paired_batches import SECOND_US, Stream, in_parts


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
    return in_parts(plan, block_of(case, plan), cuts)
