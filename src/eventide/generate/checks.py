"""Check deposits between banks, among them circular check kites; seed 002, Sections 1.1 and 8.1 (data set FT).

Uncovered checks come in rings. In every second each ring deposits `compatibility` of them from its bank of that
second into its bank of the next one, so each continues exactly the ring's checks of the second before: Example 3.2,
where the number of trends is largest. Covered checks go between any two banks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eventide.errors import InputError
from eventide.generate.columns import BLOCK_EVENTS, Blocks, cuts, second_us, streams, strings, timestamps
from eventide.generate.parameters import Checked, share, whole

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("source", pa.int32()),
        ("destination", pa.int32()),
        ("amount", pa.float64()),
        ("status", pa.string()),
    ]
)
STATUS = ("covered", "uncovered")


@dataclass(frozen=True)
class Parameters(Checked):
    """`rate` checks in every second, a share `selectivity` of them uncovered; `ts` in whole seconds.

    The seed's values: `rate` 3500 and `compatibility` 3, for three days. It names no selectivity, no banks and no
    amounts: here three of ten checks are uncovered, a ring is a circle of `circle` banks of its own, and amounts are
    uniform from 100.00 to 10,000.00. There are `rate * selectivity / compatibility` rings, rounded down.

    In a window of n seconds, n <= `circle`, the trends `C+` with `C.destination = NEXT(C).source` are per ring and
    with c for `compatibility` n * c + (n - 1) * c^2 + ... + c^n in number, of which c^n are complete. After `circle`
    seconds a ring is back at its first bank, and old checks are continued again.
    """

    rate: int = whole(3500, 1, 1_000_000_000)
    compatibility: int = whole(3, 1, 1_000_000_000)
    selectivity: float = share(0.3)
    circle: int = whole(3600, 2, 1_000_000_000)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.banks > 2**31:
            raise InputError(
                f"{self.rings} rings of {self.circle} banks are more than 2^31 banks", hint="lower 'circle' or 'rate'"
            )

    @property
    def rings(self) -> int:
        """How many rings write uncovered checks."""
        # A hair more than the product, which may fall short of a whole number: 0.29 * 100.
        return int(self.rate * self.selectivity * (1 + 1e-12)) // self.compatibility

    @property
    def banks(self) -> int:
        """Banks are numbered from 0; the first `circle` ones are the first ring's, and so on."""
        return max(self.rings, 1) * self.circle


def blocks(parameters: Parameters, events: int, seed: int, block_events: int = BLOCK_EVENTS) -> Blocks:
    """The checks in time order, `block_events` at a time.

    >>> block = next(blocks(Parameters(rate=1, compatibility=1, selectivity=1, circle=3), events=4, seed=1))
    >>> list(zip(block["source"].to_pylist(), block["destination"].to_pylist()))
    [(0, 1), (1, 2), (2, 0), (0, 1)]
    """
    banks, rings, rate, circle = parameters.banks, parameters.rings, parameters.rate, parameters.circle
    sources, distances, amounts, setup = streams(seed, 4)
    first_bank = (setup.random(max(rings, 1)) * circle).astype(np.int64)
    n_uncovered = rings * parameters.compatibility
    begin_us = parameters.start_us
    for first, n in cuts(events, block_events):
        second, place = np.divmod(np.arange(first, first + n), rate)
        # The uncovered checks are spread evenly over the places of a second, and go to the rings in turn.
        before = place * n_uncovered // rate
        uncovered = (place + 1) * n_uncovered // rate > before
        ring = before % max(rings, 1)
        step = (first_bank[ring] + second) % circle
        source = (sources.random(n) * banks).astype(np.int64)
        destination = (source + 1 + (distances.random(n) * (banks - 1)).astype(np.int64)) % banks
        source = np.where(uncovered, ring * circle + step, source)
        destination = np.where(uncovered, ring * circle + (step + 1) % circle, destination)
        columns = [
            timestamps(begin_us + second_us(first, n, rate)),
            pa.array(source.astype(np.int32)),
            pa.array(destination.astype(np.int32)),
            pa.array(np.round(100 + amounts.random(n) * 9_900, 2)),
            strings(uncovered.astype(np.int8), STATUS),
        ]
        yield pa.record_batch(columns, schema=SCHEMA)
