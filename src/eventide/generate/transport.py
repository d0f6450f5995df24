"""Public transport: passengers on trips from station to station, waiting at each; seed 002, Section 19.1.

A trip is an Enter, any number of Changes and an Exit, each at another station; the next trip starts where the last one
ended. The legs of all passengers have the same length: arrivals fall into its first half, waiting ends before the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eventide.generate.columns import BLOCK_EVENTS, Blocks, Floats, Ints, streams, strings, timestamps
from eventide.generate.parameters import Checked, share, whole

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("type", pa.string()),
        ("passenger", pa.int32()),
        ("trip", pa.int32()),
        ("station", pa.int32()),
        ("waiting", pa.int32()),
    ]
)
TYPES = ("Enter", "Change", "Exit")
ENTER, CHANGE, EXIT = range(3)


@dataclass(frozen=True)
class Parameters(Checked):
    """`waiting` is uniform from 0 to `max_waiting` seconds; a stop after the first is the last with share `exits`.

    The seed's values: 30 `passengers`, 100 `stations`, waiting uniform, `ts` in whole seconds. It names no rate, no
    longest waiting and no length of trips: here a passenger reports once in `2 * (max_waiting + 1)` seconds, and
    trips have 5 stops on average. `trip` counts a passenger's trips from 0.
    """

    passengers: int = whole(30, 1, 10_000_000)
    stations: int = whole(100, 2, 2**31 - 1)
    max_waiting: int = whole(60, 0, 86_400)
    exits: float = share(0.25)


class _Trips:
    """Where every passenger is in a trip, from one block of legs to the next."""

    def __init__(self, parameters: Parameters, setup: np.random.Generator) -> None:
        n = parameters.passengers
        self._parameters = parameters
        self._station = (setup.random(n) * parameters.stations).astype(np.int64)
        self._trip = np.full(n, -1, dtype=np.int64)
        self._exited = np.ones(n, dtype=bool)
        # Leg -1 counts as an exit, the first one after a stay: the stay was leg -2, and leg 0 enters.
        self._last_stay = np.full(n, -2, dtype=np.int64)

    def advance(self, first: int, exit_draws: Floats, step_draws: Floats) -> tuple[Ints, Ints, Ints]:
        """Type, trip and station by leg and passenger, for the legs `first`, `first + 1`, ..."""
        leg = first + np.arange(len(exit_draws))[:, None]
        drawn = exit_draws < self._parameters.exits
        # An exit is followed by an enter, whatever is drawn for it: of exits drawn in a row every second one counts.
        stays = np.maximum.accumulate(np.where(drawn, self._last_stay, leg), axis=0)
        exits = drawn & ((leg - stays) % 2 == 1)
        enters = np.concatenate((self._exited[None], exits[:-1]))
        trip = self._trip + np.cumsum(enters, axis=0)
        steps = 1 + (step_draws * (self._parameters.stations - 1)).astype(np.int64)
        station = (self._station + np.cumsum(np.where(enters, 0, steps), axis=0)) % self._parameters.stations
        self._last_stay, self._exited, self._trip, self._station = stays[-1], exits[-1], trip[-1], station[-1]
        return np.where(enters, ENTER, np.where(exits, EXIT, CHANGE)), trip, station


def blocks(parameters: Parameters, events: int, seed: int, block_events: int = BLOCK_EVENTS) -> Blocks:
    """The stops in time order, and by passenger within a second; whole legs of about `block_events` stops.

    >>> block = next(blocks(Parameters(passengers=1, exits=1), events=3, seed=1))
    >>> block["type"].to_pylist(), block["trip"].to_pylist()
    (['Enter', 'Exit', 'Enter'], [0, 0, 1])
    """
    arrivals, waits, exit_draws, step_draws, setup = streams(seed, 5)
    n_passengers, half_s = parameters.passengers, parameters.max_waiting + 1
    trips = _Trips(parameters, setup)
    begin_us = parameters.start_us
    n_legs = -(-events // n_passengers)
    legs_per_block = max(1, block_events // n_passengers)
    for first in range(0, n_legs, legs_per_block):
        shape = (min(legs_per_block, n_legs - first), n_passengers)
        kind, trip, station = trips.advance(first, exit_draws.random(shape), step_draws.random(shape))
        second = (arrivals.random(shape) * half_s).astype(np.int64)
        if first == 0:
            second[0, 0] = 0
        second += 2 * half_s * (first + np.arange(shape[0]))[:, None]
        waiting = (waits.random(shape) * half_s).astype(np.int64)
        passenger = np.broadcast_to(np.arange(n_passengers), shape)
        # No leg reaches into the next one, so sorting all of them keeps each together.
        order = np.argsort(second, axis=None, kind="stable")[: events - first * n_passengers]
        columns = [
            timestamps(begin_us + second.reshape(-1)[order] * 1_000_000),
            strings(kind.reshape(-1)[order], TYPES),
            *(pa.array(c.reshape(-1)[order].astype(np.int32)) for c in (passenger, trip, station, waiting)),
        ]
        yield pa.record_batch(columns, schema=SCHEMA)
