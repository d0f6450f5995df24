"""Input read ahead: the next piece is made while the last one is worked off."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Piece = TypeVar("Piece")


def read_ahead(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The pieces, one of them made ahead in a thread; what making one raises is raised when it is asked for.

    >>> list(read_ahead(iter([1, 2, 3])))
    [1, 2, 3]
    """
    with ThreadPoolExecutor(1, thread_name_prefix="eventide-read") as pool:
        coming = pool.submit(next, pieces, None)
        while True:
            piece = coming.result()
            if piece is None:
                return
            coming = pool.submit(next, pieces, None)
            yield piece
