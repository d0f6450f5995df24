"""Benchmark 'row_slices': MATCH_RECOGNIZE without PARTITION BY, whole and in slices by where matches begin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from benchmarks.alone import use_cores, use_one_task
from benchmarks.registry import Context, Outcome, Run, benchmark
from benchmarks.sequence import typed_file
from benchmarks.session import start_session


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


def _local(n_threads: int | None) -> Callable[[Path, Context], Run]:
    def setup(path: Path, context: Context) -> Run:
        if n_threads is not None:
            use_cores(n_threads)
        recognize = _recognizer()
        return lambda: _matches(recognize(str(path)))

    return setup


row_slices.limit("one core")(_local(1))
row_slices.subject("all cores")(_local(None))


def _spark(one_task: bool) -> Callable[[Path, Context], Run]:
    def setup(path: Path, context: Context) -> Run:
        spark = start_session()
        if one_task:
            use_one_task()
        recognize = _recognizer()
        return lambda: _matches(recognize(str(path), engine="spark", spark=spark).toArrow())

    return setup


row_slices.limit("Spark in one task")(_spark(True))
row_slices.subject("Spark by slices")(_spark(False))


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
