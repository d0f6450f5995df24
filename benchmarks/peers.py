"""Benchmark 'peers': `A B+ C` per key over one Parquet file, beside Flink SQL, DuckDB, Polars and chDB.

`make bench-peers` installs Flink and chDB into environments of their own and runs it.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.conversation import converse
from benchmarks.environments import CHDB, FLINK
from benchmarks.registry import Context, Run, benchmark
from benchmarks.rows import rows

_ISLANDS = "first and last time of all matches, by differences of row numbers; comparable"


@benchmark(
    "peers",
    events=1_000_000,
    summary="The query of `rows`, `PATTERN (A B+ C)` by 1,000 keys, over a million events in one Parquet file, on "
    "Eventide and on what else can say it. Flink runs `MATCH_RECOGNIZE` itself; the others say it in their own ways.",
)
def peers(context: Context) -> Path:
    # Flink does not read the delta encodings in which the generator writes; everyone gets the same file without them.
    return context.cached(
        f"plain-{context.events}.parquet", lambda path: pq.write_table(pq.read_table(rows.prepare(context)), path)
    )


peers.limit("Numba kernel")(rows.variant("Numba kernel").setup)
peers.subject("Eventide local")(rows.variant("Eventide local").setup)
peers.subject("Eventide Spark, path")(rows.variant("Eventide Spark, path").setup)


@peers.peer("Flink SQL batch", note="the same MATCH_RECOGNIZE, as a batch job; count and sum of times; comparable")
def _flink_batch(path: Path, context: Context) -> Run:
    return converse(FLINK, "benchmarks.flink_peer", "batch", path)


@peers.peer("Flink SQL stream", note="the same MATCH_RECOGNIZE, as a stream over the bounded file; comparable")
def _flink_stream(path: Path, context: Context) -> Run:
    return converse(FLINK, "benchmarks.flink_peer", "stream", path)


peers.peer("DuckDB islands", note=_ISLANDS)(rows.variant("DuckDB islands").setup)
peers.peer("Polars islands", note=_ISLANDS)(rows.variant("Polars islands").setup)


@peers.peer("chDB countMatches", note="a regular expression over the letters of each key; number only; comparable")
def _chdb_count_matches(path: Path, context: Context) -> Run:
    return converse(CHDB, "benchmarks.chdb_peer", "countMatches", path)


@peers.peer(
    "chDB sequenceCount",
    note="it has no repetition: the sum of its counts for runs of 1 to 12 B; number only; comparable while no run is "
    "longer",
)
def _chdb_sequence_count(path: Path, context: Context) -> Run:
    return converse(CHDB, "benchmarks.chdb_peer", "sequenceCount", path)


@peers.peer(
    "chDB windowFunnel",
    note="how far each key comes in A, later B, later C, whatever comes in between: one number per key; not comparable",
)
def _chdb_window_funnel(path: Path, context: Context) -> Run:
    return converse(CHDB, "benchmarks.chdb_peer", "windowFunnel", path)
