"""Partial aggregates in place of events: where they are made, when they are sent on, and what `explain` says of it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.engines.intake import take_in
from eventide.engines.raw_columns import raw_columns
from eventide.families.registry import family_of, make_operator
from eventide.plan.physical import Physical
from eventide.runtime.block import MIN_US
from eventide.runtime.combining import Smaller
from eventide.runtime.costs import costing

N = 5000
HOP = "FROM e GROUP BY g WITHIN 60 seconds SLIDE 10 seconds RETURN g, count(*) AS n, sum(x) AS s, last(x) AS last"


def events(n_groups: int) -> pa.Table:
    draw = np.random.default_rng(n_groups)
    groups = [f"g{i}" for i in draw.integers(0, n_groups, N).tolist()]
    return pa.table({"ts": draw.integers(0, 1000, N), "g": groups, "x": draw.integers(0, 9, N)})


def planned(text: str, table: pa.Table) -> tuple[Physical, pa.Table]:
    """The plan, and the events as a block."""
    physical = ev.query(text, ts_unit="s").plan(table.schema)
    return physical, take_in(raw_columns(table, physical, ("UTC", 1)), physical.intake)[0]


def smaller(physical: Physical, most: float = 1.0) -> Smaller:
    return Smaller(family_of(physical.spec).combining(physical.spec), most)


def test_few_panes_are_sent_in_place_of_many_events() -> None:
    physical, block = planned(HOP, events(3))
    sent = smaller(physical)(block)
    assert sent.num_rows == 300 and sent.nbytes < block.nbytes


def test_events_are_sent_where_panes_are_no_smaller() -> None:
    physical, block = planned(HOP, events(4000))
    send = smaller(physical)
    assert send(block) is block
    # The first block has decided, for all blocks of the task.
    few = block.slice(0, 1)
    assert send(pa.concat_tables([few] * 1000)).num_rows == 1000


def test_the_first_block_decides_that_panes_are_sent() -> None:
    physical, block = planned(HOP, events(3))
    send = smaller(physical)
    send(block)
    assert "mask" not in send(block.slice(0, 1)).column_names


def test_an_empty_block_decides_nothing() -> None:
    physical, block = planned(HOP, events(3))
    send = smaller(physical)
    assert send(block.slice(0, 0)).num_rows == 0
    assert send(block).num_rows == 300


@pytest.mark.parametrize("windows", ["WITHIN 60 seconds SLIDE 7 seconds", "SESSION 2 seconds", ""])
def test_the_operator_takes_events_and_panes_in_any_mixture(windows: str) -> None:
    text = HOP.replace("WITHIN 60 seconds SLIDE 10 seconds", windows)
    table = events(20)
    physical, block = planned(text, table)
    combine = smaller(physical, most=1e9)
    operator, chance = make_operator(physical.spec), random.Random(1)
    for start in range(0, N, 500):
        part = block.slice(start, 500)
        assert not list(operator.process(combine(part) if chance.random() < 0.5 else part, MIN_US))
    found = pa.Table.from_batches(list(operator.finish()))
    whole = make_operator(physical.spec)
    assert not list(whole.process(block, MIN_US))
    names = found.column_names
    expected = pa.Table.from_batches(list(whole.finish()))
    order = [(name, "ascending") for name in names[:3]]
    assert found.sort_by(order).equals(expected.sort_by(order))


def explained(text: str, tmp_path: Path) -> str:
    path = tmp_path / "events.parquet"
    pq.write_table(events(3), path)
    with costing(few_rows=0):
        said = ev.query(text, ts_unit="s").explain(str(path), engine="spark")
    return next(line for line in said.splitlines() if "spark (" in line)


def test_explain_says_what_is_exchanged(tmp_path: Path) -> None:
    said = explained(HOP, tmp_path)
    assert "blocks of partial aggregates exchanged once; hash of g to buckets" in said
    assert "events are sent on only where aggregates are no smaller" in said


def test_explain_says_that_all_tasks_read_where_there_is_no_group(tmp_path: Path) -> None:
    said = explained("FROM e WITHIN 10 seconds RETURN count(*) AS n", tmp_path)
    assert "all tasks read events" in said and "one task puts them together" in said


def test_explain_says_why_windows_of_events_have_one_task(tmp_path: Path) -> None:
    said = explained("FROM e WITHIN 10 EVENTS RETURN count(*) AS n", tmp_path)
    assert said.endswith(
        "one task, because all events belong together and an event has its position among all events of its group"
    )


def test_few_events_in_files_are_one_task(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(events(3), path)
    assert "one task reads the files" in ev.query(HOP, ts_unit="s").explain(str(path), engine="spark")


def test_explain_of_a_dataframe_says_what_is_exchanged() -> None:
    table = events(3)
    for text, said in ((HOP, "hash of g to buckets"), (HOP.replace("GROUP BY g", "").replace("g,", ""), "one task")):
        shown = ev.query(text, ts_unit="s").explain(table, engine="spark")
        assert "blocks of partial aggregates exchanged once" in shown and said in shown
