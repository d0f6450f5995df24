"""For every position of an automaton and every row: the earliest row at which a match that stands there can end.

It heeds the masks of events, and the negations that one event decides, so a match may still fail for its conditions.
But a walk that looks here first does not enter a dead end for want of an event, which under skip-till-any would cost
exponential time, nor for an event that must not be there.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation.njit import njit
from eventide.families.events.kernel_places import Program
from eventide.runtime.kernels.arrays import BoolArray, IndexArray, IntArray

# Where a match may end, by position.
NOWHERE, ANYWHERE, AT_NEW = 0, 1, 2


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def is_clear(absent: IntArray, lo: int, hi: int, later: int) -> bool:
    """Whether a match may end for all that comes later, in one of some ways; without a way it is not known."""
    for i in range(lo, hi):
        if absent[i] & later == 0:
            return True
    return lo == hi


@njit(cache=True, nogil=True)
def index_completions(
    offsets: IntArray,
    precedes: IndexArray,
    mask: IntArray,
    program: Program,
    absent: IntArray,
    may_end: IntArray,
    is_new: BoolArray,
    always: int,
    out: IndexArray,
    live: IntArray,
) -> None:
    """`out[position, row]`: the row where the earliest completion ends, -1 when there is none.

    `absent` has by edge, and behind the edges by ending, the bits of events that must not lie in its gap. `may_end`
    says at which rows a match may end at a position, or what comes is not known: nowhere, anywhere, or at rows that
    are new. `live` becomes the masks without the bits of positions that have no completion, except the bits `always`.

    `reach[edge]` is the earliest end of what the edge leads to from behind the rows that are looked at.
    """
    item, edge_lo, edge_to, end_lo = program.item, program.edge_lo, program.edge_to, program.end_lo
    n_positions, n_edges = item.size, edge_to.size
    reach = np.empty(edge_lo[n_positions], dtype=np.int64)
    fresh = np.empty(n_positions, dtype=np.int64)
    for p in range(offsets.size - 1):
        reach[:] = -1
        later = np.int64(0)
        stop = offsets[p + 1]
        while stop > offsets[p]:
            start = precedes[stop - 1]
            fresh[:] = -1
            present = np.int64(0)
            for row in range(start, stop):
                present |= mask[row]
                alive = np.int64(always)
                for position in range(n_positions):
                    end = -1
                    if item[position] >= 0 and mask[row] >> item[position] & 1:
                        is_end = may_end[position] == ANYWHERE or (may_end[position] == AT_NEW and is_new[row])
                        ends_lo, ends_hi = n_edges + end_lo[position], n_edges + end_lo[position + 1]
                        if is_end and is_clear(absent, ends_lo, ends_hi, later):
                            end = row
                        else:
                            for edge in range(edge_lo[position], edge_lo[position + 1]):
                                reached = reach[edge]
                                if reached >= 0 and (end < 0 or reached < end):
                                    end = reached
                    out[position, row] = end
                    if end >= 0:
                        alive |= np.int64(1) << item[position]
                        if fresh[position] < 0 or end < fresh[position]:
                            fresh[position] = end
                live[row] = mask[row] & alive
            for edge in range(reach.size):
                end = fresh[edge_to[edge]]
                # What lies behind these rows is reached past them, if none of them must be absent.
                if reach[edge] >= 0 and absent[edge] & present == 0 and (end < 0 or reach[edge] < end):
                    end = reach[edge]
                reach[edge] = end
            later |= present
            stop = start
