"""Partitions shared out among threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from eventide.runtime.kernels.arrays import IntArray


def share_out(offsets: IntArray, n_shares: int) -> list[tuple[int, int]]:
    """Ranges of partitions with about the same number of events each."""
    n_partitions = offsets.size - 1
    wanted = np.linspace(0, offsets[-1], n_shares + 1)[1:-1]
    borders = [0, *np.searchsorted(offsets, wanted).tolist(), n_partitions]
    return [(a, b) for a, b in pairwise(borders) if a < b]
