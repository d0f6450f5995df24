"""Traffic and air quality, as in seed 003, Section 5.1.3: roads report every minute, air sensors every few minutes.

Every road segment reports how many cars passed (`Q`) and how fast they were (`V`). An air sensor reports `PM10`,
`PM2.5`, `Temp` and `Hum` every three, four or five minutes. Times are whole minutes, so many events have the same one.
Values are uniform in [0, 100) in steps of 0.01: a threshold of 1 keeps 1 % of a kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eventide.generate.columns import BLOCK_EVENTS, Blocks, Ints, cuts, streams, strings, timestamps
from eventide.generate.parameters import Checked, whole

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("id", pa.int32()),
        ("lat", pa.float64()),
        ("lon", pa.float64()),
        ("kind", pa.string()),
        ("value", pa.float64()),
    ]
)
KINDS = ("Q", "V", "PM10", "PM2.5", "Temp", "Hum")
_MINUTE_US = 60_000_000
_HOUR = 60  # minutes, which 3, 4 and 5 divide: after an hour the order of reports begins anew


@dataclass(frozen=True)
class Parameters(Checked):
    """Ids from 0 on are `segments` of roads; those after them are `sensors` of air."""

    segments: int = whole(2_500, 1, 2**24)
    sensors: int = whole(500, 0, 2**24)


def blocks(parameters: Parameters, events: int, seed: int, block_events: int = BLOCK_EVENTS) -> Blocks:
    """The reports in time order, those of a minute by id, `block_events` at a time.

    >>> block = next(blocks(Parameters(segments=2, sensors=0), events=4, seed=1))
    >>> block["id"].to_pylist(), block["kind"].to_pylist()
    ([0, 0, 1, 1], ['Q', 'V', 'Q', 'V'])
    """
    places, periods, values = streams(seed, 3)
    n_ids = parameters.segments + parameters.sensors
    lat = np.round(49.4 + 2.2 * places.random(n_ids), 5)
    lon = np.round(7.8 + 2.4 * places.random(n_ids), 5)
    minute, ids, kinds = _hour(parameters, periods)
    for first, n in cuts(events, block_events):
        number = np.arange(first, first + n)
        hour, place = number // minute.size, number % minute.size
        ts_us = parameters.start_us + (hour * _HOUR + minute[place]) * _MINUTE_US
        at = ids[place]
        columns = [
            timestamps(ts_us),
            pa.array(at.astype(np.int32)),
            pa.array(lat[at]),
            pa.array(lon[at]),
            strings(kinds[place], KINDS),
            pa.array(np.floor(values.random(n) * 10_000) / 100),
        ]
        yield pa.record_batch(columns, schema=SCHEMA)


def _hour(parameters: Parameters, random: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """The reports of an hour, in order: minute, id and kind of each."""
    n_roads, n_air = parameters.segments, parameters.sensors
    period = random.integers(3, 6, n_air)
    phase = random.integers(0, 60, n_air) % period
    minutes, ids, kinds = [], [], []
    for minute in range(_HOUR):
        due = n_roads + np.flatnonzero((minute - phase) % period == 0)
        minutes.append(np.full(2 * n_roads + 4 * due.size, minute))
        ids.append(np.concatenate([np.repeat(np.arange(n_roads), 2), np.repeat(due, 4)]))
        kinds.append(np.concatenate([np.tile([0, 1], n_roads), np.tile([2, 3, 4, 5], due.size)]))
    return np.concatenate(minutes), np.concatenate(ids), np.concatenate(kinds).astype(np.int64)
