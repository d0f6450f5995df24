"""Allen's thirteen relations as bits, and the one that holds between two intervals.

The inverse of bit i is bit i + 7, that of `equals` itself; `lang.relations` has the names in the same order.
"""

from __future__ import annotations

from typing import Final

from eventide.compilation.njit import njit

BEFORE: Final = 1 << 0
MEETS: Final = 1 << 1
OVERLAPS: Final = 1 << 2
STARTS: Final = 1 << 3
DURING: Final = 1 << 4
FINISHES: Final = 1 << 5
EQUALS: Final = 1 << 6
AFTER: Final = 1 << 7
MET_BY: Final = 1 << 8
OVERLAPPED_BY: Final = 1 << 9
STARTED_BY: Final = 1 << 10
CONTAINS: Final = 1 << 11
FINISHED_BY: Final = 1 << 12


@njit(cache=True, nogil=True, inline="always")
def relation(a_start: int, a_end: int, b_start: int, b_end: int) -> int:
    """The bit of the relation of a to b.

    >>> relation(0, 5, 3, 9) == OVERLAPS, relation(3, 4, 0, 9) == DURING, relation(0, 1, 1, 2) == MEETS
    (True, True, True)
    """
    if a_end < b_start:
        return BEFORE
    if b_end < a_start:
        return AFTER
    if a_end == b_start:
        return MEETS
    if b_end == a_start:
        return MET_BY
    if a_start == b_start:
        return EQUALS if a_end == b_end else (STARTS if a_end < b_end else STARTED_BY)
    if a_start < b_start:
        return FINISHED_BY if a_end == b_end else (OVERLAPS if a_end < b_end else CONTAINS)
    return FINISHES if a_end == b_end else (DURING if a_end < b_end else OVERLAPPED_BY)
