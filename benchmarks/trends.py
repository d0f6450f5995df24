"""Benchmarks of aggregates over trends: `(SEQ(A+, B))+` per key, overlapping windows, one partition, growth.

Limit: a kernel of two counters per key, written for this one pattern. Baselines: every trend built and then counted
(two steps), and a graph of events without an index.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numba import njit

from benchmarks.alone import compare_slices
from benchmarks.limits import scan
from benchmarks.registry import Benchmark, Context, Outcome, Run, benchmark
from benchmarks.sequence import COLUMNS, N_KEYS, TYPED, typed_file
from benchmarks.session import start_session

WINDOW_S = 40
QUERY = f"PATTERN (SEQ(A+, B))+ GROUP BY key WITHIN {WINDOW_S} seconds RETURN key, COUNT(*) AS n"


@benchmark(
    "trends",
    events=10_000_000,
    summary=f"`COUNT(*)` of `(SEQ(A+, B))+` under skip-till-any, per key in windows of {WINDOW_S} seconds, over one "
    "Parquet file in time order with 1,000 keys. Result: the groups and windows with a trend, the sum of all counts.",
)
def trends(context: Context) -> Path:
    return typed_file(context)


@njit(cache=True, nogil=True)
def count_trends(ts: Any, key: Any, kind: Any, codes: Any, first: int, stop: int, n_keys: int, window: int) -> Any:
    """Two counters a key: trends that end in A, and in B; rows and the sum of counts over all windows."""
    a, b = codes
    ends_in_a, ends_in_b = np.zeros(n_keys, np.float64), np.zeros(n_keys, np.float64)
    rows, total = 0, 0.0
    border = ts[first] // window * window + window
    for i in range(first, stop):
        if ts[i] >= border:
            for k in range(n_keys):
                if ends_in_b[k] > 0:
                    rows += 1
                    total += ends_in_b[k]
                ends_in_a[k] = 0.0
                ends_in_b[k] = 0.0
            border = ts[i] // window * window + window
        k = key[i]
        if kind[i] == a:
            ends_in_a[k] += 1.0 + ends_in_a[k] + ends_in_b[k]
        elif kind[i] == b:
            ends_in_b[k] += ends_in_a[k]
    for k in range(n_keys):
        if ends_in_b[k] > 0:
            rows += 1
            total += ends_in_b[k]
    return rows, total


@trends.limit("Numba kernel")
def _numba_kernel(path: Path, context: Context) -> Run:
    threads = len(os.sched_getaffinity(0))
    window = WINDOW_S * 1_000_000

    # Every thread reads row groups and counts them; a window lies in one thread's share.
    footer = pq.read_metadata(path)
    first_us = [_first_us(footer.row_group(i)) for i in range(footer.num_row_groups)]

    def count(groups: list[int], low: int, high: int) -> Any:
        with pq.ParquetFile(path, read_dictionary=["kind"]) as file:
            table = file.read_row_groups(groups, columns=list(COLUMNS[:3]), use_threads=False).unify_dictionaries()
        names = table.column("kind").chunk(0).dictionary.to_pylist()
        codes = tuple(names.index(name) for name in "AB")
        kind = np.concatenate([chunk.indices.to_numpy() for chunk in table.column("kind").chunks])
        ts = table.column("ts").to_numpy().view(np.int64)
        start, stop = np.searchsorted(ts, [low, high]).tolist()
        return count_trends(ts, table.column("key").to_numpy(), kind, codes, start, stop, N_KEYS, window)

    def run() -> Outcome:
        cuts = [len(first_us) * i // threads for i in range(threads + 1)]
        borders = [-(1 << 62), *(first_us[cut] // window * window for cut in cuts[1:-1]), 1 << 62]
        shares = []
        for i in range(threads):
            # The window at a border begins in the row group before it.
            begins = max((k for k in range(len(first_us)) if first_us[k] <= borders[i]), default=0)
            shares.append((list(range(begins, cuts[i + 1])), borders[i], borders[i + 1]))
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(lambda share: count(*share), shares))
        return Outcome(sum(n for n, _ in found), int(sum(x for _, x in found)))

    return run


def _first_us(group: Any) -> int:
    column = next(group.column(i) for i in range(group.num_columns) if group.column(i).path_in_schema == "ts")
    return int(np.datetime64(column.statistics.min, "us").astype(np.int64))


@trends.limit("PyArrow scan")
def _pyarrow_scan(path: Path, context: Context) -> Run:
    return scan(path, COLUMNS[:3], dictionaries=["kind"])


def query(text: str, **options: Any) -> Any:
    import eventide as ev

    return ev.query(text, ts="ts", type="kind", **options)


def outcome_of_counts(table: pa.Table) -> Outcome:
    return Outcome(table.num_rows, int(pc.sum(table.column("n")).as_py() or 0))


@trends.subject("Eventide local")
def _local(path: Path, context: Context) -> Run:
    asked = query(QUERY)
    return lambda: outcome_of_counts(asked.run(path))


@trends.subject("Eventide Spark, path")
def _spark_path(path: Path, context: Context) -> Run:
    spark = start_session()
    asked = query(QUERY)

    def run() -> Outcome:
        from pyspark.sql import functions as sf

        frame = asked.run(path, engine="spark", spark=spark)
        ((n, total),) = frame.agg(sf.count(sf.lit(1)), sf.sum("n")).collect()
        return Outcome(n, int(total or 0))

    return run


@benchmark(
    "trend_windows",
    events=2_000_000,
    summary="The same pattern and counts with windows of an hour, one after the other, and with 60 that overlap. "
    "The kinds of numbers differ only in that overlapping windows hold more: results are not compared.",
)
def trend_windows(context: Context) -> Path:
    return typed_file(context, "slow", **{**TYPED, "keys": 20, "mean_gap_us": 50_000})


def _compare_windows(windows: Benchmark, text: str, **options: Any) -> None:
    """Windows of an hour, one after the other and 60 that overlap; `{}` in the text is where they are said."""

    def add(slide: str) -> Callable[[Any, Context], Run]:
        def setup(events: Any, context: Context) -> Run:
            asked = query(text.format(f"WITHIN 1 hour {slide}"), counts="log2", **options)

            def run() -> Outcome:
                asked.run(events)
                return Outcome()

            return run

        return setup

    windows.limit("tumbling, 1 hour")(add(""))
    windows.subject("60 overlapping windows")(add("SLIDE 1 minute"))


_compare_windows(trend_windows, "PATTERN (SEQ(A+, B))+ GROUP BY key {} RETURN key, COUNT(*) AS n")


@benchmark(
    "trend_neighbour_windows",
    events=500_000,
    summary='`COUNT(*)` of `S+` with `S.price < NEXT(S).price` under skip-till-any, `counts="log2"`, one partition: '
    "windows of an hour with 3,600 events, one after the other, and with 60 that overlap. Results are not compared.",
)
def trend_neighbour_windows(context: Context) -> pa.Table:
    rng = np.random.default_rng(7)
    n = context.events
    return pa.table({"ts": np.arange(n), "kind": ["S"] * n, "price": rng.normal(100.0, 10.0, n)})


_compare_windows(
    trend_neighbour_windows, "PATTERN S+ WHERE S.price < NEXT(S).price {} RETURN COUNT(*) AS n", ts_unit="s"
)


@benchmark(
    "trend_slices",
    events=10_000_000,
    summary='`COUNT(*)` of `(SEQ(A+, B))+` in one Parquet file as one partition without windows, `counts="log2"`: '
    "time slices in parallel, on all cores and on one; on Spark in parallel tasks, and all events in one task.",
)
def trend_slices(context: Context) -> Path:
    return typed_file(context)


def _counted(rows: pa.Table) -> Outcome:
    return Outcome(round(rows.column("n")[0].as_py()))


compare_slices(trend_slices, lambda: query("PATTERN (SEQ(A+, B))+ RETURN COUNT(*) AS n", counts="log2").run, _counted)


@benchmark(
    "trend_growth",
    events=1_000_000,
    summary='`COUNT(*)` of `S+` with `S.price < NEXT(S).price` under skip-till-any, one window, `counts="log2"`: '
    "seconds at a hundredth, a tenth and the whole number of events, and the exponent between them.",
)
def trend_growth(context: Context) -> pa.Table:
    rng = np.random.default_rng(7)
    n = context.events
    return pa.table({"ts": np.arange(n), "kind": ["S"] * n, "price": rng.normal(100.0, 10.0, n)})


@njit(cache=True, nogil=True)
def count_by_graph(price: Any) -> float:
    """Every event looks at all earlier ones: log2 of the number of rising trends."""
    n = price.size
    log = np.empty(n)
    for i in range(n):
        top, total = 0.0, 1.0
        for j in range(i):
            if price[j] < price[i]:
                if log[j] > top:
                    total = total * 2.0 ** (top - log[j]) + 1.0
                    top = log[j]
                else:
                    total += 2.0 ** (log[j] - top)
        log[i] = top + math.log2(total)
    top = log.max()
    return float(top + math.log2(np.exp2(log - top).sum()))


def build_trends(price: Any) -> int:
    """Every trend built, then counted; 2**n of them at worst."""
    trends: list[tuple[int, ...]] = []
    for i in range(len(price)):
        trends += [(*trend, i) for trend in trends if price[trend[-1]] < price[i]]
        trends.append((i,))
    return len(trends)


def _growth(sizes: list[int], measure: Callable[[int], float]) -> Outcome:
    rows: list[dict[str, Any]] = []
    seconds = 0.0
    for n in sizes:
        started = time.perf_counter()
        log2 = measure(n)
        seconds = time.perf_counter() - started
        exponent = math.log(seconds / rows[-1]["seconds"], n / rows[-1]["events"]) if rows else None
        rows.append({"events": n, "seconds": seconds, "exponent": exponent, "log2 of the count": log2})
    shown = [
        {
            **row,
            "seconds": f"{row['seconds']:.3f}",
            "exponent": "" if row["exponent"] is None else f"{row['exponent']:.2f}",
            "log2 of the count": f"{row['log2 of the count']:.3f}",
        }
        for row in rows
    ]
    return Outcome(details={"growth": shown}, seconds=seconds)


def _indexed(strategy: str) -> Callable[[pa.Table, Context], Run]:
    def setup(table: pa.Table, context: Context) -> Run:
        text = f"PATTERN S+ WHERE S.price < NEXT(S).price SEMANTICS {strategy} RETURN COUNT(*) AS n"
        asked = query(text, ts_unit="s", counts="log2")
        sizes = [context.events // 100, context.events // 10, context.events]
        return lambda: _growth(sizes, lambda n: asked.run(table.slice(0, n)).column("n")[0].as_py())

    return setup


trend_growth.subject("Eventide local")(_indexed("any"))
trend_growth.subject("Eventide local, skip-till-next")(_indexed("next"))


@trend_growth.peer("graph of events", note="without an index; at a thousandth, a hundredth and a 33rd")
def _graph(table: pa.Table, context: Context) -> Run:
    price = table.column("price").to_numpy()
    sizes = [context.events // 1000, context.events // 100, context.events // 33]
    return lambda: _growth(sizes, lambda n: count_by_graph(price[:n]))


@trend_growth.peer("two steps", note="every trend built, then counted; at 40, 60 and 80 events")
def _two_steps(table: pa.Table, context: Context) -> Run:
    price = table.column("price").to_numpy()
    return lambda: _growth([40, 60, 80], lambda n: math.log2(build_trends(price[:n])))
