"""Events to the slots of their panes."""

from __future__ import annotations

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray


@njit(cache=True, nogil=True)
def assign_slots(ts_us: IntArray, codes: IntArray, shape: IntArray, first: int, n_codes: int, slot: IntArray) -> None:
    """The slot of every event: pane by pane from `first` on, in each the groups by their codes.

    `shape` is (origin, slide, rest of a window behind its last whole slide). Neighbours mostly lie in one pane, so its
    borders are kept: a division takes longer than the rest.
    """
    origin, slide, rest = shape[0], shape[1], shape[2]
    lo, hi, base = 0, 0, 0
    for i in range(ts_us.size):
        at = ts_us[i] - origin
        if at < lo or at >= hi:
            whole = at // slide
            lo, hi = whole * slide, (whole + 1) * slide
            pane = whole
            if rest > 0:
                pane = 2 * whole
                if at - lo >= rest:
                    lo, pane = lo + rest, pane + 1
                else:
                    hi = lo + rest
            base = (pane - first) * n_codes
        slot[i] = base + codes[i]


@njit(cache=True, nogil=True)
def assign_sessions(
    order: IntArray, codes: IntArray, first_us: IntArray, last_us: IntArray, gap_us: int, slot: IntArray
) -> int:
    """The session of every row, rows taken in order of group and time; returns how many sessions there are."""
    n, code, last = 0, -1, 0
    for place in range(order.size):
        row = order[place]
        if codes[row] != code or first_us[row] - last >= gap_us:
            n += 1
            code, last = codes[row], last_us[row]
        last = max(last, last_us[row])
        slot[row] = n - 1
    return n
