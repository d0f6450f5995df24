"""Benchmark 'row_slices': MATCH_RECOGNIZE without PARTITION BY, whole and in slices by where matches begin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from benchmarks.alone import compare_slices
from benchmarks.registry import Context, Outcome, benchmark
from benchmarks.sequence import typed_file


@benchmark(
    "row_slices",
    events=10_000_000,
    summary="MATCH_RECOGNIZE with `AFTER MATCH SKIP PAST LAST ROW` and `WITHIN`, without `PARTITION BY`, over one "
    "Parquet file: slices of time on all cores and one core; on Spark in parallel tasks, and all rows in one task.",
)
def row_slices(context: Context) -> Path:
    return typed_file(context)


def _matches(rows: pa.Table) -> Outcome:
    return Outcome(rows.num_rows, sum(rows.column("n").to_pylist()))


def _recognizer() -> Callable[..., pa.Table]:
    import eventide as ev

    recognize: Callable[..., pa.Table] = ev.match_recognize(
        order_by="ts",
        measures={"a": "first(A.ts)", "c": "last(C.ts)", "n": "count(*)"},
        after_match="SKIP PAST LAST ROW",
        pattern="A X* C",
        within="1 second",
        define={"A": "kind = 'A' AND value > 60", "X": "kind <> 'C'", "C": "kind = 'C' AND value > A.value"},
    )
    return recognize


compare_slices(row_slices, _recognizer, _matches)
