"""64-bit hashes of column values, the same on every machine and in every release.

Used to spread partitions over buckets (the count is fixed by a stream's first checkpoint) and for `match_id`.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import BoolArray, ByteArray, HashArray, IntArray

_NULL = np.uint64(0x9AE16A3B2F90404F)
_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def mix(value: np.uint64) -> np.uint64:
    """The finaliser of splitmix64."""
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def hash_integers(values: IntArray, valid: BoolArray, out: HashArray) -> None:
    """Fold one integer column into the row hashes in `out`."""
    for i in range(values.size):
        item = np.uint64(values[i]) if valid[i] else _NULL
        out[i] = mix(out[i] * _PRIME + mix(item + _GOLDEN))


@njit(cache=True, nogil=True)
def hash_strings(offsets: IntArray, data: ByteArray, valid: BoolArray, out: HashArray) -> None:
    """Fold one column of byte strings (Arrow offsets and data) into the row hashes in `out`."""
    for i in range(valid.size):
        item = _NULL
        if valid[i]:
            item = _BASIS
            for j in range(offsets[i], offsets[i + 1]):
                item = (item ^ np.uint64(data[j])) * _PRIME
        out[i] = mix(out[i] * _PRIME + mix(item + _GOLDEN))


@njit(cache=True, nogil=True)
def hash_matches(events: HashArray, rows: IntArray, seed: np.uint64, out: HashArray) -> None:
    """Hash of the events bound by each match: `rows` is (n_matches, n_steps), `out` is (n_matches,)."""
    for i in range(rows.shape[0]):
        item = seed
        for k in range(rows.shape[1]):
            item = mix(item * _PRIME + events[rows[i, k]])
        out[i] = item


@njit(cache=True, nogil=True)
def assign_buckets(hashes: HashArray, n_buckets: int, out: IntArray) -> None:
    """`out[i]` = bucket of row i."""
    for i in range(hashes.size):
        out[i] = np.int64((hashes[i] >> np.uint64(11)) % np.uint64(n_buckets))
