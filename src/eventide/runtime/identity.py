"""`match_id`: a stable hash of query, partition and bound events, for idempotent sinks."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from eventide.runtime.hashes import hash_rows
from eventide.runtime.kernels.arrays import HashArray, IntArray
from eventide.runtime.kernels.hashing import hash_matches

_HEX = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)


def match_ids(events: HashArray, rows: IntArray, query: str, window_start: IntArray | None) -> pa.Array:
    """32 hexadecimal digits per match; equal events give equal ids on every engine and in every run.

    `events` are the hashes of all events by row, `rows` (n_matches, n_steps) those that each match binds.
    """
    seeds = np.frombuffer(hashlib.sha256(query.encode()).digest()[:16], dtype="<u8").astype(np.uint64)
    halves = np.empty((rows.shape[0], 2), dtype=np.uint64)
    for i in range(2):
        half = np.empty(rows.shape[0], dtype=np.uint64)
        hash_matches(events, rows, seeds[i], half)
        if window_start is not None:
            table = pa.table({"window_start": window_start, "half": half.view(np.int64)})
            half = hash_rows(table, ["window_start", "half"])
        halves[:, i] = half
    octets = halves.astype(">u8").view(np.uint8).reshape(rows.shape[0], 16)
    digits = np.empty((rows.shape[0], 32), dtype=np.uint8)
    digits[:, 0::2] = _HEX[octets >> 4]
    digits[:, 1::2] = _HEX[octets & 15]
    offsets = np.arange(0, 32 * (rows.shape[0] + 1), 32, dtype=np.int32)
    return pa.StringArray.from_buffers(rows.shape[0], pa.py_buffer(offsets), pa.py_buffer(digits.tobytes()))
