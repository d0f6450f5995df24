"""For every position of an automaton and every row: the earliest row at which a match that stands there can end.

It heeds the masks of events alone, so a match may still fail for its conditions. But a walk that looks here first does
not enter a dead end for want of an event, which under skip-till-any would cost exponential time.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import BoolArray, IndexArray, IntArray

# Where a match may end, by position.
NOWHERE, ANYWHERE, AT_NEW = 0, 1, 2


@njit(cache=True, nogil=True)
def index_completions(
    offsets: IntArray,
    precedes: IndexArray,
    mask: IntArray,
    item: IntArray,
    edge_lo: IntArray,
    edge_to: IntArray,
    may_end: IntArray,
    is_new: BoolArray,
    out: IndexArray,
) -> None:
    """`out[position, row]`: the row where the earliest completion ends, -1 when there is none.

    `item` is the symbol of each position; `may_end` says at which rows a match may end there, or what comes is not
    known: nowhere, anywhere, or at rows that are new.
    """
    n_positions = item.size
    earliest = np.empty(n_positions, dtype=np.int64)
    fresh = np.empty(n_positions, dtype=np.int64)
    for p in range(offsets.size - 1):
        earliest[:] = -1
        stop = offsets[p + 1]
        while stop > offsets[p]:
            start = precedes[stop - 1]
            fresh[:] = -1
            for row in range(start, stop):
                for position in range(n_positions):
                    end = -1
                    if item[position] >= 0 and mask[row] >> item[position] & 1:
                        if may_end[position] == ANYWHERE or (may_end[position] == AT_NEW and is_new[row]):
                            end = row
                        else:
                            for edge in range(edge_lo[position], edge_lo[position + 1]):
                                reached = earliest[edge_to[edge]]
                                if reached >= 0 and (end < 0 or reached < end):
                                    end = reached
                    out[position, row] = end
                    if end >= 0 and (fresh[position] < 0 or end < fresh[position]):
                        fresh[position] = end
            for position in range(n_positions):
                if fresh[position] >= 0 and (earliest[position] < 0 or fresh[position] < earliest[position]):
                    earliest[position] = fresh[position]
            stop = start
