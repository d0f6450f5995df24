"""Benchmarks 'rare-step' and 'last-times': what need not be read or exchanged, over one Parquet file in time order.

Peers: joins in plain Spark, which push the same conditions into the file. Without the reduction, as a measure of it:
`reducing(False)`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.registry import Context, Outcome, Run, benchmark
from benchmarks.sequence import N_KEYS, outcome_of_frame, outcome_of_table, typed_file
from benchmarks.session import start_session

EVENTS = {"keys": N_KEYS, "kinds": tuple("ABCDEFGH")}
# One event in 8 is an A, and its value is uniform from 0 to 100: 1,250 of 10 million, and 12.
RARE = {"1,250": 0.1, "12": 0.001}
LAST = 0.01


def _rare(below: float) -> Any:
    import eventide as ev

    return ev.query(
        f"DEFINE R AS kind = 'A' AND value < {below}, X AS true PATTERN SEQ(R a, X c) WITHIN 10 seconds "
        "RETURN a.ts AS a_ts, c.ts AS c_ts",
        ts="ts",
        partition_by=["key"],
    )


def _joined(frame: Any, a: str, c: str, within: str) -> Any:
    """SEQ(A a, C c) as a join."""
    first = frame.where(a).selectExpr("key", "ts AS a_ts")
    last = frame.where(c).selectExpr("key", "ts AS c_ts")
    return first.join(last, "key").where(f"a_ts < c_ts AND c_ts < a_ts + INTERVAL {within}")


@benchmark(
    "rare-step",
    events=10_000_000,
    summary="A rare event and then any event of its key within 10 s; 1,250 of 10 million events are rare, or 12. One "
    "Parquet file in time order. Result: all matches of both.",
)
def rare_step(context: Context) -> Path:
    return typed_file(context, "kinds", **EVENTS)


def _both(run: Callable[[float], Outcome]) -> Run:
    def both() -> Outcome:
        found = [run(below) for below in RARE.values()]
        return Outcome(sum(each.count or 0 for each in found), sum(each.checksum or 0 for each in found))

    return both


def _on_frame(path: Path, is_on: bool | None) -> Run:
    from contextlib import nullcontext

    from eventide.plan.reduce import reducing

    spark, patterns = start_session(), {below: _rare(below) for below in RARE.values()}

    def run(below: float) -> Outcome:
        with nullcontext() if is_on is None else reducing(is_on):
            return outcome_of_frame(patterns[below].run(spark.read.parquet(str(path))))

    return _both(run)


@rare_step.subject("Eventide Spark, DataFrame")
def _frame(path: Path, context: Context) -> Run:
    return _on_frame(path, None)


@rare_step.subject("Eventide Spark, DataFrame, all events exchanged")
def _frame_whole(path: Path, context: Context) -> Run:
    return _on_frame(path, is_on=False)


@rare_step.subject("Eventide Spark, path")
def _path(path: Path, context: Context) -> Run:
    spark, patterns = start_session(), {below: _rare(below) for below in RARE.values()}
    return _both(lambda below: outcome_of_frame(patterns[below].run(str(path), engine="spark", spark=spark)))


@rare_step.peer("Spark join")
def _join(path: Path, context: Context) -> Run:
    spark = start_session()

    def run(below: float) -> Outcome:
        rare = f"kind = 'A' AND value < {below}"
        return outcome_of_frame(_joined(spark.read.parquet(str(path)), rare, "true", "10 SECONDS"))

    return _both(run)


@benchmark(
    "last-times",
    events=10_000_000,
    summary="`SEQ(A a, C c)` by key within 80 s, both in the last 1 % of the time. One Parquet file in time order; "
    "its statistics tell which row groups those are. Result: all matches.",
)
def last_times(context: Context) -> Path:
    return typed_file(context, "kinds", **EVENTS)


def _since(path: Path) -> str:
    """The beginning of the last part, as a literal."""
    groups = pq.read_metadata(path)
    place = groups.schema.to_arrow_schema().get_field_index("ts")
    ends = [groups.row_group(i).column(place).statistics for i in range(groups.num_row_groups)]
    first, last = min(each.min for each in ends), max(each.max for each in ends)
    kind = "TIMESTAMP_NTZ" if first.tzinfo is None else "TIMESTAMP"
    return f"{kind} '{(last - LAST * (last - first)).isoformat(' ')}'"


def _latest(path: Path) -> Any:
    import eventide as ev

    since = _since(path)
    return ev.query(
        f"PATTERN SEQ(A a, C c) WHERE a.ts >= {since} AND c.ts >= {since} WITHIN 80 seconds "
        "RETURN a.ts AS a_ts, c.ts AS c_ts",
        ts="ts",
        partition_by=["key"],
        type="kind",
    )


@last_times.subject("Eventide local")
def _latest_local(path: Path, context: Context) -> Run:
    pattern = _latest(path)

    def run() -> Outcome:
        table = pattern.run(str(path))
        return Outcome(outcome_of_table(table).count)

    return run


@last_times.subject("Eventide Spark, path")
def _latest_path(path: Path, context: Context) -> Run:
    pattern, spark = _latest(path), start_session()
    return lambda: outcome_of_frame(pattern.run(str(path), engine="spark", spark=spark))


@last_times.subject("Eventide Spark, DataFrame")
def _latest_frame(path: Path, context: Context) -> Run:
    pattern, spark = _latest(path), start_session()
    return lambda: outcome_of_frame(pattern.run(spark.read.parquet(str(path))))


@last_times.peer("Spark join")
def _latest_join(path: Path, context: Context) -> Run:
    spark, since = start_session(), _since(path)

    def run() -> Outcome:
        a, c = (f"kind = '{kind}' AND ts >= {since}" for kind in "AC")
        return outcome_of_frame(_joined(spark.read.parquet(str(path)), a, c, "80 SECONDS"))

    return run
