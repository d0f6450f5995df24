"""The latest right row at or before each left one: one cursor over both sides in the order of time.

Rows need not be ordered by partition: of each partition the latest right row so far is remembered. So a join as of a
time without conditions on pairs costs one pass, and its results come in the order of the left rows.
"""

from __future__ import annotations

from typing import Any

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray


@njit(cache=True, nogil=True, borrows=True)
def find_latest(lefts: Any, rights: Any, low_us: int, latest: IntArray, out: IntArray) -> bool:
    """Write the place of each left row's partner, -1 for none; returns whether two right rows of a partition are tied.

    A partner is at most -low_us older. `latest` has -1 for each partition.
    """
    left_codes, left_times, may_match = lefts[0], lefts[1], lefts[3]
    right_codes, right_times = rights[0], rights[1]
    is_tied = False
    j = 0
    for i in range(left_times.size):
        time = left_times[i]
        while j < right_times.size and right_times[j] <= time:
            before = latest[right_codes[j]]
            is_tied = is_tied or (before >= 0 and right_times[before] == right_times[j])
            latest[right_codes[j]] = j
            j += 1
        place = latest[left_codes[i]]
        is_near = may_match[i] and place >= 0 and right_times[place] >= time + low_us
        out[i] = place if is_near else -1
    return is_tied
