"""Spark's Python workers: Spark collects garbage after each of their tasks, in all that they have loaded."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark import TaskContext

Batches = Iterator[pa.RecordBatch]

_settled_modules = 0


def settled(work: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """The work of a task, for `mapInArrow`, in a worker that serves many."""

    def settle_and_work(batches: Batches) -> Batches:
        settle()
        yield from work(batches)

    return settle_and_work


def settle() -> None:
    """At the beginning of a task: what the worker has loaded so far is there for good.

    With pandas, Arrow and Numba loaded a collection takes a quarter of a second. Behind every task of a
    micro-batch that was the largest part of its time. At the beginning Spark has just collected, and nothing of
    the task's is there yet.
    """
    global _settled_modules
    if TaskContext.get() is not None and len(sys.modules) != _settled_modules:
        gc.freeze()
        _settled_modules = len(sys.modules)
