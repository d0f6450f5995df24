"""Physical activity: every person reports activity, heart rate and temperature once a second.

In the shape of data set PA of seed 002, Sections 8.1 and 19.1, for the query on heart rates of Section 1.1: in 75
minutes each person goes through all activities, in an order of their own. The heart rate follows the activity and
swings with the breath; in some passive activities it surges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eventide.generate.columns import BLOCK_EVENTS, Blocks, Drawn, Floats, Ints, streams, strings, timestamps
from eventide.generate.parameters import Checked, share, whole

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("person", pa.int32()),
        ("activity", pa.string()),
        ("effort", pa.string()),
        ("rate", pa.float64()),
        ("temperature", pa.float64()),
    ]
)
EFFORTS = ("passive", "active")
# Heart rates in beats per minute.
PASSIVE = {
    "lying": 60,
    "sitting": 65,
    "standing": 75,
    "ironing": 85,
    "folding laundry": 82,
    "watching TV": 62,
    "computer work": 68,
    "driving": 72,
}
ACTIVE = {
    "walking": 100,
    "Nordic walking": 115,
    "running": 155,
    "cycling": 125,
    "climbing stairs": 130,
    "descending stairs": 110,
    "vacuum cleaning": 105,
    "house cleaning": 108,
    "soccer": 150,
    "rope jumping": 165,
}
ACTIVITIES = (*PASSIVE, *ACTIVE)
ACTIVITY_S = 250
SESSION_S = ACTIVITY_S * len(ACTIVITIES)
SURGE_S = 30

_RATES = np.array([*PASSIVE.values(), *ACTIVE.values()], dtype=np.float64)
_SETTLE_S = 20  # after so long, a third of the way to the new activity's heart rate is left
_SURGE_PER_S = 2.0
_BREATH = 1.2  # half the swing: with the noise less than a surge gains, so that a surge is one rise
_NOISE = 0.2
_NEVER_S = 10 * ACTIVITY_S


@dataclass(frozen=True)
class Parameters(Checked):
    """14 `persons`; `rate` in beats per minute in steps of 0.1, `temperature` in degrees Celsius.

    The seed's values: 14 persons for 1 hour 15 minutes, hence 63,000 reports; 18 activities (19.1; 20 in 8.1), active
    or passive; `ts` in whole seconds. It names neither all activities nor any heart rate. Here, a passive activity has
    a surge with the share `surges`: the heart rate rises with every report for 30 s, by about 60 in all, and falls
    again. Nothing else makes the rate of passive reports rise by 40 or more without a fall.
    """

    persons: int = whole(14, 1, 1_000_000)
    surges: float = share(0.2)


class _Sessions:
    """What every person does in each session."""

    def __init__(self, parameters: Parameters, orders: np.random.Generator, surges: np.random.Generator) -> None:
        self._parameters, self._orders, self._surges = parameters, orders, surges
        self._drawn = Drawn(self._draw)

    def window(self, first_idx: int, last_idx: int) -> tuple[Ints, Ints]:
        """Activity, and second at which its surge begins, by place and person."""
        held = self._drawn.window(first_idx, last_idx)
        return np.concatenate([activity for activity, _ in held]), np.concatenate([surge_s for _, surge_s in held])

    def _draw(self) -> tuple[Ints, Ints]:
        shape = (len(ACTIVITIES), self._parameters.persons)
        activity = np.argsort(self._orders.random(shape), axis=0)
        u = self._surges.random((2, *shape))
        surges = (activity < len(PASSIVE)) & (u[0] < self._parameters.surges)
        # Late enough for the rate to have settled, early enough for it to come down again.
        return activity, np.where(surges, 120 + (u[1] * 50).astype(np.int64), _NEVER_S)


def blocks(parameters: Parameters, events: int, seed: int, block_events: int = BLOCK_EVENTS) -> Blocks:
    """The reports in time order, and by person within a second; whole seconds of about `block_events` reports.

    >>> block = next(blocks(Parameters(persons=2), events=5, seed=1))
    >>> block["person"].to_pylist()
    [0, 1, 0, 1, 0]
    """
    n_persons = parameters.persons
    orders, surges, noise, warmth, setup = streams(seed, 5)
    sessions = _Sessions(parameters, orders, surges)
    own_rate = setup.random(n_persons) * 10 - 5
    breath_s = 8 + setup.random(n_persons) * 6
    begin_us = parameters.start_us
    n_seconds = -(-events // n_persons)
    seconds_per_block = max(1, block_events // n_persons)
    for first in range(0, n_seconds, seconds_per_block):
        second = np.arange(first, min(first + seconds_per_block, n_seconds))
        activity, rate = _rates(sessions, second)
        rate += own_rate + _BREATH * np.sin(2 * np.pi * second[:, None] / breath_s)
        rate = np.round(rate + _NOISE * (2 * noise.random(rate.shape) - 1), 1)
        temperature = 36.5 + (rate - 60) / 100 + 0.1 * warmth.random(rate.shape)
        n = min(rate.size, events - first * n_persons)
        columns = [
            timestamps(np.repeat(begin_us + second * 1_000_000, n_persons)[:n]),
            pa.array(np.tile(np.arange(n_persons, dtype=np.int32), len(second))[:n]),
            strings(activity.reshape(-1)[:n], ACTIVITIES),
            strings((activity >= len(PASSIVE)).reshape(-1)[:n].astype(np.int8), EFFORTS),
            pa.array(rate.reshape(-1)[:n]),
            pa.array(np.round(temperature, 2).reshape(-1)[:n]),
        ]
        yield pa.record_batch(columns, schema=SCHEMA)


def _rates(sessions: _Sessions, second: Ints) -> tuple[Ints, Floats]:
    """Activity, and heart rate before what is a person's own, by second and person."""
    place, clock = np.divmod(second, ACTIVITY_S)
    # The very first activity follows itself.
    before = np.maximum(place - 1, 0)
    first_idx, last_idx = before[0] // len(ACTIVITIES), place[-1] // len(ACTIVITIES)
    activities, surges_s = sessions.window(int(first_idx), int(last_idx))
    place, before = place - first_idx * len(ACTIVITIES), before - first_idx * len(ACTIVITIES)
    activity = activities[place]
    rate = _RATES[activity]
    rate = rate + (_RATES[activities[before]] - rate) * np.exp(-clock / _SETTLE_S)[:, None]
    since_s = clock[:, None] - surges_s[place]
    return activity, rate + _SURGE_PER_S * np.maximum(np.minimum(since_s, 2 * SURGE_S - since_s), 0)
