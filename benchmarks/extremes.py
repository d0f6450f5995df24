"""Benchmark 'many partitions' and 'one partition': the extremes of how events spread over partitions.

Limit: a PyArrow scan of the same columns. What matters here is that they run, and their peak memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.limits import scan
from benchmarks.registry import Context, Outcome, Run, benchmark
from benchmarks.sequence import typed_file
from benchmarks.session import start_session

COLUMNS = ("ts", "key", "kind", "value")
KINDS: dict[str, Any] = {"kinds": ("A", "B", "C", "D"), "probabilities": (0.2, 0.2, 0.2, 0.4)}
QUERY = """
PATTERN SEQ(A a, B b, C c)
WHERE b.value > a.value
SEMANTICS skip-till-next-match
{within}
RETURN a.ts AS a_ts, c.ts AS c_ts
"""


def query(within: str, **options: object):  # type: ignore[no-untyped-def]
    import eventide as ev

    return ev.query(QUERY.format(within=within), ts="ts", type="kind", **options)


@benchmark(
    "many-partitions",
    events=10_000_000,
    summary="`SEQ(A, B, C)` with `b.value > a.value`, skip-till-next, no window, over a million partitions of "
    "about ten events.",
)
def many_partitions(context: Context) -> Path:
    return typed_file(context, "many", keys=context.events // 10, **KINDS)


@many_partitions.limit("PyArrow scan")
def _scan_many(path: Path, context: Context) -> Run:
    return scan(path, COLUMNS, dictionaries=["kind"])


@many_partitions.subject("Eventide local")
def _many_local(path: Path, context: Context) -> Run:
    pattern = query("", partition_by=["key"])
    return lambda: Outcome(pattern.run(str(path)).num_rows)


@many_partitions.subject("Eventide Spark, path")
def _many_spark(path: Path, context: Context) -> Run:
    pattern, spark = query("", partition_by=["key"]), start_session()
    return lambda: Outcome(pattern.run(str(path), engine="spark", spark=spark).count())


@benchmark(
    "one-partition",
    events=5_000_000,
    summary="`SEQ(A, B, C)` with `b.value > a.value`, skip-till-next, within 15 s, over a single partition.",
)
def one_partition(context: Context) -> Path:
    return typed_file(context, "one", keys=1, **KINDS)


@one_partition.limit("PyArrow scan")
def _scan_one(path: Path, context: Context) -> Run:
    return scan(path, COLUMNS, dictionaries=["kind"])


@one_partition.subject("Eventide local")
def _one_local(path: Path, context: Context) -> Run:
    pattern = query("WITHIN 15 seconds")
    return lambda: Outcome(pattern.run(str(path)).num_rows)


@one_partition.subject("Eventide Spark, path")
def _one_spark(path: Path, context: Context) -> Run:
    pattern, spark = query("WITHIN 15 seconds"), start_session()
    return lambda: Outcome(pattern.run(str(path), engine="spark", spark=spark).count())
