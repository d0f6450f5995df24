"""Benchmarks of derived intervals: the four specifications of the D2IA experiments (Listings 5.1 to 5.4), per car.

Limit: a kernel with one state a car, written for the one specification. The bars: in this process at least a quarter
of its rate, Spark with a path at least a twelfth.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numba import njit

from benchmarks.limits import scan
from benchmarks.registry import Context, Outcome, Run, benchmark
from benchmarks.session import start_session
from eventide.generate import generate

COLUMNS = ("car_id", "ts", "speed")
N_CARS = 1000
THRESHOLD, RELATIVE, DELTA, AGGREGATE = 0, 1, 2, 3
SPECIFICATIONS = {
    "threshold": (THRESHOLD, "speed >= 50", "max(speed)"),
    "relative": (RELATIVE, "speed >= 30 AND speed >= 1.1 * prev(speed)", "max(speed)"),
    "delta": (DELTA, "abs(speed - first(speed)) >= 5", "avg(speed)"),
    "aggregate": (AGGREGATE, "avg(speed) >= 67", "avg(speed)"),
}


def cars_file(context: Context) -> Path:
    return context.cached(
        f"cars-{context.events}.parquet",
        lambda path: generate("cars", events=context.events, output=path, seed=1, cars=N_CARS),
    )


@njit(cache=True, nogil=True)
def derive(which: int, car: Any, ts: Any, speed: Any, low: int, high: int, out: Any) -> Any:
    """One pass with a state a car: first, previous, sum, maximum, start, last, count; runs of two events or more."""
    state = np.zeros((high - low, 4))
    times = np.zeros((high - low, 3), np.int64)
    n, events = 0, 0
    for i in range(car.size):
        if car[i] < low or car[i] >= high:
            continue
        c, x = car[i] - low, speed[i]
        count = times[c, 2]
        begins = True
        if which == 0:
            holds = begins = x >= 50
        elif which == 1:
            begins = x >= 30
            holds = begins and x >= 1.1 * state[c, 1]
        elif which == 2:
            holds = abs(x - state[c, 0]) >= 5
        else:
            begins = x >= 67
            holds = (state[c, 2] + x) / (count + 1) >= 67
        if count > 0 and holds:
            state[c, 1] = x
            state[c, 2] += x
            state[c, 3] = max(state[c, 3], x)
            times[c, 1] = ts[i]
            times[c, 2] = count + 1
            continue
        if count >= 2:
            value = state[c, 3] if which < 2 else state[c, 2] / count
            n, events = _close(out, n, events, c + low, times[c, 0], times[c, 1], count, value)
        times[c, 2] = 0
        if begins:
            state[c, 0], state[c, 1], state[c, 2], state[c, 3] = x, x, x, x
            times[c, 0], times[c, 1], times[c, 2] = ts[i], ts[i], 1
    for c in range(high - low):
        if times[c, 2] >= 2:
            value = state[c, 3] if which < 2 else state[c, 2] / times[c, 2]
            n, events = _close(out, n, events, c + low, times[c, 0], times[c, 1], times[c, 2], value)
    return n, events


@njit(cache=True, nogil=True)
def _close(out: Any, n: int, events: int, car: int, start: int, end: int, count: int, value: float) -> Any:
    numbers, values = out
    numbers[n, 0], numbers[n, 1], numbers[n, 2], numbers[n, 3] = car, start, end, count
    values[n] = value
    return n + 1, events + count


def _numba_kernel(which: int, path: Path, context: Context) -> Run:
    threads = len(os.sched_getaffinity(0))

    def run() -> Outcome:
        table = pq.read_table(path, columns=list(COLUMNS))
        car, speed = table.column("car_id").to_numpy(), table.column("speed").to_numpy()
        ts = table.column("ts").to_numpy().astype("datetime64[us]").astype(np.int64)
        borders = [N_CARS * i // threads for i in range(threads + 1)]

        def share(i: int) -> Any:
            out = np.empty((car.size // 2, 4), np.int64), np.empty(car.size // 2)
            return derive(which, car, ts, speed, borders[i], borders[i + 1], out)

        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(share, range(threads)))
        return Outcome(sum(n for n, _ in found), sum(events for _, events in found))

    return run


def _options(text: str, value: str) -> dict[str, Any]:
    runs = {"condition": text, "value": value, "occurrences": (2, None), "partition_by": "car_id", "ts": "ts"}
    return {**runs, "close_at_end": True}


def _local(text: str, value: str, path: Path, context: Context) -> Run:
    import eventide as ev

    def run() -> Outcome:
        found: pa.Table = ev.intervals.homogeneous(path, **_options(text, value))
        return Outcome(found.num_rows, pc.sum(found.column("count")).as_py())

    return run


def _spark_path(text: str, value: str, path: Path, context: Context) -> Run:
    import eventide as ev

    spark = start_session()

    def run() -> Outcome:
        from pyspark.sql import functions as sf

        frame = ev.intervals.homogeneous(path, **_options(text, value), engine="spark", spark=spark)
        # The value is summed as well, so that it must be computed.
        ((n, events, _),) = frame.agg(sf.count(sf.lit(1)), sf.sum("count"), sf.sum("value")).collect()
        return Outcome(n, events)

    return run


def _pyarrow_scan(path: Path, context: Context) -> Run:
    return scan(path, COLUMNS)


for _name, (_which, _text, _value) in SPECIFICATIONS.items():
    _made = benchmark(
        f"intervals-{_name}",
        events=10_000_000,
        summary=f"Runs of two events or more per car with `{_text}`, each with `{_value}`, over one Parquet file of "
        f"{N_CARS:,} cars in time order. Result: the intervals, and the events in them.",
    )(cars_file)
    _made.limit("Numba kernel")(partial(_numba_kernel, _which))
    _made.limit("PyArrow scan")(_pyarrow_scan)
    _made.subject("Eventide local")(partial(_local, _text, _value))
    _made.subject("Eventide Spark, path")(partial(_spark_path, _text, _value))
