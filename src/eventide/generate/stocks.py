"""Stock ticks: every symbol's price is a random walk in small steps, some trade more often than others.

A tick moves the logarithm of its symbol's price by a normal step of 0.05 %; walks are whole numbers of a
millionth, so that cutting the ticks into blocks changes no digit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eventide.generate.columns import BLOCK_EVENTS, Blocks, Ints, cuts, passing_us, streams, strings, timestamps
from eventide.generate.parameters import Checked, whole

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("symbol", pa.string()),
        ("sector", pa.string()),
        ("price", pa.float64()),
        ("volume", pa.int64()),
    ]
)
SECTORS = ("energy", "finance", "health", "industry", "materials", "retail", "technology", "utilities")

_STEP = 500  # standard deviation of one tick, in millionths of the logarithm of the price


@dataclass(frozen=True)
class Parameters(Checked):
    """`symbols` names S0000, S0001, ...; the i-th trades in proportion to `1 / sqrt(i + 1)`."""

    symbols: int = whole(100, 1, 1_000_000)
    mean_gap_us: int = whole(10_000, 1)


def blocks(parameters: Parameters, events: int, seed: int, block_events: int = BLOCK_EVENTS) -> Blocks:
    """The ticks in time order, `block_events` at a time.

    >>> block = next(blocks(Parameters(symbols=2), events=100, seed=1))
    >>> sorted(set(block["symbol"].to_pylist()))
    ['S0000', 'S0001']
    """
    gaps, picks, steps, sizes, opening = streams(seed, 5)
    n_symbols = parameters.symbols
    names = [f"S{i:04d}" for i in range(n_symbols)]
    weights = 1 / np.sqrt(np.arange(1, n_symbols + 1))
    bounds = np.cumsum(weights / weights.sum())[:-1]
    # The walk of a symbol starts at the logarithm of its opening price, between 10 and 500.
    walks = (1e6 * (np.log(10) + opening.random(n_symbols) * np.log(50))).astype(np.int64)
    sectors = np.arange(n_symbols) % len(SECTORS)
    now_us = parameters.start_us
    for first, n in cuts(events, block_events):
        gap_us = 1 + (gaps.standard_exponential(n) * (parameters.mean_gap_us - 0.5)).astype(np.int64)
        ts_us = passing_us(now_us, gap_us, is_first=first == 0)
        now_us = int(ts_us[-1])
        symbol = np.searchsorted(bounds, picks.random(n), side="right")
        walk = _advance_walks(walks, symbol, (steps.standard_normal(n) * _STEP).astype(np.int64))
        columns = [
            timestamps(ts_us),
            strings(symbol, names),
            strings(sectors[symbol], SECTORS),
            pa.array(np.maximum(np.round(np.exp(walk / 1e6), 2), 0.01)),
            pa.array(1 + (sizes.standard_exponential(n) * 300).astype(np.int64)),
        ]
        yield pa.record_batch(columns, schema=SCHEMA)


def _advance_walks(walks: Ints, symbol: Ints, steps: Ints) -> Ints:
    """Positions after each step, each step on its symbol's walk; `walks` is moved to the last positions."""
    order = np.argsort(symbol, kind="stable")
    in_order = symbol[order]
    sums = np.cumsum(steps[order])
    counts = np.bincount(symbol, minlength=len(walks))
    ends = np.cumsum(counts)
    before = np.concatenate(([0], sums))[ends - counts]
    position = np.empty_like(sums)
    position[order] = walks[in_order] + sums - before[in_order]
    walks += np.concatenate(([0], sums))[ends] - before
    return position
