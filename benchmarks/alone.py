"""What makes a variant work on its own: on so many cores of this process, or in one task of Spark's."""

from __future__ import annotations

import os
from contextlib import ExitStack

import pyarrow as pa

_FORCED = ExitStack()


def use_cores(n: int) -> None:
    """Leave this process so many cores."""
    os.sched_setaffinity(0, set(list(os.sched_getaffinity(0))[:n]))
    os.cpu_count = lambda: n  # type: ignore[assignment]
    pa.set_cpu_count(n)


def use_one_task() -> None:
    """Have Spark work on files by key: without keys in one task."""
    from eventide.plan.choose import KEYS, forced

    _FORCED.enter_context(forced(KEYS))
