"""Threads for work that is shared out: kept, since starting two of them takes longer than many a share.

Work that takes long asks now and then whether somebody still waits for it: after Ctrl-C nobody does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

Share = TypeVar("Share")
Made = TypeVar("Made")

_waited_for = threading.local()


class StoppedError(Exception):
    """Nobody waits for this thread's work any more."""


def check_stopped() -> None:
    """An error where this thread works for somebody who has stopped waiting."""
    stopped: threading.Event | None = getattr(_waited_for, "stopped", None)
    if stopped is not None and stopped.is_set():
        raise StoppedError


@contextmanager
def until(stopped: threading.Event) -> Iterator[None]:
    """What this thread does inside is for somebody who sets `stopped` when nobody waits for it any more.

    >>> stopped = threading.Event()
    >>> with until(stopped):
    ...     check_stopped()
    ...     stopped.set()
    ...     check_stopped()
    Traceback (most recent call last):
    ...
    eventide.runtime.threads.StoppedError
    """
    before = getattr(_waited_for, "stopped", None)
    _waited_for.stopped = stopped
    try:
        yield
    finally:
        _waited_for.stopped = before


def share_among_threads(work: Callable[[Share], Made], shares: Sequence[Share]) -> list[Made]:
    """The results of all shares, each made by a thread of its own. The work may not share out work itself.

    When one share fails, or Ctrl-C comes, the others end as soon as they ask.

    >>> share_among_threads(lambda share: sum(share), [(1, 2), (3, 4)])
    [3, 7]
    """
    if len(shares) < 2:
        return [work(share) for share in shares]
    stopped = threading.Event()

    def work_until(share: Share) -> Made:
        with until(stopped):
            return work(share)

    # A fork has none of its parent's threads.
    pool = _pool(os.getpid(), len(shares) - 1)
    others = [pool.submit(work_until, share) for share in shares[1:]]
    try:
        return [work(shares[0]), *(made.result() for made in others)]
    except BaseException:
        stopped.set()
        wait([made for made in others if not made.cancel()])
        raise


@cache
def _pool(process: int, n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="eventide")
