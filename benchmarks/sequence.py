"""Benchmark 'sequence': a keyed three-step sequence with a cross-event predicate over one Parquet file.

Limits: a kernel written for the pattern, a scan. Peers: a grouped PySpark function, DuckDB, Polars.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.chain import Chain, count_chains
from benchmarks.limits import scan
from benchmarks.registry import Context, Outcome, Run, UnavailableError, benchmark
from benchmarks.session import start_session
from eventide.generate import generate

N_KEYS = 1000
CHAIN = Chain(a_below=60.0, b_above=30.0, c_below=70.0, window_us=15_000_000)
COLUMNS = ("ts", "key", "kind", "value")
TYPED = {"keys": N_KEYS, "kinds": ("A", "B", "C", "D"), "probabilities": (0.2, 0.2, 0.2, 0.4)}
QUERY = """
PATTERN SEQ(A a, B b, C c)
WHERE a.value < 60 AND b.value > 30 AND c.value < 70 AND b.value > a.value
SEMANTICS skip-till-next-match
WITHIN 15 seconds
RETURN a.ts AS a_ts, c.ts AS c_ts
"""


def typed_file(context: Context, name: str = "typed", **parameters: Any) -> Path:
    """One Parquet file of typed events in time order, made once; `parameters` are the generator's."""
    return context.cached(
        f"{name}-{context.events}.parquet",
        lambda path: generate("typed", events=context.events, output=path, **(parameters or TYPED)),
    )


@benchmark(
    "sequence",
    events=10_000_000,
    summary="`SEQ(A, B, C)` with a predicate on each step and `b.value > a.value`, skip-till-next, within "
    "15 s, partitioned by one of 1,000 keys; one Parquet file in time order. Result: all matches.",
)
def sequence(context: Context) -> Path:
    return typed_file(context)


@sequence.limit("Numba kernel")
def _numba_kernel(path: Path, context: Context) -> Run:
    # The threads divide the keys by their lowest bits, so their number is a power of two.
    threads = 1 << (len(os.sched_getaffinity(0)).bit_length() - 1)

    def run() -> Outcome:
        table = pq.read_table(path, columns=list(COLUMNS), read_dictionary=["kind"])
        return Outcome(*count_chains(table.to_batches(), CHAIN, n_keys=N_KEYS, threads=threads))

    return run


@sequence.limit("PyArrow scan")
def _pyarrow_scan(path: Path, context: Context) -> Run:
    return scan(path, COLUMNS, dictionaries=["kind"])


def query(text: str = QUERY, **options: object) -> Any:
    """The query on the product."""
    import eventide as ev

    return ev.query(text, ts="ts", partition_by=["key"], type="kind", **options)


def outcome_of_table(matches: pa.Table) -> Outcome:
    """Count and checksum of a table with `a_ts` and `c_ts`."""
    a_us, c_us = (pc.sum(pc.cast(matches[name], pa.int64())).as_py() or 0 for name in ("a_ts", "c_ts"))
    return Outcome(matches.num_rows, c_us - a_us)


def outcome_of_frame(matches: Any) -> Outcome:
    """Count and checksum of a Spark DataFrame with `a_ts` and `c_ts`; reads every match."""
    (row,) = matches.selectExpr(
        "count(*) AS n", "coalesce(sum(unix_micros(timestamp(c_ts)) - unix_micros(timestamp(a_ts))), 0) AS us"
    ).collect()
    return Outcome(row["n"], row["us"])


@sequence.subject("Eventide local")
def _local(path: Path, context: Context) -> Run:
    pattern = query()
    return lambda: outcome_of_table(pattern.run(str(path)))


@sequence.subject("Eventide Spark, path")
def _spark_path(path: Path, context: Context) -> Run:
    pattern, spark = query(), start_session()
    return lambda: outcome_of_frame(pattern.run(str(path), engine="spark", spark=spark))


@sequence.subject("Eventide Spark, DataFrame")
def _spark_frame(path: Path, context: Context) -> Run:
    pattern, spark = query(), start_session()
    return lambda: outcome_of_frame(pattern.run(spark.read.parquet(str(path))))


def match_group(table: pa.Table) -> pa.Table:
    """One key's events, in any order, to one row: its number of matches and their checksum."""
    table = table.sort_by("ts").combine_chunks()
    table = table.set_column(table.schema.get_field_index("key"), "key", pa.array(np.zeros(len(table), np.int32)))
    count, checksum = count_chains(table.to_batches(), CHAIN, n_keys=1)
    return pa.table({"n": [count], "us": [checksum]})


@sequence.peer("PySpark applyInArrow by key")
def _apply_in_arrow(path: Path, context: Context) -> Run:
    spark = start_session()

    def run() -> Outcome:
        events = spark.read.parquet(str(path)).select(*COLUMNS).repartition("key")
        counts = events.groupBy("key").applyInArrow(match_group, "n long, us long")
        row = counts.selectExpr("sum(n) AS n", "sum(us) AS us").first()
        return Outcome(row["n"], row["us"])

    return run


# Joining on the window's number, this one or the next, turns the range join into two hash joins. Ties keep
# all earliest events, so the result is exact for any input.
_DUCKDB = """
WITH a AS (SELECT row_number() OVER () AS a_id, key, epoch_us(ts) AS t, value
           FROM read_parquet($path) WHERE kind = 'A' AND value < $a_below),
     b AS (SELECT row_number() OVER () AS b_id, key, epoch_us(ts) AS t, value
           FROM read_parquet($path) WHERE kind = 'B' AND value > $b_above),
     c AS (SELECT key, epoch_us(ts) AS t
           FROM read_parquet($path) WHERE kind = 'C' AND value < $c_below),
     ab AS (SELECT a.a_id, b.b_id, a.key, a.t AS a_t, b.t AS b_t
            FROM (SELECT *, unnest([t // $w, t // $w + 1]) AS pane FROM a) AS a
            JOIN b ON a.key = b.key AND a.pane = b.t // $w
            WHERE b.t > a.t AND b.t - a.t < $w AND b.value > a.value
            QUALIFY b.t = min(b.t) OVER (PARTITION BY a.a_id)),
     abc AS (SELECT ab.a_t, c.t AS c_t
             FROM (SELECT *, unnest([b_t // $w, b_t // $w + 1]) AS pane FROM ab) AS ab
             JOIN c ON ab.key = c.key AND ab.pane = c.t // $w
             WHERE c.t > ab.b_t AND c.t - ab.a_t < $w
             QUALIFY c.t = min(c.t) OVER (PARTITION BY ab.a_id, ab.b_id))
SELECT count(*), coalesce(sum(c_t - a_t), 0)::BIGINT FROM abc
"""


@sequence.peer("DuckDB joins")
def _duckdb(path: Path, context: Context) -> Run:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    values = {
        "path": str(path),
        "a_below": CHAIN.a_below,
        "b_above": CHAIN.b_above,
        "c_below": CHAIN.c_below,
        "w": CHAIN.window_us,
    }

    def run() -> Outcome:
        return Outcome(*connection.execute(_DUCKDB, values).fetchone())

    return run


@sequence.peer("Polars joins")
def _polars(path: Path, context: Context) -> Run:
    try:
        import polars as pl
    except ImportError:
        raise UnavailableError("Polars is not installed") from None
    w = CHAIN.window_us
    t, value = pl.col("t"), pl.col("value")

    def earliest(left: pl.LazyFrame, right: pl.LazyFrame, t_name: str, by: list[str], allowed: Any) -> Any:
        """Join on the window's number as in DuckDB, keep the earliest allowed right rows of each left row."""
        panes = left.with_columns(pane=pl.concat_list(pl.col(t_name) // w, pl.col(t_name) // w + 1)).explode("pane")
        pairs = panes.join(right.with_columns(pane=t // w), on=["key", "pane"]).filter(allowed)
        return pairs.filter(t == t.min().over(by)).drop("pane")

    def run() -> Outcome:
        events = pl.scan_parquet(path).select("key", "kind", "value", t=pl.col("ts").cast(pl.Int64))
        kind = pl.col("kind")
        a = events.filter((kind == "A") & (value < CHAIN.a_below)).with_row_index("a_id")
        a = a.select("a_id", "key", a_t="t", a_value="value")
        b = events.filter((kind == "B") & (value > CHAIN.b_above)).with_row_index("b_id")
        c = events.filter((kind == "C") & (value < CHAIN.c_below)).select("key", "t")
        later = (t > pl.col("a_t")) & (t - pl.col("a_t") < w) & (value > pl.col("a_value"))
        ab = earliest(a, b.select("b_id", "key", "t", "value"), "a_t", ["a_id"], later)
        ab = ab.select("a_id", "b_id", "key", "a_t", b_t="t")
        last = (t > pl.col("b_t")) & (t - pl.col("a_t") < w)
        abc = earliest(ab, c, "b_t", ["a_id", "b_id"], last)
        return Outcome(*abc.select(pl.len(), (t - pl.col("a_t")).sum().alias("us")).collect().row(0))

    return run
