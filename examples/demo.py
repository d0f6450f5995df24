"""The main job, end to end: a million car reports, a keyed three-step pattern, on Spark.

Run with `make demo`.
"""

from __future__ import annotations

import time
from pathlib import Path

import eventide as ev
from eventide.engines.spark.session import session

EVENTS = 1_000_000
QUERY = """
PATTERN SEQ(Sprint s, Speeding v, Braking b)     -- a car sprints, speeds, and brakes hard
PARTITION BY car_id
DEFINE Sprint AS accel > 8,
       Speeding AS speed > 70,
       Braking AS accel < -9
WHERE v.speed > s.speed + 10 AND b.speed < v.speed
SEMANTICS skip-till-next-match
WITHIN 45 seconds
RETURN car_id, s.ts AS sprint_at, v.speed AS mph, b.accel AS braking, b.ts AS brakes_at
"""


def main() -> None:
    path = Path("build/demo/cars.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    print(f"Generating {EVENTS:,} reports of 1,000 cars ...", flush=True)
    ev.generate("cars", events=EVENTS, output=path, seed=7)

    query = ev.query(QUERY, ts="ts")
    print("\n" + query.explain(path, engine="spark"), "\n", flush=True)

    print("Starting Spark ...", flush=True)
    spark = session("eventide demo")
    try:
        query.run(path, engine="spark", spark=spark).count()  # compiles the query's kernels, starts the workers
        started = time.perf_counter()
        rows = query.run(path, engine="spark", spark=spark)
        matches = rows.orderBy("sprint_at", "car_id").toArrow()
        seconds = time.perf_counter() - started
        spark.createDataFrame(matches.slice(0, 8)).show(truncate=False)
        report("Spark", matches.num_rows, seconds)
    finally:
        spark.stop()

    query.run(path)
    started = time.perf_counter()
    table = query.run(path)
    seconds = time.perf_counter() - started
    report("Embedded", table.num_rows, seconds)
    assert table.num_rows == matches.num_rows, "the engines disagree"


def report(engine: str, n_matches: int, seconds: float) -> None:
    rate = EVENTS / seconds / 1e6
    print(f"{engine + ':':<10}{n_matches:,} matches in {EVENTS:,} events, {seconds:.2f} s, {rate:.1f} million events/s")


if __name__ == "__main__":
    main()
