"""Two interval tables in micro-batches, without Spark: by their ends, or in slices of time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa

from eventide.engines.intake import take_in
from eventide.engines.local.sources import attach
from eventide.families.allen.following import behind
from eventide.families.allen.lower import Relating
from eventide.families.allen.relations import parse_relations
from eventide.families.registry import family_named
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.runtime.block import MAX_US, MIN_US
from tests.families.allen.cases import Case
from tests.families.paired_batches import SECOND_US, Stream, in_parts


def plan_of(case: Case) -> Physical:
    left, right = case.tables()
    relating = Relating(
        relations=parse_relations(list(case.relations)),
        window_us=None if case.within is None else case.within * SECOND_US,
        partition_by=("key",) if case.is_partitioned else (),
        left_times=case.times[0],
        right_times=case.times[1],
    )
    return family_named("allen").prepare(relating, Options(ts_unit="s"), (left.schema, right.schema))


def block_of(case: Case, plan: Physical) -> pa.Table:
    """Both sides as one block, in the order left, right."""
    from eventide.engines.database import connect

    connection = connect()
    parts = []
    for given, table in zip(plan.inputs, case.tables(), strict=True):
        attached = attach(connection, f"{given.name}_rows", table)
        parts.append(f"SELECT {', '.join(f'{c.duckdb} AS {c.name}' for c in given.select)} FROM {attached.sql}")
    raw = connection.sql(" UNION ALL ".join(parts)).to_arrow_table()
    return take_in(raw, plan.intake)[0]


def play(case: Case, borders: list[int], disorder: Any) -> list[dict[str, Any]]:
    """All intervals by their end, a little out of order, cut at `borders`; the watermark follows."""
    plan = plan_of(case)
    block, stream = block_of(case, plan), Stream(plan)
    ends = block.column("ts").to_pylist()
    order = sorted(range(len(ends)), key=lambda i: ends[i] + (disorder.random() * SECOND_US * 2 if disorder else 0))
    rows: list[dict[str, Any]] = []
    for start, stop in pairwise([0, *sorted(min(border, len(order)) for border in borders), len(order)]):
        newest_us = max((ends[i] for i in order[:stop]), default=MIN_US + MAX_US // 2)
        rows += stream.step(block.take(pa.array(order[start:stop], pa.int64())), newest_us - 2 * SECOND_US - 1)
    return rows + stream.finish()


def play_parts(case: Case, cuts: list[int]) -> list[dict[str, Any]]:
    """All intervals in parts of time, cut at some seconds and related apart."""
    plan = plan_of(case)
    return in_parts(plan, block_of(case, plan), cuts)


def play_derived(case: Case, borders: list[int], disorder: Any, lag: int, following: int) -> list[dict[str, Any]]:
    """The sides of `following` come up to `lag` seconds after their end, the other ones with it.

    As behind an operator: what the watermark of a micro-batch decides comes in it, and the rest later.
    """
    plan = behind(plan_of(case), following, lag * SECOND_US)
    block, stream = block_of(case, plan), Stream(plan)
    sides, ends = block.column("mask").to_pylist(), block.column("ts").to_pylist()
    lags = [disorder.randrange(lag + 1) * SECOND_US if side & following else 0 for side in sides]
    times_us = [end + late for end, late in zip(ends, lags, strict=True)]
    order = sorted(range(len(times_us)), key=times_us.__getitem__)
    rows: list[dict[str, Any]] = []
    before = 0
    for border in sorted({min(border, len(order)) for border in borders}):
        watermark_us = times_us[order[border - 1]] if border else MIN_US + SECOND_US
        # Sides that are not derived have come before the watermark passes them.
        taken = [i for i in order[before:] if times_us[i] <= watermark_us]
        if any(not sides[i] & following for i in taken):
            rows += stream.step(block.take(pa.array(taken, pa.int64())), stream.watermark_us)
            taken = []
        rows += stream.step(block.take(pa.array(taken, pa.int64())), watermark_us)
        before = sum(at <= watermark_us for at in times_us)
    rows += stream.step(block.take(pa.array(order[before:], pa.int64())), stream.watermark_us)
    assert stream.operator().late_events() == 0
    return rows + stream.finish()
