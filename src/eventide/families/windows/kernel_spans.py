"""Which partial aggregates each window holds: a span of rows that are sorted by group and pane.

A pane is a stretch of time or of positions that no window cuts. Window k holds the panes from `k * per_slide` on,
`width` of them. `borders` are the first rows of the groups.
"""

from __future__ import annotations

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray


@njit(cache=True, nogil=True)
def find_spans(
    borders: IntArray, pane: IntArray, shape: IntArray, first: IntArray, stop: IntArray, out: IntArray
) -> int:
    """Fill `out` with (window, first row, row behind the last) of windows from `first` up to `stop` that hold a row.

    Both are given for each group. `shape` is (panes of a slide, panes of a window). Without room in `out` they are only
    counted. Returns how many.
    """
    per_slide, width = shape[0], shape[1]
    n = 0
    for group in range(borders.size - 1):
        lo, stop_row = borders[group], borders[group + 1]
        hi = lo
        window = first[group]
        while lo < stop_row:
            # The oldest window that holds the pane at `lo`: a slide may be longer than a window, never than its panes.
            oldest = -((width - 1 - pane[lo]) // per_slide)
            window = max(window, oldest)
            if window >= stop[group]:
                break
            begin, end = window * per_slide, window * per_slide + width
            while lo < stop_row and pane[lo] < begin:
                lo += 1
            hi = max(hi, lo)
            while hi < stop_row and pane[hi] < end:
                hi += 1
            if hi > lo:
                if out.size:
                    out[n, 0], out[n, 1], out[n, 2] = window, lo, hi
                n += 1
                window += 1
    return n


@njit(cache=True, nogil=True)
def find_growing_spans(
    borders: IntArray, pane: IntArray, steps: int, first: IntArray, stop: IntArray, out: IntArray
) -> int:
    """The same for windows that begin every `steps` panes, and end behind each of them: window k ends behind pane k."""
    n = 0
    for group in range(borders.size - 1):
        lo, stop_row = borders[group], borders[group + 1]
        hi = lo
        window = first[group]
        while lo < stop_row:
            window = max(window, pane[lo])
            if window >= stop[group]:
                break
            begin = window // steps * steps
            while lo < stop_row and pane[lo] < begin:
                lo += 1
            hi = max(hi, lo)
            while hi < stop_row and pane[hi] <= window:
                hi += 1
            if hi > lo:
                if out.size:
                    out[n, 0], out[n, 1], out[n, 2] = window, lo, hi
                n += 1
                window += 1
    return n
