"""Hashes of bindings: the events of a match with the symbols they are bound to, whatever order ties have."""

from __future__ import annotations

import numpy as np

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import HashArray, IntArray
from eventide.runtime.kernels.hashing import mix

_PRIME = np.uint64(0x100000001B3)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def hash_bindings(events: HashArray, rows: IntArray, symbols: IntArray, ends: IntArray, out: HashArray) -> None:
    """`out[k, i]`: two hashes of match i, whose entries end at `ends[i]`; `events` are the hashes of all rows."""
    for k in range(2):
        start = 0
        for i in range(ends.size):
            total = np.uint64(ends[i] - start)
            for j in range(start, ends[i]):
                bound = mix(np.uint64(symbols[j]) * _GOLDEN + np.uint64(k) + _PRIME)
                total += mix(bound * _PRIME + events[rows[j]])
            out[k, i] = mix(total + _GOLDEN)
            start = ends[i]
