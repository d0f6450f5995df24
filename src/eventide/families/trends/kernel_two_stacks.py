"""Which products of panes make up every window, whatever is multiplied.

Panes enter at the right of a window and leave at its left: the products from every pane to a middle are kept, the one
from there to the right grows. So a pane is multiplied about three times, however many windows hold it.
"""

from __future__ import annotations

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray

# What to do with a pane: begin the right product with it, or let it grow by it; keep it as the last one before the
# middle, or before the product kept for the pane behind it; a window that begins with it, alone or times the right one.
BEGIN, GROW, KEEP, PREPEND, WINDOW, WINDOW_TIMES_RIGHT = 0, 1, 2, 3, 4, 5


@njit(cache=True, nogil=True)
def plan_windows(oldest: IntArray, newest: IntArray, borders: IntArray, out: IntArray) -> int:
    """Fill `out` with steps (what, pane, window), unless it is empty; returns how many there are.

    Panes are those of all partitions in order of time, with the oldest and the newest window that holds each;
    `borders` are the first panes of the partitions.
    """
    n_steps = 0
    for partition in range(borders.size - 1):
        lo, stop = borders[partition], borders[partition + 1]
        hi, middle = lo, lo
        window = oldest[lo]
        while lo < stop:
            while lo < hi and newest[lo] < window:
                lo += 1
            if lo == hi:
                # Nothing is left of the windows before: the next pane begins anew.
                middle = hi
                if lo == stop:
                    break
                window = max(window, oldest[lo])
            while hi < stop and oldest[hi] <= window:
                n_steps = _add(n_steps, BEGIN if hi == middle else GROW, hi, window, out)
                hi += 1
            if newest[lo] < window:
                continue
            if lo >= middle:
                n_steps = _add(n_steps, KEEP, hi - 1, window, out)
                for pane in range(hi - 2, lo - 1, -1):
                    n_steps = _add(n_steps, PREPEND, pane, window, out)
                middle = hi
            n_steps = _add(n_steps, WINDOW_TIMES_RIGHT if hi > middle else WINDOW, lo, window, out)
            window += 1
    return n_steps


@njit(cache=True, nogil=True)
def _add(n_steps: int, what: int, pane: int, window: int, out: IntArray) -> int:
    if out.size:
        out[n_steps, 0] = what
        out[n_steps, 1] = pane
        out[n_steps, 2] = window
    return n_steps + 1
