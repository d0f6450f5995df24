"""Typed random events: a time, a key, a kind drawn with given probabilities, a value and a small number.

Keys, kinds and values are independent and uniform, so match counts of a pattern can be worked out by hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eventide.errors import InputError
from eventide.generate.columns import BLOCK_EVENTS, Blocks, cuts, passing_us, streams, strings, timestamps
from eventide.generate.parameters import Checked, check_share, share, whole

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("key", pa.int32()),
        ("kind", pa.string()),
        ("value", pa.float64()),
        ("n", pa.int32()),
    ]
)


@dataclass(frozen=True)
class Parameters(Checked):
    """`value` lies in [0, 100) in steps of 0.01, `n` in [0, 100).

    `probabilities` belong to `kinds` (equal when absent). Times differ, on average by `mean_gap_us`; only
    a share `ties` of the events has the time of the event before.
    """

    keys: int = whole(1000, 1, 2**31 - 1)
    kinds: tuple[str, ...] = ("A", "B", "C", "D")
    probabilities: tuple[float, ...] | None = None
    mean_gap_us: int = whole(1000, 1)
    ties: float = share(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.kinds, str) or not self.kinds or len(set(self.kinds)) < len(self.kinds):
            raise InputError(f"'kinds' must be one or more different names, found {self.kinds!r}")
        if self.probabilities is None:
            return
        if len(self.probabilities) != len(self.kinds):
            raise InputError(
                f"'probabilities' has {len(self.probabilities)} numbers for {len(self.kinds)} kinds",
                hint=f"give one for each of: {', '.join(self.kinds)}",
            )
        for probability in self.probabilities:
            check_share("probabilities", probability)
        if not math.isclose(sum(self.probabilities), 1.0, abs_tol=1e-9):
            raise InputError(f"'probabilities' must add up to 1, found {sum(self.probabilities):g}")


def blocks(parameters: Parameters, events: int, seed: int, block_events: int = BLOCK_EVENTS) -> Blocks:
    """The events in time order, `block_events` at a time.

    >>> block = next(blocks(Parameters(keys=3, kinds=("A", "B")), events=100, seed=1))
    >>> block.num_rows, sorted(set(block["kind"].to_pylist()))
    (100, ['A', 'B'])
    """
    n_kinds = len(parameters.kinds)
    shares = parameters.probabilities or (1 / n_kinds,) * n_kinds
    # The last bound is left out: a draw above all bounds is the last kind, whatever rounding did to the sum.
    bounds = np.cumsum(shares)[:-1]
    gaps, tie_draws, keys, kinds, values, numbers = streams(seed, 6)
    now_us = parameters.start_us
    for first, n in cuts(events, block_events):
        gap_us = 1 + (gaps.standard_exponential(n) * (parameters.mean_gap_us - 0.5)).astype(np.int64)
        gap_us = np.where(tie_draws.random(n) < parameters.ties, 0, gap_us)
        ts_us = passing_us(now_us, gap_us, is_first=first == 0)
        now_us = int(ts_us[-1])
        kind = np.searchsorted(bounds, kinds.random(n), side="right")
        columns = [
            timestamps(ts_us),
            pa.array((keys.random(n) * parameters.keys).astype(np.int32)),
            strings(kind, parameters.kinds),
            pa.array(np.floor(values.random(n) * 10_000) / 100),
            pa.array((numbers.random(n) * 100).astype(np.int32)),
        ]
        yield pa.record_batch(columns, schema=SCHEMA)
