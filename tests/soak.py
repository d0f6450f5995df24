"""Endurance: `python -m tests.soak [--kills N] [--events N] [--families pattern,trends] [--kafka | --flat]`.

A stream whose driver is killed with SIGKILL at random moments and started again. In the end a file sink must hold the
rows of a batch run over the same events, none lost and none twice; a Kafka topic the same rows, where repeats with the
same match_id count once. With Kafka the broker is restarted, too.

With `--flat` nothing is killed: aggregates over windows take so many events in micro-batches, each restored from the
state of the one before, and the state must not grow.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import eventide as ev
from tests.micro_batches import Stream

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = "key bigint, ts timestamp, kind string, value bigint"
IN, OUT = "soak-events", "soak-{}"
OPTIONS: dict[str, Any] = {"ts": "ts", "partition_by": ["key"], "allowed_lateness": "100 milliseconds"}
PATTERN = """
PATTERN SEQ(A a, B b, C c)
WHERE b.value > a.value
SEMANTICS skip-till-next-match
WITHIN 2 seconds
RETURN key, a.ts AS a_ts, b.ts AS b_ts, c.ts AS c_ts, c.value - a.value AS rise
"""
TRENDS = "PATTERN SEQ(A a+, B b) SEMANTICS any WITHIN 2 seconds SLIDE 1 second RETURN key, COUNT(*) AS n"
SITUATIONS = """
DEFINE Low AS value < 3000, Often AS kind IN ('A', 'B')
PATTERN Low overlaps|during Often WITHIN 5 seconds
RETURN key, start(Low) AS low, start(Often) AS often, count(Low.*) AS n
"""
# The event that decides all others would have windows of its own.
WINDOWS = """
FROM events
WHERE key >= 0
GROUP BY key
WITHIN 2 seconds SLIDE 300 milliseconds
RETURN key, count(*) AS n, sum(value) AS total, max(value) AS top, last(kind) AS kind
"""
SESSIONS = "FROM events WHERE key >= 0 GROUP BY key SESSION 200 milliseconds RETURN key, count(*) AS n"
POSITIONS = """
FROM events
WHERE key >= 0
GROUP BY key
WITHIN 20 EVENTS SLIDE 7 EVENTS
RETURN key, count(*) AS n, sum(value) AS total
HAVING n = 20
"""
UNANSWERED = (
    ev.Pattern.begin("a", "kind = 'A'")
    .followed_by("b", "kind = 'B' AND value > a.value")
    .followed_by("c", "kind = 'C'")
    .within("2 seconds")
)

WINDOWED = {
    name: ev.query(text, ts="ts", allowed_lateness=OPTIONS["allowed_lateness"])
    for name, text in (("windows", WINDOWS), ("sessions", SESSIONS), ("positions", POSITIONS))
}

Family = Callable[[Any], Any]
FAMILIES: dict[str, Family] = {
    "pattern": ev.query(PATTERN, type="kind", match_id=True, **OPTIONS).run,
    **{name: query.run for name, query in WINDOWED.items()},
    "trends": ev.query(TRENDS, type="kind", **OPTIONS).run,
    "rows": ev.match_recognize(
        partition_by="key",
        order_by=["ts", "value"],
        pattern="A B+ C",
        within="5 seconds",
        define={"A": "kind = 'A'", "B": "value > PREV(value)", "C": "value < PREV(value)"},
        measures={"first_ts": "A.ts", "n": "count(B.*)", "top": "LAST(B.value)"},
        allowed_lateness=OPTIONS["allowed_lateness"],
        match_id=True,
    ),
    "timeouts": lambda events: (
        ev.detect(
            events, UNANSWERED, select={"n": "count(b.*)", "last": "b.value"}, skip="past_last", **OPTIONS
        ).timeouts
    ),
    "situations": ev.query(SITUATIONS, **OPTIONS).run,
    "intervals": lambda events: ev.intervals.homogeneous(
        events, "value >= 2000", occurrences=(2, None), within="3 seconds", value={"top": "max(value)"}, **OPTIONS
    ),
}


def drive(folder: Path, families: Sequence[str], servers: str | None) -> None:
    """The program that is killed: runs the streams to the end of what there is to read."""
    from eventide.engines.spark.session import session

    settings = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "2g"}
    if servers is not None:
        from tests.kafka.broker import session_settings

        settings |= session_settings()
    run_streams(session("eventide soak", settings), folder, families, servers)


def run_streams(spark: Any, folder: Path, families: Sequence[str], servers: str | None = None) -> None:
    """One stream for each family, all at once; returns when all have read everything."""
    running = []
    for name in families:
        checkpoint = folder / "checkpoint" / name
        if servers is None:
            files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
            rows = FAMILIES[name](files)
            running.append(ev.write_stream(rows, to=folder / "out" / name, checkpoint=checkpoint, once=True))
        else:
            most = int((folder / "batch").read_text())
            events = ev.kafka.read(spark, servers, IN, schema=SCHEMA, max_events_per_batch=most).events
            rows = FAMILIES[name](events)
            running.append(ev.kafka.write(rows, servers, OUT.format(name), checkpoint=checkpoint, once=True))
    for query in running:
        query.awaitTermination()


def make_events(n_events: int, n_keys: int = 500) -> pa.Table:
    """Random events, and one long after them that decides all others."""
    table = ev.sample("typed", n_events, seed=3, keys=n_keys, kinds=("A", "B", "C", "D"))
    utc = pa.timestamp("us", "UTC")
    table = pa.table(
        {
            "key": table.column("key").cast(pa.int64()),
            "ts": table.column("ts").cast(pa.int64()).cast(utc),
            "kind": table.column("kind").cast(pa.string()),
            "value": pc.round(pc.multiply(table.column("value"), 100)).cast(pa.int64()),
        }
    )
    last = pc.max(table.column("ts")).cast(pa.int64()).as_py() + 3_600_000_000
    end = {"key": [-1], "ts": pa.array([last]).cast(utc), "kind": ["D"], "value": [0]}
    return pa.concat_tables([table, pa.table(end, schema=table.schema)])


def write_files(folder: Path, events: pa.Table, n_files: int) -> None:
    """The events as files in their order, each a micro-batch; the last event alone in the last."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "in").mkdir(parents=True)
    size = -(-(events.num_rows - 1) // n_files)
    starts = [*range(0, events.num_rows - 1, size), events.num_rows - 1]
    for number, (start, stop) in enumerate(zip(starts, [*starts[1:], events.num_rows], strict=True)):
        path = folder / "in" / f"{number:05}.parquet"
        pq.write_table(events.slice(start, stop - start), path)
        os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))


def soak(
    folder: Path,
    families: Sequence[str],
    n_kills: int,
    chance: random.Random,
    servers: str | None = None,
    disturb: Callable[[int], None] = lambda kills: None,
    minutes: float = float("inf"),
) -> int:
    """Start and kill the driver until `n_kills` kills have hit running streams, or time is over; their number.

    `disturb` is called while the driver runs, with the number of kills so far. A driver that gives up, because the
    broker is away or a busy machine starts no worker in time, is started again as after a kill.
    """
    end = time.monotonic() + 60 * minutes
    command = [sys.executable, "-m", "tests.soak", "--drive", str(folder), "--families", ",".join(families)]
    command += ["--servers", servers] if servers is not None else []
    kills = crashes = 0
    while kills < n_kills and time.monotonic() < end:
        with (folder / "driver.log").open("ab") as log:
            # Its own group: the JVM dies with the driver.
            driver = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=log)
        try:
            disturb(kills)
            _wait_for_commits(folder, driver, n_commits(folder) + chance.randint(0, 2 * len(families)))
            time.sleep(chance.random() * 1.5)
        finally:
            ended = driver.poll() is not None
            if not ended:
                os.killpg(driver.pid, signal.SIGKILL)
                driver.wait()
        if not ended:
            kills += 1
            print(f"killed {kills} times, {n_commits(folder)} batches committed", flush=True)
        elif driver.returncode == 0:
            break
        else:
            crashes += 1
            said = [
                line for line in (folder / "driver.log").read_text(errors="replace").splitlines() if "Exception" in line
            ]
            print(f"the driver gave up: {said[-1][:300] if said else driver.returncode}", flush=True)
            if crashes > 5:
                raise SystemExit("the driver gave up too often")
    return kills


def n_commits(folder: Path) -> int:
    found = (folder / "checkpoint").glob("*/commits/*")
    return sum(not path.name.startswith(".") for path in found)


def _wait_for_commits(folder: Path, driver: subprocess.Popen[bytes], number: int) -> None:
    deadline = time.monotonic() + 300
    while n_commits(folder) <= number and driver.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)


def counted(table: pa.Table, names: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """The rows as tuples, times as microseconds, with how often each is there."""
    columns = []
    for name in names:
        column = table.column(name)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        columns.append(column.to_pylist())
    return Counter(zip(*columns, strict=True))


def compare_files(spark: Any, folder: Path, families: Sequence[str], events: pa.Table) -> tuple[int, int]:
    """How many rows are lost, and how many are too many; what the sink's log names is what was written."""
    lost = extra = 0
    for name in families:
        expected = FAMILIES[name](events)
        written = spark.read.parquet(str(folder / "out" / name)).toArrow()
        names = sorted(expected.schema.names)
        found, wanted = counted(written, names), counted(expected, names)
        print(f"{name}: {written.num_rows:,} rows in the sink, {expected.num_rows:,} in batch", flush=True)
        lost += (wanted - found).total()
        extra += (found - wanted).total()
    return lost, extra


def compare_topic(records: Sequence[Any], expected: pa.Table, name: str) -> tuple[int, int]:
    """As `compare_files`, for records by match_id: repeats are counted and dropped, and must be equal."""
    times = [field.name for field in expected.schema if pa.types.is_timestamp(field.type)]
    wanted = {}
    for row in expected.to_pylist():
        row.update({column: row[column] and row[column].timestamp() for column in times})
        wanted[row["match_id"]] = row
    found: dict[str, Any] = {}
    differing = 0
    for record in records:
        row = json.loads(record.value)
        row = {column: row.get(column) for column in expected.schema.names}
        row.update({column: row[column] and _seconds(row[column]) for column in times})
        key = record.key.decode()
        differing += found.setdefault(key, row) != row or key != row["match_id"]
    repeats = len(records) - len(found)
    print(f"{name}: {len(records):,} records, {repeats:,} of them repeats, {len(wanted):,} rows in batch", flush=True)
    lost = sum(found.get(key) != row for key, row in wanted.items())
    return lost, differing + len(found.keys() - wanted.keys())


def _seconds(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()


@contextmanager
def kafka(folder: Path, families: Sequence[str], events: pa.Table, n_batches: int) -> Iterator[Any]:
    """A broker with the events in a topic, and empty topics for the results."""
    from tests.kafka.broker import Broker

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "batch").write_text(str(-(-events.num_rows // n_batches)))
    with Broker() as broker:
        broker.create_topic(IN)
        for name in families:
            broker.create_topic(OUT.format(name), partitions=2)
        for block in events.to_batches(max_chunksize=50_000):
            broker.produce(IN, (_payload(row) for row in block.to_pylist()))
        yield broker


def _payload(row: dict[str, Any]) -> str:
    return json.dumps(row | {"ts": row["ts"].isoformat()})


def flat(name: str, n_events: int, batch_events: int = 20_000) -> bool:
    """Whether the state of a query stays as small as it was, over events that go on and on."""
    query, n_batches = WINDOWED[name], n_events // batch_events
    events = make_events(50 * batch_events).slice(0, 50 * batch_events)
    first, *_, last = events.column("ts").cast(pa.int64()).to_pylist()
    stream, sizes = Stream(query._plan(query.options, events.schema, on_stream=True)), []
    lateness_us = stream.physical.allowed_lateness_us
    for number in range(n_batches):
        turn, place = divmod(number, 50)
        part = events.slice(place * batch_events, batch_events)
        times_us = pc.add(part.column("ts").cast(pa.int64()), turn * (last - first + 1))
        part = part.set_column(1, "ts", times_us.cast(events.schema.field("ts").type))
        stream.step(part, pc.max(times_us).as_py() - lateness_us)
        stream.rows.clear()
        sizes.append(len(stream.snapshot.head) + sum(map(len, stream.snapshot.segments.values())))
    shown = [max(sizes[lo : lo + n_batches // 10]) for lo in range(0, n_batches, n_batches // 10)]
    print(f"{name}: bytes of state, the most in each tenth: {shown}", flush=True)
    return max(shown) <= 1.5 * max(shown[:3])


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill a stream and start it again.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=60, help="micro-batches")
    parser.add_argument("--families", default="pattern", help=f"some of {','.join(FAMILIES)}")
    parser.add_argument("--kafka", action="store_true", help="source and sink are topics")
    parser.add_argument("--flat", action="store_true", help="the state of windows over many events, without Spark")
    parser.add_argument("--restarts", type=int, default=3, help="of the broker")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no more kills after so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drive", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--servers", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    families = arguments.families.split(",")
    if arguments.drive is not None:
        drive(arguments.drive, families, arguments.servers)
        return 0
    if arguments.flat:
        return 0 if all([flat(name, arguments.events) for name in WINDOWED]) else 1
    chance = random.Random(arguments.seed)
    folder = ROOT / "build" / ("soak-kafka" if arguments.kafka else "soak")
    events = make_events(arguments.events)
    if arguments.kafka:
        lost, extra, kills = _soak_kafka(folder, families, events, arguments, chance)
    else:
        write_files(folder, events, arguments.files)
        kills = soak(folder, families, arguments.kills, chance, minutes=arguments.minutes)
        drive(folder, families, None)
        from eventide.engines.spark.session import session

        lost, extra = compare_files(session("eventide soak"), folder, families, events)
    print(f"{kills} kills; lost {lost}, too many {extra}")
    return 0 if lost == extra == 0 and kills == arguments.kills else 1


def _soak_kafka(
    folder: Path, families: Sequence[str], events: pa.Table, arguments: argparse.Namespace, chance: random.Random
) -> tuple[int, int, int]:
    with kafka(folder, families, events, arguments.files) as broker:
        when = set(chance.sample(range(1, arguments.kills), arguments.restarts))

        def disturb(kills: int) -> None:
            if kills in when:
                when.remove(kills)
                time.sleep(10 + 10 * chance.random())
                print("the broker goes away", flush=True)
                broker.restart(away_s=5, now=chance.random() < 0.5)

        kills = soak(folder, families, arguments.kills, chance, broker.servers, disturb, arguments.minutes)
        drive(folder, families, broker.servers)
        found = [compare_topic(broker.consume(OUT.format(name)), FAMILIES[name](events), name) for name in families]
    return sum(lost for lost, _ in found), sum(extra for _, extra in found), kills


if __name__ == "__main__":
    sys.exit(main())
