"""The bare kernel for one pattern: SEQ(A, B, C) per key, skip-till-next, with `B.value > A.value`.

Events in time order go in, the number of matches and the sum of `C.ts - A.ts` come out. The kernel knows
nothing but this pattern: it is the limit for a general engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numba import njit

_NEVER = -(2**62)
_PIECE = 4096


@dataclass(frozen=True)
class Chain:
    """The pattern's constants: `A.value < a_below`, `B.value > b_above`, `C.value < c_below`, the window."""

    a_below: float
    b_above: float
    c_below: float
    window_us: int


class State(NamedTuple):
    """Runs by key: row k of the matrices holds key k's runs, `n_starts[k]` and `n_pairs[k]` of them.

    A start is an A waiting for its B, a pair an (A, B) waiting for its C. `done` is the time at which a run
    was extended: it stays for events tied with that one, and goes when a later one comes.
    """

    start_ts: np.ndarray
    start_value: np.ndarray
    start_done: np.ndarray
    n_starts: np.ndarray
    pair_start_ts: np.ndarray
    pair_ts: np.ndarray
    pair_done: np.ndarray
    n_pairs: np.ndarray


def new_state(n_keys: int, n_runs: int) -> State:
    """No runs; room for `n_runs` starts and pairs per key."""
    shape = (n_keys, n_runs)
    return State(
        np.zeros(shape, np.int64),
        np.zeros(shape, np.float64),
        np.zeros(shape, np.int64),
        np.zeros(n_keys, np.int64),
        np.zeros(shape, np.int64),
        np.zeros(shape, np.int64),
        np.zeros(shape, np.int64),
        np.zeros(n_keys, np.int64),
    )


@njit(cache=True, nogil=True)
def _step_chain(ts, key, kind, value, pattern, state, share, out):
    """Process events in time order; `share` = (i, n), n a power of 2, takes keys with `key % n == i`.

    `pattern` is (step by kind, bounds of the value by kind, window). False when a row of `state` is full.
    """
    step_of, above, below, window = pattern
    start_ts, start_value, start_done, n_starts, pair_start_ts, pair_ts, pair_done, n_pairs = state
    room = start_ts.shape[1]
    count, checksum = 0, 0
    kept_idx = np.empty(_PIECE, np.int64)
    for first in range(0, len(ts), _PIECE):
        # Which events count is random, and a branch on it would be mispredicted: collect them without one.
        n_kept = 0
        for i in range(first, min(first + _PIECE, len(ts))):
            code, v = kind[i], value[i]
            kept_idx[n_kept] = i
            n_kept += (above[code] < v) & (v < below[code]) & ((key[i] & (share[1] - 1)) == share[0])
        for j in range(n_kept):
            i = kept_idx[j]
            k, t, v = key[i], ts[i], value[i]
            step = step_of[kind[i]]
            if step == 0:
                n = n_starts[k]
                if n == room:
                    kept = 0
                    for r in range(n):
                        if t - start_ts[k, r] < window and (start_done[k, r] == _NEVER or start_done[k, r] == t):
                            start_ts[k, kept] = start_ts[k, r]
                            start_value[k, kept] = start_value[k, r]
                            start_done[k, kept] = start_done[k, r]
                            kept += 1
                    n = kept
                    if n == room:
                        return False
                start_ts[k, n] = t
                start_value[k, n] = v
                start_done[k, n] = _NEVER
                n_starts[k] = n + 1
            elif step == 1:
                kept = 0
                for r in range(n_starts[k]):
                    a_ts, a_value, done = start_ts[k, r], start_value[k, r], start_done[k, r]
                    if t - a_ts >= window or (done != _NEVER and done != t):
                        continue
                    if a_ts < t and v > a_value:
                        done = t
                        n = n_pairs[k]
                        if n == room:
                            left = 0
                            for p in range(n):
                                if t - pair_start_ts[k, p] < window and (
                                    pair_done[k, p] == _NEVER or pair_done[k, p] == t
                                ):
                                    pair_start_ts[k, left] = pair_start_ts[k, p]
                                    pair_ts[k, left] = pair_ts[k, p]
                                    pair_done[k, left] = pair_done[k, p]
                                    left += 1
                            n = left
                            if n == room:
                                return False
                        pair_start_ts[k, n] = a_ts
                        pair_ts[k, n] = t
                        pair_done[k, n] = _NEVER
                        n_pairs[k] = n + 1
                    start_ts[k, kept] = a_ts
                    start_value[k, kept] = a_value
                    start_done[k, kept] = done
                    kept += 1
                n_starts[k] = kept
            else:
                kept = 0
                for r in range(n_pairs[k]):
                    a_ts, b_ts, done = pair_start_ts[k, r], pair_ts[k, r], pair_done[k, r]
                    if t - a_ts >= window or (done != _NEVER and done != t):
                        continue
                    if b_ts < t:
                        done = t
                        count += 1
                        checksum += t - a_ts
                    pair_start_ts[k, kept] = a_ts
                    pair_ts[k, kept] = b_ts
                    pair_done[k, kept] = done
                    kept += 1
                n_pairs[k] = kept
    out[0] += count
    out[1] += checksum
    return True


def count_chains(
    chunks: Iterable[pa.RecordBatch], chain: Chain, *, n_keys: int, threads: int = 1, n_runs: int = 32
) -> tuple[int, int]:
    """Number of matches and sum of `C.ts - A.ts`; chunks hold (ts, key, kind, value), in time order.

    Keys are whole numbers below `n_keys`. When a key's runs find no room, all begins again with twice that.
    """
    chunks = [_arrays(chunk) for chunk in chunks]
    while True:
        state = new_state(n_keys, n_runs)
        out = np.zeros((threads, 2), np.int64)
        with ThreadPoolExecutor(threads) as pool:
            shares = [pool.submit(_run_share, chunks, chain, state, (i, threads), out[i]) for i in range(threads)]
            whole = all([share.result() for share in shares])
        if whole:
            return int(out[:, 0].sum()), int(out[:, 1].sum())
        n_runs *= 2


def _run_share(chunks: list, chain: Chain, state: State, share: tuple[int, int], out: np.ndarray) -> bool:
    for ts, key, kind, value, names in chunks:
        pattern = (*_bounds(chain, names), chain.window_us)
        if not _step_chain(ts, key, kind, value, pattern, tuple(state), share, out):
            return False
    return True


def _bounds(chain: Chain, names: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By code of the kind: its step and the open interval of its values, empty for kinds without a step."""
    steps = {
        "A": (0, -np.inf, chain.a_below),
        "B": (1, chain.b_above, np.inf),
        "C": (2, -np.inf, chain.c_below),
    }
    step, above, below = zip(*(steps.get(name, (3, np.inf, -np.inf)) for name in names), strict=True)
    return np.array(step, np.int64), np.array(above), np.array(below)


def _arrays(chunk: pa.RecordBatch) -> tuple:
    kind = chunk["kind"]
    if not pa.types.is_dictionary(kind.type):
        kind = kind.dictionary_encode()
    return (
        chunk["ts"].view(pa.int64()).to_numpy(),
        chunk["key"].to_numpy(),
        kind.indices.to_numpy(),
        chunk["value"].to_numpy(),
        kind.dictionary.to_pylist(),
    )
