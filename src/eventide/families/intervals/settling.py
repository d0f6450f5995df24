"""Events that close what is open, whatever it is, and open nothing: behind one of them, nothing is open."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from eventide.families.intervals.kernel import ALLOWED, ENDS, EXCLUDED, STARTS
from eventide.families.intervals.spec import RUNS, IntervalSpec
from eventide.runtime.kernels.arrays import BoolArray, IntArray


def why_not_settled(spec: IntervalSpec) -> str | None:
    """Why there may be no such event; None where there are some."""
    return None if spec.is_masked else "no event alone ends a run: the condition is about the run only"


def settles(spec: IntervalSpec, mask: IntArray) -> BoolArray:
    """Which events do so, by their masks."""
    if spec.kind == RUNS:
        is_settled: BoolArray = mask & ALLOWED == 0
    else:
        is_settled = (mask & EXCLUDED != 0) | (mask & (STARTS | ENDS) == ENDS)
    return is_settled


def stretches(
    spec: IntervalSpec, mask: IntArray, order: IntArray, n_events: int, n_stretches: int
) -> list[tuple[int, int]]:
    """Positions of one partition's events in about equal stretches, each but the last with such an event at its end.

    An empty order is 0, 1, 2, ...
    """
    if n_stretches < 2 or why_not_settled(spec) is not None:
        return [(0, n_events)]
    borders = [0]
    for low, high in pairwise(np.linspace(0, n_events, n_stretches + 1).astype(np.int64)[1:].tolist()):
        found = np.flatnonzero(settles(spec, mask[order[low:high]] if order.size else mask[low:high]))
        if found.size:
            borders.append(low + int(found[0]) + 1)
    return [(low, high) for low, high in pairwise([*borders, n_events]) if low < high] or [(0, n_events)]
