"""Threads for work that is shared out: kept, since starting two of them takes longer than many a share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Share = TypeVar("Share")
Made = TypeVar("Made")


def share_among_threads(work: Callable[[Share], Made], shares: Sequence[Share]) -> list[Made]:
    """The results of all shares, each made by a thread of its own. The work may not share out work itself.

    >>> share_among_threads(lambda share: sum(share), [(1, 2), (3, 4)])
    [3, 7]
    """
    if len(shares) < 2:
        return [work(share) for share in shares]
    # A fork has none of its parent's threads.
    pool = _pool(os.getpid(), len(shares) - 1)
    others = [pool.submit(work, share) for share in shares[1:]]
    return [work(shares[0]), *(made.result() for made in others)]


@cache
def _pool(process: int, n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="eventide")
