"""Rows in the order of their codes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import count_codes, scatter_by_code
from eventide.runtime.threads import share_among_threads

_ROWS_PER_THREAD = 1 << 17
_AS_THEY_ARE = np.empty(0, dtype=np.int64)


def order_by_code(
    codes: IntArray, n_codes: int, order: IntArray | None = None, n_threads: int = 1
) -> tuple[IntArray, IntArray]:
    """A stable counting sort of the rows, as they are or in an `order`: all rows by code, and each code's borders.

    >>> rows, offsets = order_by_code(np.array([1, 0, 1]), 2)
    >>> rows.tolist(), offsets.tolist()
    ([1, 0, 2], [0, 1, 3])
    """
    order = _AS_THEY_ARE if order is None else order
    n_shares = max(1, min(n_threads, codes.size // _ROWS_PER_THREAD))
    shares = list(pairwise(np.linspace(0, codes.size, n_shares + 1).astype(np.int64).tolist()))
    counts = np.zeros((n_shares, n_codes), dtype=np.int64)
    rows = np.empty(codes.size, dtype=np.int64)
    share_among_threads(lambda i: count_codes(codes, order, *shares[i], counts[i]), range(n_shares))
    offsets = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    # Where each share writes its first row of each code: behind those of the shares before it.
    cursors = offsets[:-1] + np.cumsum(counts, axis=0) - counts
    share_among_threads(lambda i: scatter_by_code(codes, order, *shares[i], cursors[i], rows), range(n_shares))
    return rows, offsets
