"""Benchmarks of situation queries: aggressive drivers, a disconnected pattern, detection latency, plan adaption.

Limit of the first: a kernel that scans the file and derives the three situations, with one state a car.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numba import njit

from benchmarks.intervals import N_CARS, cars_file
from benchmarks.limits import scan
from benchmarks.registry import Context, Outcome, Run, benchmark
from benchmarks.session import start_session
from eventide.generate import generate

DRIVERS = """PARTITION BY car_id
DEFINE A AS accel > 8 FOR AT LEAST 5 seconds,
       B AS speed > 70 FOR BETWEEN 4 seconds AND 30 seconds,
       C AS accel < -9 FOR AT LEAST 3 seconds
PATTERN A meets|overlaps|starts|during B AND B contains|finished-by|overlaps|meets C AND A before C
WITHIN 5 minutes
RETURN first(B.car_id) AS id, avg(B.speed) AS avg_speed"""
COLUMNS = ("car_id", "ts", "speed", "accel")


@benchmark(
    "drivers",
    events=10_000_000,
    summary="Aggressive drivers, with durations, early emission and two aggregates, over one Parquet file in time "
    "order with 1,000 cars. The limit derives the situations of the query and does not match.",
)
def drivers(context: Context) -> Path:
    return cars_file(context)


@njit(cache=True, nogil=True)
def derive(car: Any, ts: Any, speed: Any, accel: Any, low: int, high: int, bounds: Any, out: Any) -> int:
    """Situations that last as long as they must: car, symbol, start, end."""
    start = np.zeros((high - low, 3), np.int64)
    n = 0
    for i in range(car.size):
        if car[i] < low or car[i] >= high:
            continue
        c = car[i] - low
        for k in range(3):
            holds = speed[i] > 70 if k == 1 else (accel[i] > 8 if k == 0 else accel[i] < -9)
            if holds:
                if start[c, k] == 0:
                    start[c, k] = ts[i]
            elif start[c, k] != 0:
                lasted = ts[i] - start[c, k]
                if bounds[k, 0] <= lasted <= bounds[k, 1]:
                    out[n, 0], out[n, 1], out[n, 2], out[n, 3] = car[i], k, start[c, k], ts[i]
                    n += 1
                start[c, k] = 0
    return n


@drivers.limit("Numba kernel", note="scan and derive")
def _kernel(path: Path, context: Context) -> Run:
    threads = len(os.sched_getaffinity(0))
    bounds = np.array([[5, 1 << 40], [4, 30], [3, 1 << 40]], dtype=np.int64) * 1_000_000

    def run() -> Outcome:
        table = pq.read_table(path, columns=list(COLUMNS))
        car, speed, accel = (table.column(name).to_numpy() for name in ("car_id", "speed", "accel"))
        ts = table.column("ts").to_numpy().astype("datetime64[us]").astype(np.int64)
        borders = [N_CARS * i // threads for i in range(threads + 1)]

        def share(i: int) -> int:
            out = np.empty((car.size // 4, 4), np.int64)
            return derive(car, ts, speed, accel, borders[i], borders[i + 1], bounds, out)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(share, range(threads)))
        return Outcome()

    return run


@drivers.limit("PyArrow scan")
def _scan(path: Path, context: Context) -> Run:
    return scan(path, COLUMNS)


def _outcome(table: pa.Table) -> Outcome:
    return Outcome(table.num_rows, int(pc.sum(table.column("id")).as_py() or 0))


@drivers.subject("Eventide local")
def _local(path: Path, context: Context) -> Run:
    import eventide as ev

    asked = ev.query(DRIVERS)
    return lambda: _outcome(asked.run(path))


@drivers.subject("Eventide Spark, path")
def _spark(path: Path, context: Context) -> Run:
    import eventide as ev

    spark = start_session()
    asked = ev.query(DRIVERS)

    def run() -> Outcome:
        from pyspark.sql import functions as sf

        frame = asked.run(path, engine="spark", spark=spark)
        ((n, total),) = frame.agg(sf.count(sf.lit(1)), sf.sum("id")).collect()
        return Outcome(n, int(total or 0))

    return run


# --- a disconnected pattern -------------------------------------------------------------------------------

WINDOWS_S = (500, 2_000, 10_000, 50_000, 100_000)
NAIVE_UP_TO_S = 10_000
DISCONNECTED = "DEFINE A AS a, B AS b, C AS c, D AS d PATTERN A starts B before C overlaps D WITHIN {} seconds"


@benchmark(
    "situation-windows",
    events=2_000_000,
    summary="`A starts B before C overlaps D` over one boolean stream (10 to 100 s, gaps 10 to 50 s), complete "
    "emission, in windows of 500 s to 100,000 s; beside it a join of the derived situations in DuckDB, where the "
    f"window is at most {NAIVE_UP_TO_S:,} s. Result: all matches.",
)
def windows(context: Context) -> Path:
    return context.cached(
        f"situations-{context.events}.parquet",
        lambda path: generate("situations", events=context.events, output=path, seed=1, columns=4),
    )


@windows.subject("Eventide local")
def _windows_local(path: Path, context: Context) -> Run:
    import eventide as ev

    def run() -> Outcome:
        rows, total = [], 0
        for seconds in WINDOWS_S:
            began = time.perf_counter()
            n = ev.query(DISCONNECTED.format(seconds) + " EMIT ON COMPLETE").run(path).num_rows
            spent = time.perf_counter() - began
            rows.append({"window s": seconds, "matches": n, "s": round(spent, 3), "µs a match": _per(spent, n)})
            total += n if seconds <= NAIVE_UP_TO_S else 0
        return Outcome(total, details={"Eventide by window": rows})

    return run


def _per(seconds: float, n: int) -> float:
    return round(seconds / max(n, 1) * 1e6, 2)


@windows.peer("DuckDB join", note=f"windows up to {NAIVE_UP_TO_S:,} s; situations derived by Eventide")
def _windows_naive(path: Path, context: Context) -> Run:
    import duckdb

    import eventide as ev

    def run() -> Outcome:
        found = ev.query(DISCONNECTED.format(1)).situations(path)
        connection = duckdb.connect()
        connection.register("found", found.filter(pc.is_valid(found.column("end"))))
        connection.execute('CREATE TABLE s AS SELECT symbol, start AS b, "end" AS e FROM found')
        total, rows = 0, []
        for seconds in (each for each in WINDOWS_S if each <= NAIVE_UP_TO_S):
            began = time.perf_counter()
            ((n,),) = connection.execute(
                "SELECT count(*) FROM s a, s b, s c, s d WHERE a.symbol = 'A' AND b.symbol = 'B' AND c.symbol = 'C' "
                "AND d.symbol = 'D' AND a.b = b.b AND a.e < b.e AND b.e < c.b "
                "AND c.b < d.b AND d.b < c.e AND c.e < d.e "
                f"AND greatest(a.e, b.e, c.e, d.e) - least(a.b, b.b, c.b, d.b) <= INTERVAL {seconds} SECONDS"
            ).fetchall()
            spent = time.perf_counter() - began
            rows.append({"window s": seconds, "matches": n, "s": round(spent, 3), "µs a match": _per(spent, n)})
            total += n
        return Outcome(total, details={"DuckDB by window": rows})

    return run


# --- detection latency ------------------------------------------------------------------------------------

RATIOS = (("2:1", (5, 50)), ("1:1", (10, 100)), ("1:2", (20, 200)))
_RELATIONS = ("before", "meets", "overlaps", "starts", "during", "finishes", "equals", "contains", "finished-by")


@benchmark(
    "situation-latency",
    events=400_000,
    summary="Detection latency in the time of the events: the mean time from a match's first instant to its detection, "
    "early emission against waiting for all ends, by relation and by the ratio of durations. Theory: the third of the "
    "four end points. Result: the matches, and how many were not detected at that instant.",
)
def latency(context: Context) -> dict[str, Path]:
    return {
        ratio: context.cached(
            f"latency-{ratio.replace(':', '-')}-{context.events}.parquet",
            lambda path, b=durations: generate(
                "situations", events=context.events, output=path, seed=1, columns=2, durations=[(10, 100), b]
            ),
        )
        for ratio, durations in RATIOS
    }


@latency.subject("Eventide local")
def _latency(paths: dict[str, Path], context: Context) -> Run:
    import eventide as ev

    def run() -> Outcome:
        rows, n_all, n_wrong = [], 0, 0
        for relation in _RELATIONS:
            row: dict[str, Any] = {"relation": relation}
            for ratio, path in paths.items():
                text = f"DEFINE A AS a, B AS b PATTERN A {relation} B WITHIN 1000 seconds"
                early, late = (
                    ev.query(text + emit + " RETURN start(A) AS a0, start(B) AS b0, end(A) AS a1, end(B) AS b1").run(
                        path
                    )
                    for emit in ("", " EMIT ON COMPLETE")
                )
                e, c = (_times(table) for table in (early, late))
                # Early matches fit into the window where complete ones may not: those of both are compared.
                known = {(a, b): i for i, (a, b) in enumerate(zip(c["a0"], c["b0"], strict=True))}
                both = [(i, known[pair]) for i, pair in enumerate(zip(e["a0"], e["b0"], strict=True)) if pair in known]
                mine, theirs = (np.array([pair[side] for pair in both], dtype=np.int64) for side in (0, 1))
                first = np.minimum(c["a0"], c["b0"])[theirs]
                ends = np.stack([c[name][theirs] for name in ("a0", "a1", "b0", "b1")])
                theory = np.sort(ends, axis=0)[2]
                n_all += mine.size
                n_wrong += int((e["at"][mine] != theory).sum())
                spent, waited = (e["at"][mine] - first).sum(), (c["at"][theirs] - first).sum()
                row[f"{ratio} early/late"] = round(float(spent / waited), 3) if mine.size else None
            rows.append(row)
        checked = [{"matches of both": n_all, "not detected at the third end point": n_wrong}]
        return Outcome(n_all, n_wrong, details={"Latency against waiting for all ends": rows, "Theory": checked})

    return run


def _times(table: pa.Table) -> dict[str, Any]:
    names = {"a0": "a0", "b0": "b0", "a1": "a1", "b1": "b1", "at": "detected_at"}
    return {short: pc.fill_null(table.column(name).cast(pa.int64()), 0).to_numpy() for short, name in names.items()}


# --- plan adaption ----------------------------------------------------------------------------------------

ADAPTION = "DEFINE A AS a, B AS b, C AS c PATTERN A before B AND A before C AND B before C WITHIN 3000 seconds"
RATES = ([1, 1, 1], [1, 50, 50], [50, 1, 50])


@benchmark(
    "situation-adaption",
    events=3_000_000,
    summary="`A before B AND A before C AND B before C` while the rates of the situations change from 1:1:1 to 1:50:50 "
    "to 50:1:50: the adaptive order of evaluation beside every fixed one, by phase. Result: all matches.",
)
def adaption(context: Context) -> Path:
    phase_s = context.events // 3
    return context.cached(
        f"adaption-{context.events}.parquet",
        lambda path: generate(
            "situations", events=context.events, output=path, seed=1, columns=3, rates=RATES, phase_s=phase_s
        ),
    )


@adaption.subject("Eventide local")
def _adaption(path: Path, context: Context) -> Run:
    import eventide as ev
    from eventide.engines.intake import take_in
    from eventide.engines.raw_columns import raw_columns
    from eventide.families.registry import make_operator
    from eventide.families.situations.operator import SituationOperator

    table = pq.read_table(path)
    physical = ev.query(ADAPTION).plan(table.schema)
    raw = raw_columns(table, physical, ("UTC", None))
    pieces = [take_in(raw.slice(i, 20_000), physical.intake)[0] for i in range(0, raw.num_rows, 20_000)]
    thirds = np.array_split(np.arange(len(pieces)), 3)

    def walk(order: tuple[int, ...] | None) -> tuple[list[float], int]:
        operator = make_operator(physical.spec)
        assert isinstance(operator, SituationOperator)
        if order is not None:
            operator.program.fix(order)
        spent, n = [], 0
        for third in thirds:
            began = time.perf_counter()
            for i in third:
                ts = pieces[i].column("ts")
                n += sum(batch.num_rows for batch in operator.process(pieces[i], pc.max(ts).as_py()))
            spent.append(time.perf_counter() - began)
        return spent, n

    def run() -> Outcome:
        # Only the begin of C decides: it is bound first.
        fixed = [(2, *others) for others in permutations(range(2))]
        orders: dict[str, tuple[int, ...] | None] = {"adaptive": None}
        orders |= {" -> ".join("ABC"[k] for k in each): each for each in fixed}
        # One after the other, several times, and the best of each: the machine is shared.
        walked: dict[str, list[list[float]]] = {name: [] for name in orders}
        counts = set()
        for _ in range(3):
            for name, order in orders.items():
                spent, n = walk(order)
                walked[name].append(spent)
                counts.add(n)
        assert len(counts) == 1
        rows: list[dict[str, Any]] = []
        for name, runs in walked.items():
            best_of = [min(each) for each in zip(*runs, strict=True)]
            rows.append({"order": name, **{f"phase {i + 1} s": round(each, 3) for i, each in enumerate(best_of)}})
        best = [min(row[f"phase {i} s"] for row in rows[1:]) for i in (1, 2, 3)]
        ratios = {f"phase {i + 1} s": round(rows[0][f"phase {i + 1} s"] / best[i], 3) for i in range(3)}
        return Outcome(counts.pop(), details={"By phase": [*rows, {"order": "adaptive / best fixed", **ratios}]})

    return run
