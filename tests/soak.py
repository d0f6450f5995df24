"""Endurance: `python -m tests.soak [--kills N] [--events N]`.

A stream over files whose driver is killed with SIGKILL at random moments and started again. In the end the rows in
the file sink must be those of a batch run over the same events: none lost, none twice.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import eventide as ev

ROOT = Path(__file__).resolve().parent.parent
QUERY = """
PATTERN SEQ(A a, B b, C c)
WHERE b.value > a.value
SEMANTICS skip-till-next-match
WITHIN 2 seconds
RETURN key, a.ts AS a_ts, b.ts AS b_ts, c.ts AS c_ts, c.value - a.value AS rise
"""
OPTIONS: dict[str, Any] = {"ts": "ts", "type": "kind", "partition_by": ["key"], "allowed_lateness": "100 milliseconds"}
SORT = [(name, "ascending") for name in ("key", "a_ts", "b_ts", "c_ts", "rise")]


def drive(folder: Path) -> None:
    """The program that is killed: runs the stream to the end of its files."""
    from eventide.engines.spark.session import session

    spark = session("eventide soak")
    spark.conf.set("spark.sql.shuffle.partitions", 4)
    schema = spark.read.parquet(str(folder / "in")).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    rows = ev.query(QUERY, **OPTIONS).run(stream)
    writer = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "out")).awaitTermination()


def prepare(folder: Path, n_events: int, n_files: int) -> pa.Table:
    """Write the files, and one last event that decides all others; gives all events."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "in").mkdir(parents=True)
    table = ev.sample("typed", n_events, seed=3, keys=500, kinds=("A", "B", "C", "D"))
    size = -(-table.num_rows // n_files)
    for i in range(n_files):
        _write(table.slice(i * size, size), folder / "in", i)
    # Later than everything by more than the lateness.
    end = pc.add(table.slice(table.num_rows - 1).column("ts"), pa.scalar(60_000_000, pa.duration("us")))
    far = table.slice(0, 1).set_column(table.schema.get_field_index("ts"), "ts", end)
    _write(far.set_column(far.schema.get_field_index("kind"), "kind", pa.array(["D"])), folder / "in", n_files)
    return table


def _write(table: pa.Table, folder: Path, number: int) -> None:
    path = folder / f"{number:05}.parquet"
    pq.write_table(table, path)
    os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))


def soak(folder: Path, n_kills: int, chance: random.Random) -> int:
    """Start, kill, start again; the number of kills that hit a running stream."""
    kills = 0
    command = [sys.executable, "-m", "tests.soak", "--drive", str(folder)]
    while True:
        driver = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL)
        try:
            if kills < n_kills:
                _wait_for_commit(folder, driver, _n_commits(folder) + chance.randint(0, 2))
                time.sleep(chance.random() * 1.5)
            else:
                driver.wait(timeout=1800)
        finally:
            ended = driver.poll() is not None
            if not ended:
                os.killpg(driver.pid, signal.SIGKILL)
                driver.wait()
        if ended:
            if driver.returncode != 0:
                raise SystemExit(f"the stream failed with exit code {driver.returncode}")
            return kills
        kills += 1
        print(f"killed {kills} times, {_n_commits(folder)} batches committed", flush=True)


def _n_commits(folder: Path) -> int:
    commits = folder / "checkpoint" / "commits"
    return sum(not path.name.startswith(".") for path in commits.iterdir()) if commits.exists() else 0


def _wait_for_commit(folder: Path, driver: subprocess.Popen[bytes], number: int) -> None:
    deadline = time.monotonic() + 300
    while _n_commits(folder) <= number and driver.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)


def written_rows(folder: Path) -> pa.Table:
    """What the sink's log says was written: files of killed batches are not in it."""
    from eventide.engines.spark.session import session

    return session("eventide soak").read.parquet(str(folder / "out")).toArrow()


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill a stream and start it again.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drive", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.drive is not None:
        drive(arguments.drive)
        return 0
    folder = ROOT / "build" / "soak"
    events = prepare(folder, arguments.events, arguments.files)
    kills = soak(folder, arguments.kills, random.Random(arguments.seed))
    found, expected = (t.select([n for n, _ in SORT]).sort_by(SORT) for t in (written_rows(folder), _batch(events)))
    lost, extra = _difference(expected, found), _difference(found, expected)
    print(f"{kills} kills; {found.num_rows:,} rows in the sink, {expected.num_rows:,} in batch")
    print(f"lost {sum(lost.values())}, too many {sum(extra.values())}")
    return 0 if not lost and not extra and kills == arguments.kills else 1


def _batch(events: pa.Table) -> pa.Table:
    return ev.query(QUERY, **OPTIONS).run(events)


def _difference(left: pa.Table, right: pa.Table) -> Counter[tuple[Any, ...]]:
    if left.equals(right.cast(left.schema)):
        return Counter()
    rows = [Counter(zip(*(column.to_pylist() for column in t.columns), strict=True)) for t in (left, right)]
    return rows[0] - rows[1]


if __name__ == "__main__":
    sys.exit(main())
