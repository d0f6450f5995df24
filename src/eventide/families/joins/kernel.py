"""Partners of left rows among right rows of one partition, by two cursors over both sides in the order of time.

In: left rows by partition and time, right ones alike. Out: for each left row the right ones it comes out with, -1 for
none. A row comes out in the call whose span of time (older_than, up_to] holds the time at which it is decided.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import first_from

INNER: Final = 0
LEFT: Final = 1
SEMI: Final = 2
ANTI: Final = 3
EVERY: Final = 0  # partner, or the nearest in a direction
BACKWARD: Final = 1
FORWARD: Final = 2
NEAREST: Final = 3
# Places in `limits`.
LOW, HIGH, WAIT, OLDER_THAN, UP_TO, KIND, DIRECTION, ALL_TIES, TIE_RULE = 0, 1, 2, 3, 4, 5, 6, 7, 8
N_LIMITS: Final = 9


# <generated: tests>
@njit(cache=True, nogil=True)
def holds(left: int, right: int, cols: Any) -> bool:
    """Whether two rows of the block meet the condition of ON; replaced per query."""
    return True


@njit(cache=True, nogil=True)
def keeps(left: int, right: int, cols: Any) -> bool:
    """Whether a result meets the condition of WHERE: a pair, or a left row with itself where it has no partner."""
    return True


# </generated>


# Places in `state`: the left row that is next, the one to stop at, and the room that it needs.
NEXT, STOP, NEEDED = 0, 1, 2


def new_state(first: int, stop: int) -> IntArray:
    """A walk over the left rows from `first` to `stop` that has not begun."""
    return np.array([first, stop, 0], dtype=np.int64)


@njit(cache=True, nogil=True, borrows=True)
def join_rows(
    lefts: Any, rights: Any, limits: IntArray, cols: Any, state: IntArray, left_idx: IntArray, partners: IntArray
) -> int:
    """Write results: the places of the left row and of its partner, -1 for none; returns how many.

    It ends at state[STOP], or at a left row for which there may be too little room: where nothing is written, it is
    state[NEEDED].
    """
    codes, times = lefts[0], lefts[1]
    offsets, right_times = rights[0], rights[1]
    is_one = limits[KIND] in (SEMI, ANTI) or (limits[DIRECTION] != EVERY and not limits[ALL_TIES])
    n = 0
    code, end, lo, hi = -1, 0, 0, 0
    for i in range(state[NEXT], state[STOP]):
        earliest, latest = times[i] + limits[LOW], times[i] + limits[HIGH]
        if codes[i] != code:
            code, end = codes[i], offsets[codes[i] + 1]
            lo = first_from(right_times, offsets[code], end, earliest)
            hi = lo
        while lo < end and right_times[lo] < earliest:
            lo += 1
        hi = max(lo, hi)
        while hi < end and right_times[hi] <= latest:
            hi += 1
        needed = 1 if is_one else hi - lo + 1
        if n + needed > partners.size:
            state[NEXT], state[NEEDED] = i, needed
            return n
        found = join_row(lefts, rights, limits, cols, i, lo, hi, partners, n)
        for k in range(n, found):
            left_idx[k] = i
        n = found
    state[NEXT] = state[STOP]
    return n


@njit(cache=True, nogil=True, borrows=True)
def join_row(
    lefts: Any, rights: Any, limits: IntArray, cols: Any, i: int, lo: int, hi: int, out: IntArray, n: int
) -> int:
    """Write the partners of left row i from place n on; returns where they end."""
    time, row, kind = lefts[1][i], lefts[2][i], limits[KIND]
    if time + limits[WAIT] <= limits[OLDER_THAN]:
        return n  # all of it was decided before
    if not lefts[3][i]:
        hi = lo
    if limits[DIRECTION] == EVERY and kind in (INNER, LEFT):
        n = join_pairs(time, row, rights, limits, cols, lo, hi, out, n)
        is_open = kind == LEFT and is_due(time + limits[WAIT], limits)
        if is_open and first_partner(time, row, rights, limits, cols, lo, hi) < 0:
            n = write(row, -1, row, cols, out, n)
        return n
    if limits[DIRECTION] == EVERY or limits[DIRECTION] == FORWARD:
        chosen = first_partner(time, row, rights, limits, cols, lo, hi)
    elif limits[DIRECTION] == BACKWARD:
        chosen = last_partner(time, row, rights, limits, cols, lo, hi)
    else:
        chosen = nearest_partner(time, row, rights, limits, cols, lo, hi)
    if chosen < 0:
        if kind in (LEFT, ANTI) and is_due(time + limits[WAIT], limits):
            n = write(row, -1, row, cols, out, n)
        return n
    if kind == ANTI or not is_due(decided(time, rights[1][chosen], limits[DIRECTION]), limits):
        return n
    if kind == SEMI:
        n = write(row, chosen, rights[2][chosen], cols, out, n)
    else:
        n = write_tied(time, row, rights, limits, cols, lo, hi, chosen, out, n)
    return n


@njit(cache=True, nogil=True, borrows=True)
def is_due(time: int, limits: IntArray) -> bool:
    """Whether this call returns what is decided at a time."""
    return bool(limits[OLDER_THAN] < time <= limits[UP_TO])


@njit(cache=True, nogil=True, borrows=True)
def decided(time: int, partner_time: int, direction: int) -> int:
    """When it is certain that a left row has a partner of that time, and none that is nearer."""
    if direction == NEAREST:
        return time + abs(partner_time - time)
    return max(time, partner_time)


@njit(cache=True, nogil=True, borrows=True)
def is_partner(time: int, row: int, j: int, rights: Any, limits: IntArray, cols: Any) -> bool:
    """Whether the right row at place j, which is in reach, joins the left row."""
    if limits[TIE_RULE] != 0 and rights[1][j] == time:
        ranks = rights[3]
        if (ranks[rights[2][j]] - ranks[row]) * limits[TIE_RULE] <= 0:
            return False
    return bool(holds(row, rights[2][j], cols))


@njit(cache=True, nogil=True, borrows=True)
def join_pairs(
    time: int, row: int, rights: Any, limits: IntArray, cols: Any, lo: int, hi: int, out: IntArray, n: int
) -> int:
    """Every partner of which one of the two is new."""
    if time <= limits[OLDER_THAN]:
        lo = first_from(rights[1], lo, hi, limits[OLDER_THAN] + 1)
    for j in range(lo, hi):
        if is_partner(time, row, j, rights, limits, cols):
            n = write(row, j, rights[2][j], cols, out, n)
    return n


@njit(cache=True, nogil=True, borrows=True)
def write(row: int, partner: int, seen: int, cols: Any, out: IntArray, n: int) -> int:
    """Write a partner where WHERE keeps the result; the row `seen` has its columns, and of no partner NULLs."""
    if not keeps(row, seen, cols):
        return n
    out[n] = partner
    return n + 1


@njit(cache=True, nogil=True, borrows=True)
def first_partner(time: int, row: int, rights: Any, limits: IntArray, cols: Any, lo: int, hi: int) -> int:
    """The place of the earliest partner, of tied ones the last in their order; -1 where there is none."""
    chosen = -1
    for j in range(lo, hi):
        if chosen >= 0 and rights[1][j] != rights[1][chosen]:
            break
        if is_partner(time, row, j, rights, limits, cols):
            chosen = j
    return chosen


@njit(cache=True, nogil=True, borrows=True)
def last_partner(time: int, row: int, rights: Any, limits: IntArray, cols: Any, lo: int, hi: int) -> int:
    """The place of the latest partner, of tied ones the last in their order; -1 where there is none."""
    for j in range(hi - 1, lo - 1, -1):
        if is_partner(time, row, j, rights, limits, cols):
            return j
    return -1


@njit(cache=True, nogil=True, borrows=True)
def nearest_partner(time: int, row: int, rights: Any, limits: IntArray, cols: Any, lo: int, hi: int) -> int:
    """The place of the partner with the least distance; of one before and one after that are as near, the later."""
    middle = first_from(rights[1], lo, hi, time + 1)
    before: int = last_partner(time, row, rights, limits, cols, lo, middle)
    after: int = first_partner(time, row, rights, limits, cols, middle, hi)
    if before < 0 or after < 0:
        return max(before, after)
    return after if rights[1][after] - time <= time - rights[1][before] else before


@njit(cache=True, nogil=True, borrows=True)
def write_tied(
    time: int, row: int, rights: Any, limits: IntArray, cols: Any, lo: int, hi: int, chosen: int, out: IntArray, n: int
) -> int:
    """Write the chosen partner, or all that are as near."""
    if not limits[ALL_TIES]:
        n = write(row, chosen, rights[2][chosen], cols, out, n)
        return n
    distance = abs(rights[1][chosen] - time)
    first = first_from(rights[1], lo, hi, time - distance)
    for j in range(first, hi):
        if rights[1][j] > time + distance:
            break
        if abs(rights[1][j] - time) == distance and is_partner(time, row, j, rights, limits, cols):
            n = write(row, j, rights[2][j], cols, out, n)
    return n
