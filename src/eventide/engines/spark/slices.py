"""Events cut by time, a task each: slices in whose place something smaller comes, and parts that are matched apart.

A `Choice` says which of both, where time is cut, and whether tasks read the slices or events are exchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from eventide.engines.computed import add_computed
from eventide.engines.intake import take_in
from eventide.engines.spark import batch
from eventide.engines.spark.exchange import BLOCK_SCHEMA, Batches, Events, block_rows
from eventide.engines.spark.workers import settled
from eventide.families.registry import family_of, make_operator
from eventide.plan.choose import Choice
from eventide.plan.physical import Intake, Physical
from eventide.runtime.block import concatenate, cut, from_bytes
from eventide.runtime.slicing import Part, Slicing


def run_slices(events: Events, choice: Choice, physical: Physical, n_buckets: int) -> DataFrame:
    """The result rows; the tasks of `events` read `choice.shares`, where the choice has some."""
    parts, intake = choice.parts, physical.intake
    if choice.then:
        left = _combine(events, choice, physical, n_buckets)
        return _match(left, parts, physical) if parts else batch.run(left, physical, left.sparkSession, n_buckets)
    if not choice.shares:
        return _match(cut_events(events, parts, intake), parts, physical)
    finish, schema = batch.finisher(physical)
    spec = physical.spec

    def read_and_match(tables: Iterable[pa.Table], task: int) -> Batches:
        mine = [part for table in tables if (part := parts[task].cut(take_in(table, intake)[0])).num_rows]
        if mine:
            yield from finish(parts[task].run(make_operator(spec, compute=add_computed), concatenate(mine)))

    return batch.project(events(read_and_match, schema), physical)


def cut_events(events: Events, parts: Sequence[Part], intake: Intake) -> DataFrame:
    """Every part's events, as rows of blocks with its number; an event that several parts need is in several."""

    def make_blocks(tables: Iterable[pa.Table], _: int) -> Batches:
        for table in tables:
            for number, mine in _cut(take_in(table, intake)[0], parts):
                yield from block_rows(number, mine)

    return events(make_blocks, BLOCK_SCHEMA)


def _cut(block: pa.Table, parts: Sequence[Part]) -> Iterable[tuple[int, pa.Table]]:
    return ((number, mine) for number, part in enumerate(parts) if (mine := part.cut(block)).num_rows)


def _combine(events: Events, choice: Choice, physical: Physical, n_buckets: int) -> DataFrame:
    """What stands for the events of all slices, as rows of blocks by key or by part."""
    spec, intake, parts = physical.spec, physical.intake, choice.parts

    def combine(blocks: Sequence[pa.Table], shared: Sequence[tuple[int, int]]) -> Batches:
        if not blocks:
            return
        slicing = family_of(spec).slicing(spec)
        assert isinstance(slicing, Slicing)
        for block in slicing.combiner().combine(concatenate(blocks).combine_chunks(), shared):
            for number, mine in _cut(block, parts) if parts else cut(block, intake.layout, n_buckets):
                yield from block_rows(number, mine)

    if choice.shares:
        shared = choice.shared
        return events(
            lambda tables, task: combine([take_in(table, intake)[0] for table in tables], shared[task]), BLOCK_SCHEMA
        )
    return _by_number(cut_events(events, choice.ranges, intake), choice.ranges).mapInArrow(
        settled(lambda batches: combine(list(batch.read_blocks(batches)), ())), BLOCK_SCHEMA
    )


def _match(blocks: DataFrame, parts: Sequence[Part], physical: Physical) -> DataFrame:
    """The result rows of blocks by part, in the order of the parts."""
    finish, schema = batch.finisher(physical)
    spec = physical.spec

    def match(batches: Batches) -> Batches:
        held: dict[int, list[pa.Table]] = {}
        for each in batches:
            for number, data in zip(each.column("bucket").to_pylist(), each.column("data"), strict=True):
                held.setdefault(number, []).append(from_bytes(data.as_buffer()))
        for number, mine in sorted(held.items()):
            yield from finish(parts[number].run(make_operator(spec, compute=add_computed), concatenate(mine)))

    return batch.project(_by_number(blocks, parts).mapInArrow(settled(match), schema), physical)


def _by_number(blocks: DataFrame, parts: Sequence[Part]) -> DataFrame:
    return blocks.repartitionById(len(parts), "bucket")
