"""A worker's garbage collector looks only at what came after the worker had loaded what it needs."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterator

import pyarrow as pa
import pytest

from eventide.engines.spark import workers


@pytest.fixture
def in_a_task(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker that has settled nothing yet."""
    monkeypatch.setattr(workers.TaskContext, "get", lambda: object())
    monkeypatch.setattr(workers, "_settled_modules", 0)
    gc.unfreeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("in_a_task")
def test_what_is_loaded_is_left_alone_once_and_again_when_more_is(monkeypatch: pytest.MonkeyPatch) -> None:
    workers.settle()
    frozen = gc.get_freeze_count()
    assert frozen > 0
    workers.settle()
    assert gc.get_freeze_count() == frozen
    kept: list[list[int]] = [[] for _ in range(1000)]
    monkeypatch.setitem(sys.modules, "eventide_loaded_later", types.ModuleType("eventide_loaded_later"))
    workers.settle()
    assert gc.get_freeze_count() >= frozen + len(kept)


def test_a_process_of_the_users_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_settled_modules", 0)
    frozen = gc.get_freeze_count()
    workers.settle()
    assert gc.get_freeze_count() == frozen


def test_the_work_is_done_as_before() -> None:
    batches = [pa.RecordBatch.from_pydict({"n": [n]}) for n in range(3)]
    work = workers.settled(lambda each: (batch.slice(0, batch.num_rows) for batch in each))
    assert [batch.to_pylist() for batch in work(iter(batches))] == [[{"n": 0}], [{"n": 1}], [{"n": 2}]]
