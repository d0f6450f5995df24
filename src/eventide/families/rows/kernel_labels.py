"""Rows of a match by their labels."""

from __future__ import annotations

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IndexArray


@njit(cache=True, nogil=True)
def find_last(labels: IndexArray, depth: int, members: IndexArray, offset: int) -> int:
    """The depth of the last row up to `depth` whose label is a member, or of the `offset`-th before it; -1: none."""
    for at in range(depth, -1, -1):
        if members[labels[at]]:
            if offset == 0:
                return at
            offset -= 1
    return -1


@njit(cache=True, nogil=True)
def find_first(labels: IndexArray, depth: int, members: IndexArray, offset: int) -> int:
    """As `find_last`, counted from the match's first row."""
    for at in range(depth + 1):
        if members[labels[at]]:
            if offset == 0:
                return at
            offset -= 1
    return -1
