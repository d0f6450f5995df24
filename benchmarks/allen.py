"""Benchmark 'allen': two interval tables related per key. Peer: a join on ranges of times.

Result: the pairs, and the sum of the spans of their composite intervals.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.limits import scan
from benchmarks.registry import Context, Outcome, Run, UnavailableError, benchmark
from benchmarks.session import start_session

N_KEYS = 1_000
RELATIONS = "overlaps | during"
SPAN_S = 1_000
_COLUMNS = ("key", "interval_start", "interval_end")


@benchmark(
    "allen",
    events=1_000_000,
    summary=f"`ev.allen(left, right, '{RELATIONS}', partition_by='key')` over two Parquet files of half the intervals "
    "each, 1,000 keys, about one pair per left interval. Result: the pairs with all columns, the sum of their spans.",
)
def allen(context: Context) -> tuple[Path, Path]:
    return _side(context, "left", 1), _side(context, "right", 2)


def _side(context: Context, name: str, seed: int) -> Path:
    n = context.events // 2

    def make(path: Path) -> None:
        random = np.random.default_rng(seed)
        start_us = np.sort(random.integers(0, SPAN_S * 1_000_000, n))
        # So long that an interval meets about one of the other side's in its key.
        longest_us = 2 * SPAN_S * 1_000_000 * N_KEYS // max(n, 1)
        end_us = start_us + random.integers(1, max(longest_us, 2), n)
        times = {"interval_start": start_us, "interval_end": end_us}
        columns: dict[str, Any] = {"key": random.integers(0, N_KEYS, n)}
        columns |= {name: pa.array(us).cast(pa.timestamp("us")) for name, us in times.items()}
        pq.write_table(pa.table(columns | {"x": random.integers(0, 100, n)}), path)

    return context.cached(f"allen-{name}-{n}.parquet", make)


def outcome(table: pa.Table) -> Outcome:
    spans = pc.subtract(table.column("interval_end").cast(pa.int64()), table.column("interval_start").cast(pa.int64()))
    return Outcome(table.num_rows, int(pc.sum(spans).as_py() or 0))


@allen.limit("PyArrow scan")
def _scan(paths: tuple[Path, Path], context: Context) -> Run:
    return scan(paths, _COLUMNS)


@allen.subject("Eventide local")
def _local(paths: tuple[Path, Path], context: Context) -> Run:
    import eventide as ev

    return lambda: outcome(ev.allen(*paths, RELATIONS, partition_by="key"))


@allen.subject("Eventide Spark, DataFrame")
def _spark(paths: tuple[Path, Path], context: Context) -> Run:
    import eventide as ev

    spark = start_session()
    frames = [spark.read.parquet(str(path)) for path in paths]

    def run() -> Outcome:
        span = "unix_micros(timestamp(interval_end)) - unix_micros(timestamp(interval_start))"
        pairs = ev.allen(*frames, RELATIONS, partition_by="key")
        ((count, checksum),) = pairs.selectExpr("count(*)", f"coalesce(sum({span}), 0)").collect()
        return Outcome(count, checksum)

    return run


_JOIN = """
SELECT l.key, l.interval_start AS left_start, l.interval_end AS left_end, l.x AS left_x,
       r.interval_start AS right_start, r.interval_end AS right_end, r.x AS right_x,
       least(l.interval_start, r.interval_start) AS interval_start,
       greatest(l.interval_end, r.interval_end) AS interval_end
FROM read_parquet('{left}') AS l JOIN read_parquet('{right}') AS r ON {on}
"""
# What overlaps, and what the relations ask beyond it.
_OVERLAP = "l.interval_start < r.interval_end AND r.interval_start < l.interval_end"
_KIND = "l.interval_end < r.interval_end AND l.interval_start <> r.interval_start"


@allen.peer("DuckDB join")
def _duckdb(paths: tuple[Path, Path], context: Context) -> Run:
    try:
        import duckdb
    except ImportError as error:
        raise UnavailableError("duckdb is not installed") from error
    text = _JOIN.format(left=paths[0], right=paths[1], on=f"l.key = r.key AND {_OVERLAP} AND {_KIND}")
    return lambda: outcome(duckdb.connect().sql(text).to_arrow_table())
