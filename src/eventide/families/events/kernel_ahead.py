"""The next row that can be one of some symbols, however far away it is.

An index over every row and symbol would be larger than the events. Here the rows stand in groups: the index has the
next row of each symbol from the beginning of a group on, and the rest of a group is looked at row by row.
"""

from __future__ import annotations

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IndexArray, IntArray

GROUP_BITS = 5
GROUP = 1 << GROUP_BITS  # rows


@njit(cache=True, nogil=True, borrows=True)
def lowest_bit(bits: int) -> int:
    """The number of the lowest bit that is set."""
    number = 0
    while bits & 1 == 0:
        bits >>= 1
        number += 1
    return number


@njit(cache=True, nogil=True, borrows=True)
def index_ahead(mask: IntArray, out: IndexArray) -> None:
    """`out[k, group]`: the first row from the group on, in any partition, whose mask has bit k; else the end of all.

    `out` has one more group than there are rows for.
    """
    n_symbols, n_groups = out.shape[0], out.shape[1] - 1
    for k in range(n_symbols):
        out[k, n_groups] = mask.size
    for group in range(n_groups - 1, -1, -1):
        for k in range(n_symbols):
            out[k, group] = out[k, group + 1]
        missing = (1 << n_symbols) - 1
        for row in range(group << GROUP_BITS, min((group + 1) << GROUP_BITS, mask.size)):
            found = mask[row] & missing
            missing &= ~found
            while found:
                out[lowest_bit(found), group] = row
                found &= found - 1


@njit(cache=True, nogil=True, borrows=True)
def first_far(ahead: IndexArray, bits: int, group: int, hi: int) -> int:
    """The first row from a group on that has one of the bits, or `hi` if that is first."""
    first = hi
    while bits:
        first = min(first, ahead[lowest_bit(bits), group])
        bits &= bits - 1
    return first


@njit(cache=True, nogil=True, borrows=True, forceinline=True)
def first_with(mask: IntArray, ahead: IndexArray, bits: int, lo: int, hi: int) -> int:
    """The first of the rows from `lo` up to `hi` that has one of the bits, or `hi`."""
    near = min(hi, (lo | (GROUP - 1)) + 1)
    row = lo
    while row < near and mask[row] & bits == 0:
        row += 1
    return row if row < near or near >= hi else first_far(ahead, bits, near >> GROUP_BITS, hi)
