"""Road traffic in the manner of Linear Road: every car reports its place and speed once a second.

A car lives through episodes of one minute: a free drive, a jam, a stop, a hard brake or a sprint. An
episode is three ramps between speeds, so the speed at any second follows from its episode alone. Speeds are
whole hundredths of a mile per hour, distances their sums: cutting the reports into blocks changes no digit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eventide.generate.columns import BLOCK_EVENTS, Blocks, Drawn, Floats, Ints, streams, timestamps
from eventide.generate.parameters import Checked, whole

SCHEMA = pa.schema(
    [
        ("car_id", pa.int32()),
        ("ts", pa.timestamp("us")),
        ("expressway", pa.int32()),
        ("lane", pa.int32()),
        ("direction", pa.int32()),
        ("segment", pa.int32()),
        ("position", pa.float64()),
        ("speed", pa.float64()),
        ("accel", pa.float64()),
    ]
)
EPISODE_S = 60
N_SEGMENTS = 100
SEGMENT_FEET = 5280

_ROAD_FEET = N_SEGMENTS * SEGMENT_FEET
_FEET_PER_STEP = SEGMENT_FEET / 3600 / 100  # one second at a hundredth of a mile per hour
_N_DRAWS = 9
_SHARES = (0.03, 0.03, 0.02)  # of stops, hard brakes, sprints; the rest drives, or stands in a jam
_JAM_SHARE = 0.10  # of the minutes of one direction of an expressway
_JAMMED_CARS = 0.7  # of the cars there in such a minute


@dataclass(frozen=True)
class Parameters(Checked):
    """Cars on `expressways` roads of 100 one-mile segments; `speed` in mph, `accel` in mph per second, feet.

    Rates, per car and hour: 1.2 sprints, each `accel > 8` for 5 or 6 s, overlapping `speed > 70` for 5 to
    30 s, with `accel < -9` for 3 or 4 s at its end; 1.8 hard brakes, `accel < -9` for 3 to 5 s; 1.8 stops of
    10 to 25 s below 1 mph. Jams take about 4 of the 60 minutes, at 8 to 25 mph. Free drives go at 41 to
    76 mph; with them `speed > 70` for 4 to 30 s happens about 9 times.
    """

    cars: int = whole(1000, 1, 10_000_000)
    expressways: int = whole(4, 1, 10_000)


@dataclass(frozen=True)
class _Episodes:
    """One minute of every car: ramp k starts at `starts[k]`, lasts `lengths[k]` s, leads to `speeds[k]`."""

    starts: Floats
    lengths: Floats
    speeds: Floats
    lane: Ints


class _Traffic:
    """The cars, and their episodes in order."""

    def __init__(self, parameters: Parameters, draws: np.random.Generator, setup: np.random.Generator) -> None:
        n = parameters.cars
        self.expressway = (setup.random(n) * parameters.expressways).astype(np.int64)
        self.direction = (setup.random(n) * 2).astype(np.int64)
        self.start_feet = setup.random(n) * _ROAD_FEET
        # Cars begin their minutes at different seconds.
        self.offset = (setup.random(n) * EPISODE_S).astype(np.int64)
        self._road = self.expressway * 2 + self.direction
        self._n_roads = parameters.expressways * 2
        self._draws = draws
        self.episodes = Drawn(self._draw)

    def _draw(self) -> _Episodes:
        n = len(self.offset)
        jam = self._draws.random(self._n_roads) < _JAM_SHARE
        u = self._draws.random((_N_DRAWS, n))
        kind = np.searchsorted(np.cumsum(_SHARES), u[0], side="right")
        jammed = (kind == 3) & jam[self._road] & (u[1] < _JAMMED_CARS)
        # A free drive: two gentle changes of speed.
        starts = np.stack([u[2] * 4, 20 + u[3] * 4, 40 + u[4] * 4])
        lengths = np.stack([10 + u[5] * 5, 10 + u[6] * 5, 10 + u[7] * 5])
        free = 45 + 27 * u[6]
        speeds = np.stack([free, free - 4 + 8 * u[7], 45 + 27 * u[8]])
        speeds[:2, jammed] = np.stack([8 + 17 * u[7], 8 + 17 * u[3]])[:, jammed]

        stop = kind == 0
        speeds[:2, stop] = 0
        starts[2, stop] = 25 + 10 * u[4, stop]

        brake = kind == 1
        seconds = 3 + np.floor(u[5] * 3)
        starts[2] = np.where(brake, np.floor(starts[2]), starts[2])
        lengths[2] = np.where(brake, seconds, lengths[2])
        speeds[:2, brake] = 60 + 8 * u[6, brake]
        speeds[2] = np.where(brake, speeds[1] - seconds * (9.6 + 1.5 * u[8]), speeds[2])

        # A sprint: slow down, accelerate for 5 or 6 s past 70 mph, hold, brake hard. Whole seconds, so that
        # every report inside a ramp shows the ramp's full acceleration.
        sprint = kind == 2
        up_s, down_s = 5 + np.floor(u[5] * 2), 3 + np.floor(u[6] * 2)
        rate = 8.5 + 1.5 * u[7]
        top = 74 + 6 * u[8]
        starts[:, sprint] = np.stack([0 * top, 20 + up_s * 0, 20 + up_s + 6 + np.floor(u[3] * 20)])[:, sprint]
        lengths[:, sprint] = np.stack([18 + 0 * top, up_s, down_s])[:, sprint]
        down = top - down_s * (9.6 + 1.5 * u[4])
        speeds[:, sprint] = np.stack([top - rate * up_s, top, down])[:, sprint]
        return _Episodes(starts, lengths, speeds, 1 + (u[1] * 3).astype(np.int64))


def blocks(parameters: Parameters, events: int, seed: int, block_events: int = BLOCK_EVENTS) -> Blocks:
    """The reports in time order, and by car within a second; whole seconds of about `block_events` reports.

    >>> block = next(blocks(Parameters(cars=2), events=5, seed=1))
    >>> block["car_id"].to_pylist()
    [0, 1, 0, 1, 0]
    """
    n_cars = parameters.cars
    draws, noise, setup = streams(seed, 3)
    traffic = _Traffic(parameters, draws, setup)
    begin_us = parameters.start_us
    seconds_per_block = max(1, block_events // n_cars)
    travelled = np.zeros(n_cars, dtype=np.int64)
    before: Ints | None = None
    for first in range(0, -(-events // n_cars), seconds_per_block):
        second = np.arange(first, min(first + seconds_per_block, -(-events // n_cars)))
        speed, lane = _speeds(traffic, second)
        speed += noise.random(speed.shape) * 0.3 - 0.15
        steps = np.maximum(np.round(speed * 100), 0).astype(np.int64)
        accel = np.diff(steps, axis=0, prepend=steps[:1] if before is None else before[None])
        before = steps[-1]
        distance = travelled + np.cumsum(steps, axis=0)
        travelled = distance[-1]
        forward = np.where(traffic.direction == 0, _FEET_PER_STEP, -_FEET_PER_STEP)
        position = (traffic.start_feet + distance * forward) % _ROAD_FEET
        shape = steps.shape
        columns = [
            np.broadcast_to(np.arange(n_cars), shape),
            np.broadcast_to((begin_us + second * 1_000_000)[:, None], shape),
            np.broadcast_to(traffic.expressway, shape),
            lane,
            np.broadcast_to(traffic.direction, shape),
            np.minimum(position // SEGMENT_FEET, N_SEGMENTS - 1),
            np.round(position, 1),
            steps / 100,
            accel / 100,
        ]
        n = min(steps.size, events - first * n_cars)
        yield pa.record_batch([_column(c, f, n) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def _speeds(traffic: _Traffic, second: Ints) -> tuple[Floats, Ints]:
    """Speed before noise and lane, by second and car."""
    n_cars = len(traffic.offset)
    # Episode 0 only gives the speed at which the first minute begins.
    first_idx, last_idx = int(second[0]) // EPISODE_S, int(second[-1] + EPISODE_S - 1) // EPISODE_S + 1
    window = traffic.episodes.window(first_idx, last_idx)
    clock = second[:, None] + traffic.offset
    episode_idx = clock // EPISODE_S + 1 - first_idx
    clock = clock % EPISODE_S
    starts = np.stack([episode.starts for episode in window])
    lengths = np.stack([episode.lengths for episode in window])
    speeds = np.stack([episode.speeds for episode in window])
    lanes = np.stack([episode.lane for episode in window])
    car = np.broadcast_to(np.arange(n_cars), clock.shape)
    speed = speeds[episode_idx - 1, 2, car]
    level = speed
    for k in range(3):
        target = speeds[episode_idx, k, car]
        share = (clock - starts[episode_idx, k, car]) / lengths[episode_idx, k, car]
        speed = speed + (target - level) * np.clip(share, 0, 1)
        level = target
    return speed, lanes[episode_idx, car]


def _column(values: Ints | Floats, field: pa.Field, n: int) -> pa.Array:
    flat = values.reshape(-1)[:n]
    if field.name == "ts":
        return timestamps(flat.astype(np.int64))
    return pa.array(flat.astype(field.type.to_pandas_dtype()))
