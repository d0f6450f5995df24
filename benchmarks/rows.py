"""Benchmark 'rows': MATCH_RECOGNIZE of `A B+ C` per key over one Parquet file.

Limits: a kernel written for the pattern, a scan. Peers: DuckDB and Polars, which find runs by differences of row
numbers ("gaps and islands").
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numba import njit

from benchmarks.limits import scan
from benchmarks.registry import Context, Outcome, Run, UnavailableError, benchmark
from benchmarks.sequence import COLUMNS, N_KEYS, outcome_of_frame, outcome_of_table, typed_file
from benchmarks.session import start_session


@benchmark(
    "rows",
    events=10_000_000,
    summary="`MATCH_RECOGNIZE (PARTITION BY key ORDER BY ts PATTERN (A B+ C))`, each label one of four kinds of "
    "event, over one Parquet file in time order with 1,000 keys. Result: first and last time of all matches.",
)
def rows(context: Context) -> Path:
    return typed_file(context)


@njit(cache=True, nogil=True)
def find_runs(ts: Any, key: Any, kind: Any, codes: Any, thread: int, threads: int, state: Any, start: Any) -> Any:
    """One pass with a small state per key: 0 nothing, 1 after A, 2 after B; count and checksum of the matches."""
    a, b, c = codes
    count, checksum = 0, 0
    for i in range(ts.size):
        k = key[i]
        if k % threads != thread:
            continue
        if kind[i] == a:
            state[k] = 1
            start[k] = ts[i]
        elif kind[i] == b and state[k] > 0:
            state[k] = 2
        else:
            if kind[i] == c and state[k] == 2:
                count += 1
                checksum += ts[i] - start[k]
            state[k] = 0
    return count, checksum


@rows.limit("Numba kernel")
def _numba_kernel(path: Path, context: Context) -> Run:
    threads = len(os.sched_getaffinity(0))

    def run() -> Outcome:
        table = pq.read_table(path, columns=list(COLUMNS[:3]), read_dictionary=["kind"]).combine_chunks()
        kinds = table.column("kind").combine_chunks()
        kinds = kinds.chunk(0) if hasattr(kinds, "chunk") else kinds
        names = kinds.dictionary.to_pylist()
        codes = tuple(names.index(name) for name in "ABC")
        ts = table.column("ts").to_numpy().astype("datetime64[us]").astype(np.int64)
        key, kind = table.column("key").to_numpy(), kinds.indices.to_numpy()

        def share(thread: int) -> tuple[int, int]:
            state, start = np.zeros(N_KEYS, np.int8), np.zeros(N_KEYS, np.int64)
            found: tuple[int, int] = find_runs(ts, key, kind, codes, thread, threads, state, start)
            return found

        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(share, range(threads)))
        return Outcome(sum(n for n, _ in found), sum(x for _, x in found))

    return run


@rows.limit("PyArrow scan")
def _pyarrow_scan(path: Path, context: Context) -> Run:
    return scan(path, COLUMNS[:3], dictionaries=["kind"])


def recognizer() -> Any:
    """The clause on the product."""
    import eventide as ev

    return ev.match_recognize(
        partition_by="key",
        order_by="ts",
        pattern="A B+ C",
        define={label: f"kind = '{label}'" for label in "ABC"},
        measures={"a_ts": "A.ts", "c_ts": "C.ts"},
    )


@rows.subject("Eventide local")
def _local(path: Path, context: Context) -> Run:
    clause = recognizer()
    return lambda: outcome_of_table(clause(path))


@rows.subject("Eventide Spark, path")
def _spark_path(path: Path, context: Context) -> Run:
    spark = start_session()
    clause = recognizer()
    return lambda: outcome_of_frame(clause(path, engine="spark", spark=spark))


# A run of B is an island: its rows share the difference between their number and their number among the Bs.
_ISLANDS = """
WITH numbered AS (
    SELECT key, ts, kind, row_number() OVER w AS n,
           lag(kind) OVER w AS before, lag(ts) OVER w AS before_ts,
           lead(kind) OVER w AS after, lead(ts) OVER w AS after_ts
    FROM read_parquet('{path}') WINDOW w AS (PARTITION BY key ORDER BY ts)
),
runs AS (
    SELECT key, n - row_number() OVER (PARTITION BY key ORDER BY n) AS island, n, before, before_ts, after, after_ts
    FROM numbered WHERE kind = 'B'
)
SELECT count(*), coalesce(sum(epoch_us(c_ts) - epoch_us(a_ts)), 0) FROM (
    SELECT arg_min(before, n) AS a, arg_min(before_ts, n) AS a_ts, arg_max(after, n) AS c, arg_max(after_ts, n) AS c_ts
    FROM runs GROUP BY key, island
) WHERE a = 'A' AND c = 'C'
"""


@rows.peer("DuckDB islands")
def _duckdb(path: Path, context: Context) -> Run:
    import duckdb

    def run() -> Outcome:
        with duckdb.connect() as connection:
            ((n, us),) = connection.sql(_ISLANDS.format(path=path)).fetchall()
        return Outcome(n, int(us))

    return run


@rows.peer("Polars islands")
def _polars(path: Path, context: Context) -> Run:
    try:
        import polars as pl
    except ImportError:
        raise UnavailableError("Polars is not installed") from None

    def run() -> Outcome:
        events = pl.scan_parquet(path).select("key", "ts", "kind").sort("key", "ts")
        numbered = events.with_columns(
            run=pl.col("kind").rle_id().over("key"),
            before=pl.col("kind").shift(1).over("key"),
            before_ts=pl.col("ts").shift(1).over("key"),
            after=pl.col("kind").shift(-1).over("key"),
            after_ts=pl.col("ts").shift(-1).over("key"),
        )
        runs = (
            numbered.filter(pl.col("kind") == "B")
            .group_by("key", "run")
            .agg(
                pl.col("before").first(), pl.col("before_ts").first(), pl.col("after").last(), pl.col("after_ts").last()
            )
        )
        found = runs.filter((pl.col("before") == "A") & (pl.col("after") == "C"))
        length = (pl.col("after_ts") - pl.col("before_ts")).dt.total_microseconds().sum()
        n, us = found.select(pl.len(), length).collect().row(0)
        return Outcome(n, int(us))

    return run
