"""Benchmarks 'scale-...': MATCH_RECOGNIZE at its extremes, embedded; `python -m benchmarks scale` runs them all.

What matters is that each works, its time and its peak memory. Peers only check the counts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.limits import scan
from benchmarks.registry import Context, Outcome, Run, benchmark
from benchmarks.rows import recognizer, rows
from benchmarks.sequence import COLUMNS, TYPED, outcome_of_table, typed_file
from eventide.generate import sample

N_SYMBOLS = 1000
_ISLANDS = rows.variant("DuckDB islands").setup


def _local(path: Path, context: Context) -> Run:
    clause = recognizer()
    return lambda: outcome_of_table(clause(path))


def _runs(pattern: str, define: dict[str, str], path: Path) -> Run:
    import eventide as ev

    measures = {"a_ts": "FIRST(ts)", "c_ts": "LAST(ts)"}
    clause = ev.match_recognize(partition_by="key", order_by="ts", pattern=pattern, define=define, measures=measures)
    return lambda: outcome_of_table(clause(path))


def _scan(path: Path, context: Context) -> Run:
    return scan(path, COLUMNS[:3], dictionaries=["kind"])


@benchmark(
    "scale-long-partition",
    events=5_000_000,
    summary="`PATTERN (A B+ C)` over a single partition of five million rows.",
)
def long_partition(context: Context) -> Path:
    return typed_file(context, "long", **{**TYPED, "keys": 1})


@benchmark(
    "scale-many-partitions",
    events=10_000_000,
    summary="`PATTERN (A B+ C)` over a million partitions of ten rows each, which lie scattered in the file.",
)
def many_partitions(context: Context) -> Path:
    def make(path: Path) -> None:
        events = sample("typed", context.events, **TYPED)
        keys = np.arange(context.events, dtype=np.int32) % max(context.events // 10, 1)
        pq.write_table(events.set_column(events.column_names.index("key"), "key", pa.array(keys)), path)

    return context.cached(f"tens-{context.events}.parquet", make)


for _benchmark in (long_partition, many_partitions):
    _benchmark.limit("PyArrow scan")(_scan)
    _benchmark.subject("Eventide local")(_local)
    _benchmark.peer("DuckDB islands")(_ISLANDS)


@benchmark(
    "scale-alternation",
    events=1_000_000,
    summary="`PATTERN ((S0 | S1 | ... | S999)+)`: a thousand symbols, each for a kind of its own, by 1,000 keys; a "
    "fifth of the rows is of no such kind and ends a match.",
)
def alternation(context: Context) -> Path:
    kinds = (*(f"k{i}" for i in range(N_SYMBOLS)), "other")
    shares = (*[0.8 / N_SYMBOLS] * N_SYMBOLS, 0.2)
    return typed_file(context, "kinds", kinds=kinds, probabilities=shares)


alternation.limit("PyArrow scan")(_scan)


@alternation.subject("Eventide local")
def _alternation_local(path: Path, context: Context) -> Run:
    define = {f"S{i}": f"kind = 'k{i}'" for i in range(N_SYMBOLS)}
    return _runs(f"({' | '.join(define)})+", define, path)


_RUNS = """
SELECT count(*), coalesce(sum(epoch_us(c_ts) - epoch_us(a_ts)), 0)::BIGINT FROM (
    SELECT min(ts) AS a_ts, max(ts) AS c_ts FROM (
        SELECT key, ts, n - row_number() OVER (PARTITION BY key ORDER BY n) AS island FROM (
            SELECT key, ts, kind, row_number() OVER (PARTITION BY key ORDER BY ts) AS n FROM read_parquet($path)
        ) WHERE kind <> 'other'
    ) GROUP BY key, island
)
"""


@alternation.peer("DuckDB islands")
def _alternation_duckdb(path: Path, context: Context) -> Run:
    import duckdb

    def run() -> Outcome:
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar = false")
            return Outcome(*connection.execute(_RUNS, {"path": str(path)}).fetchone())

    return run


@benchmark(
    "scale-nested-quantifiers",
    events=100_000,
    summary="`PATTERN (((A+)+)+ B)` over a single partition of rows that are all A: there is no match, and a matcher "
    "that tries every way to group them never ends.",
)
def nested_quantifiers(context: Context) -> Path:
    return typed_file(context, "only-a", keys=1, kinds=("A",))


nested_quantifiers.limit("PyArrow scan")(_scan)


@nested_quantifiers.subject("Eventide local")
def _nested_local(path: Path, context: Context) -> Run:
    return _runs("((A+)+)+ B", {"A": "kind = 'A'", "B": "kind = 'B'"}, path)
