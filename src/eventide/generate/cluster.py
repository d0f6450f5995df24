"""Cluster monitoring: measurements of the mappers of jobs, at a fixed rate; seed 002, Section 13.1, Table 13.1.

Mapper, job, CPU, memory and load are independent of each other and of the time. Each mapper's events for one job come
in runs: a Start, measurements, an End.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa

from eventide.generate.parameters import (
    BLOCK_EVENTS,
    START,
    Ints,
    check_start,
    check_whole,
    second_us,
    start_us,
    streams,
    strings,
    timestamps,
)

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
class Parameters:
    """`rate` events in every second; `ts` in whole seconds.

    The seed's values: `rate` 3000 for three hours; mapper and job uniform in 0 to 10, hence 11 of each; CPU and
    memory uniform in 0 to 1000; load Poisson with mean `mean_load` 100, in 0 to 10,000. It does not name the
    length of a run: here `run_events` events, at 3000 events a second about 20 seconds. Start and End carry
    measurements as well.
    """

    rate: int = 3000
    mappers: int = 11
    jobs: int = 11
    mean_load: int = 100
    run_events: int = 500
    start: datetime = START

    def __post_init__(self) -> None:
        check_whole("rate", self.rate, minimum=1)
        check_whole("mappers", self.mappers, minimum=1, maximum=10_000)
        check_whole("jobs", self.jobs, minimum=1, maximum=10_000)
        check_whole("mean_load", self.mean_load, minimum=0, maximum=_MAX_LOAD)
        check_whole("run_events", self.run_events, minimum=2)
        check_start(self.start)


def blocks(
    parameters: Parameters, events: int, seed: int, block_events: int = BLOCK_EVENTS
) -> Iterator[pa.RecordBatch]:
    """The events in time order, `block_events` at a time.

    >>> block = next(blocks(Parameters(mappers=1, jobs=1, run_events=4), events=5, seed=1))
    >>> block["type"].to_pylist()
    ['Start', 'Measurement', 'Measurement', 'End', 'Start']
    """
    mappers, jobs, cpu, memory, loads = streams(seed, 5)
    n_before = np.zeros(parameters.mappers * parameters.jobs, dtype=np.int64)
    begin_us = start_us(parameters.start)
    for first in range(0, events, block_events):
        n = min(block_events, events - first)
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
