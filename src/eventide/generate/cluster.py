"""Cluster monitoring: measurements of the mappers of jobs, at a fixed rate; seed 002, Section 13.1, Table 13.1.

Mapper, job, CPU, memory and load are independent of each other and of the time. Each mapper's events for one job come
in runs: a Start, measurements, an End.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eventide.generate.columns import BLOCK_EVENTS, Blocks, Ints, cuts, second_us, streams, strings, timestamps
from eventide.generate.parameters import Checked, whole

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("type", pa.string()),
        ("mapper", pa.int32()),
        ("job", pa.int32()),
        ("cpu", pa.int32()),
        ("memory", pa.int32()),
        ("load", pa.int32()),
    ]
)
TYPES = ("Start", "Measurement", "End")

_MAX_USE = 1000  # of CPU and of memory
_MAX_LOAD = 10_000


@dataclass(frozen=True)
class Parameters(Checked):
    """`rate` events in every second; `ts` in whole seconds.

    The seed's values: `rate` 3000 for three hours; mapper and job uniform in 0 to 10, hence 11 of each; CPU and
    memory uniform in 0 to 1000; load Poisson with mean `mean_load` 100, in 0 to 10,000. It does not name the
    length of a run: here `run_events` events, at 3000 events a second about 20 seconds. Start and End carry
    measurements as well.
    """

    rate: int = whole(3000, 1)
    mappers: int = whole(11, 1, 10_000)
    jobs: int = whole(11, 1, 10_000)
    mean_load: int = whole(100, 0, _MAX_LOAD)
    run_events: int = whole(500, 2)


def blocks(parameters: Parameters, events: int, seed: int, block_events: int = BLOCK_EVENTS) -> Blocks:
    """The events in time order, `block_events` at a time.

    >>> block = next(blocks(Parameters(mappers=1, jobs=1, run_events=4), events=5, seed=1))
    >>> block["type"].to_pylist()
    ['Start', 'Measurement', 'Measurement', 'End', 'Start']
    """
    mappers, jobs, cpu, memory, loads = streams(seed, 5)
    n_before = np.zeros(parameters.mappers * parameters.jobs, dtype=np.int64)
    begin_us = parameters.start_us
    for first, n in cuts(events, block_events):
        mapper = (mappers.random(n) * parameters.mappers).astype(np.int64)
        job = (jobs.random(n) * parameters.jobs).astype(np.int64)
        place = _number(mapper * parameters.jobs + job, n_before) % parameters.run_events
        kind = np.where(place == 0, 0, np.where(place == parameters.run_events - 1, 2, 1))
        load = np.minimum(loads.poisson(parameters.mean_load, n), _MAX_LOAD)
        columns = [
            timestamps(begin_us + second_us(first, n, parameters.rate)),
            strings(kind, TYPES),
            pa.array(mapper.astype(np.int32)),
            pa.array(job.astype(np.int32)),
            pa.array((cpu.random(n) * (_MAX_USE + 1)).astype(np.int32)),
            pa.array((memory.random(n) * (_MAX_USE + 1)).astype(np.int32)),
            pa.array(load.astype(np.int32)),
        ]
        yield pa.record_batch(columns, schema=SCHEMA)


def _number(key: Ints, n_before: Ints) -> Ints:
    """How many earlier events have each event's key; `n_before` is moved on by the events of each key."""
    order = np.argsort(key, kind="stable")
    counts = np.bincount(key, minlength=len(n_before))
    starts = np.cumsum(counts) - counts
    number = np.empty_like(key)
    number[order] = np.arange(len(key)) + (n_before - starts)[key[order]]
    n_before += counts
    return number
