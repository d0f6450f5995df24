"""What makes a variant work on its own: on some of the cores of this process, or in one task of Spark's."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from benchmarks.registry import Benchmark, Context, Outcome, Run
from benchmarks.session import start_session

Rows = Callable[..., pa.Table]
_FORCED = ExitStack()


def use_cores(n: int) -> None:
    """Leave `n` cores to this process."""
    os.sched_setaffinity(0, set(list(os.sched_getaffinity(0))[:n]))
    os.cpu_count = lambda: n  # type: ignore[assignment]
    pa.set_cpu_count(n)


def use_one_task() -> None:
    """Have Spark work on files by key: without keys in one task."""
    from eventide.plan.choose import KEYS, forced

    _FORCED.enter_context(forced(KEYS))


def compare_slices(slices: Benchmark, make: Callable[[], Rows], outcome: Callable[[pa.Table], Outcome]) -> None:
    """Slices of time beside none, in this process and on Spark; `make` gives what finds the rows of a path."""

    def on_cores(n: int | None) -> Callable[[Path, Context], Run]:
        def setup(path: Path, context: Context) -> Run:
            if n is not None:
                use_cores(n)
            run = make()
            return lambda: outcome(run(str(path)))

        return setup

    def on_spark(one_task: bool) -> Callable[[Path, Context], Run]:
        def setup(path: Path, context: Context) -> Run:
            spark = start_session()
            if one_task:
                use_one_task()
            run = make()
            return lambda: outcome(run(str(path), engine="spark", spark=spark).toArrow())

        return setup

    slices.limit("one core")(on_cores(1))
    slices.subject("all cores")(on_cores(None))
    slices.limit("Spark in one task")(on_spark(True))
    slices.subject("Spark by slices")(on_spark(False))
