"""The physical form follows from costs that are stated, and a test can force one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.engines.file_input import choose_for_files, describe_files
from eventide.plan.choose import KEYS, ONE_TASK, SLICES, Choice, forced
from eventide.runtime.costs import GUESSED, MEASURED, cost, costing, costs
from eventide.runtime.slicing import Times

TEXT = "PATTERN SEQ(A a, B b) WITHIN 2 seconds"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("events") / "events.parquet"
    pq.write_table(ev.sample("typed", 20_000, seed=5, keys=50, kinds=("A", "B")), path, row_group_size=1_000)
    return str(path)


def chosen(path: str, text: str = TEXT, **options: Any) -> Choice:
    return choose_for_files([path], ev.query(text, type="kind", **options).plan(pq.read_schema(path), "spark"), 4)


def test_few_events_in_files_are_for_one_task_and_more_are_shared_out(path: str) -> None:
    assert (chosen(path).form, chosen(path).reason) == (ONE_TASK, "there are few events")
    with costing(few_rows=19_999):
        assert chosen(path).form == SLICES
        assert (chosen(path, partition_by="key").form, chosen(path, partition_by="key").reason) == (
            KEYS,
            "no key is hot",
        )


@pytest.mark.parametrize("form", [KEYS, SLICES, ONE_TASK])
@pytest.mark.parametrize("options", [{}, {"partition_by": "key"}], ids=["no key", "keys"])
def test_a_form_that_is_possible_can_be_forced(path: str, form: str, options: dict[str, Any]) -> None:
    with forced(form):
        assert chosen(path, **options).form == form
    assert chosen(path, **options).form == ONE_TASK


def test_slices_that_are_not_possible_cannot_be_forced(path: str) -> None:
    with forced(SLICES):
        found = chosen(path, "PATTERN SEQ(A a, B b)")
    assert (found.form, found.reason) == (KEYS, "matches are made of the events themselves")


def test_explain_tells_the_form_and_its_reason(path: str) -> None:
    physical = ev.query(TEXT, type="kind").plan(pq.read_schema(path), "spark")
    assert describe_files([path], physical) == "one task reads the files, because there are few events"
    with costing(few_rows=0):
        assert str(describe_files([path], physical)).endswith(
            "all events belong together; the row groups are in order of time, so that no event is exchanged"
        )


def test_a_slice_has_some_events_wherever_many_have_one_time() -> None:
    times = Times.of(np.array([5, 5, 5, 5, 5, 5, 7, 9]))
    assert times.bounds(4) == (7,)
    assert Times.of(np.array([5, 5])).bounds(3) == ()


def test_every_cost_says_what_it_means_and_where_it_comes_from() -> None:
    for name, each in costs().items():
        assert each.origin in (MEASURED, GUESSED), name
        assert each.meaning, name


def test_costs_are_back_after_an_error() -> None:
    before = costs()
    with pytest.raises(ValueError, match="stop"), costing(few_rows=1, most_read=9):
        assert (cost("few_rows"), cost("most_read")) == (1, 9)
        raise ValueError("stop")
    assert costs() == before
