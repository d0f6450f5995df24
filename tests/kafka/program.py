"""The end-to-end program: one broker, one Spark session, all that the tests ask; facts as JSON into the file named.

A process of its own, since a session gets its connector only when its JVM starts. EVENTIDE_KAFKA_AWAY_S is how long
the broker is away in the middle.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import eventide as ev
from eventide.engines.spark.exposition import expose
from tests.kafka.artifacts import ROOT
from tests.kafka.broker import Broker, Record, session_settings
from tests.kafka.records import AVRO, BROKEN, CHANGED, SCHEMA, SCHEMA_ID, avro_records, mixed, orders, to_json

QUERY = "PATTERN SEQ(Login L, Buy B) PARTITION BY user WITHIN 2 minutes RETURN L.user, L.ts AS login, B.amount"
HALF = 120
# The broker asks for none of these; they only must not be found anywhere afterwards.
SECRET = "hunter2"
LOGIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="{SECRET}";'
SECRETS = {"kafka.sasl.jaas.config": LOGIN, "kafka.ssl.keystore.password": SECRET, "kafka.ssl.key.password": SECRET}


def query() -> Any:
    return ev.query(QUERY, ts="ts", type="kind", match_id=True, allowed_lateness="1 hour")


def events() -> list[dict[str, Any]]:
    """All orders, and one long after them, which moves the watermark past them."""
    last = orders(1, first=2 * HALF + 10_000)[0] | {"user": "late", "kind": "View"}
    return [*orders(HALF), *orders(HALF, first=HALF), last]


def start_session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # As in tools/run_tests.py: most of this program is the start of things.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.python.daemon.module": "tests.daemon",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        "spark.log.level": "OFF",
        **session_settings(),
    }
    builder = SparkSession.builder.appName("eventide kafka tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run_through_an_outage(spark: Any, broker: Broker, work: Path) -> dict[str, Any]:
    """JSON to matches in a topic; in the middle the broker goes away, and the producer's schema changes."""
    broker.create_topic("orders", partitions=2)
    broker.create_topic("matches")
    all_events = events()
    keyed = {to_json(event): event["user"] for event in all_events}
    first = mixed([to_json(event) for event in all_events[:HALF]], BROKEN)
    later = [to_json(event, channel="web") for event in all_events[HALF:]]
    later[1::2] = [value.replace(b'"amount": null, ', b"") for value in later[1::2]]
    source = ev.kafka.read(spark, broker.servers, "orders", schema=SCHEMA, max_events_per_batch=100, options=SECRETS)
    listener = ev.metrics.listen(spark)
    running = ev.kafka.write(
        query().run(source.events),
        broker.servers,
        "matches",
        checkpoint=work / "matches",
        trigger="200 milliseconds",
        options=SECRETS,
    )
    broker.produce("orders", [(keyed.get(value) if value else None, value) for value in first])
    running.processAllAvailable()
    broker.restart(away_s=float(os.environ.get("EVENTIDE_KAFKA_AWAY_S", "3")), now=True)
    was_active = running.isActive
    broker.produce("orders", mixed(later[:-1], CHANGED))
    running.processAllAvailable()
    broker.produce("orders", later[-1:])
    running.processAllAvailable()
    running.stop()
    told = {
        "explain": query().explain(source.events),
        "progress": "".join(progress.json for progress in running.recentProgress),
        "metrics": repr(ev.metrics.of(running)) + expose(listener),
        "checkpoint": b"".join(path.read_bytes() for path in (work / "matches").rglob("*") if path.is_file()).hex(),
    }
    listener.stop()
    seen = [
        metric.asDict()
        for progress in running.recentProgress
        for name, metric in progress.observedMetrics.items()
        if name.startswith("eventide_source")
    ]
    return {
        "survived": was_active,
        "told": told,
        "matches": [[_text(record.key), _text(record.value)] for record in broker.consume("matches")],
        "events": sum(metric["events"] for metric in seen),
        "bad_records": sum(metric["bad_records"] for metric in seen),
    }


def run_all_formats(spark: Any, broker: Broker, work: Path) -> dict[str, Any]:
    """Events and bad records of three topics, in one query, beside what the topics hold."""
    broker.create_topic("avro")
    broker.create_topic("raw")
    broker.produce("avro", avro_records(orders(20))[0])
    broker.produce("raw", [("k", "text"), (None, None), ("k", b"\xff")])
    options: dict[str, Any] = {"metadata": True}
    sources = [
        ev.kafka.read(spark, broker.servers, "orders", schema=SCHEMA, **options),
        ev.kafka.read(spark, broker.servers, "avro", schema=AVRO, format="avro", registry_header=SCHEMA_ID, **options),
        ev.kafka.read(spark, broker.servers, "raw", format="raw", **options),
    ]
    parts = [
        part for source in sources for part in (_seen(source.events, "kafka_timestamp"), _seen(source.bad, "timestamp"))
    ]
    rows = functools.reduce(lambda one, other: one.union(other), parts)
    writer = rows.writeStream.format("memory").queryName("seen").option("checkpointLocation", str(work / "seen"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return {
        "rows": [json.loads(row[0]) for row in spark.table("seen").collect()],
        "topics": [_facts(record) for topic in ("orders", "avro", "raw") for record in broker.consume(topic)],
    }


def _seen(frame: Any, time_column: str) -> Any:
    """A row per record as JSON: its place, its time, and the other columns below `columns`."""
    from pyspark.sql import functions as sf

    names = ["topic", "partition", "offset"]
    others = [name for name in frame.columns if name not in (*names, time_column)]
    at = sf.unix_millis(time_column).alias("timestamp_ms")
    form = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
    return frame.select(sf.to_json(sf.struct(*names, at, sf.struct(*others).alias("columns")), form))


def lose_data(spark: Any, broker: Broker, work: Path) -> dict[str, Any]:
    """Records that Kafka deletes before the stream has read them."""
    from confluent_kafka import TopicPartition

    broker.create_topic("short")

    def read() -> str | None:
        source = ev.kafka.read(spark, broker.servers, "short", format="raw")
        running = ev.kafka.write(source.events, broker.servers, "raw", checkpoint=work / "short", once=True)
        try:
            running.awaitTermination()
        except Exception as error:
            return str(error)
        return None

    broker.produce("short", ["1", "2"])
    before = read()
    broker.produce("short", ["3", "4", "5"])
    admin = broker.admin()
    for future in admin.delete_records([TopicPartition("short", 0, 4)]).values():
        future.result(30)
    return {"before": before, "after": read()}


def run_example(spark: Any, broker: Broker, work: Path) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("kafka_example", ROOT / "examples" / "kafka.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    for topic in ("shop", "purchases", "shop-bad"):
        broker.create_topic(topic)
    broker.produce("shop", [*(to_json(event) for event in events()), b"junk"])
    topics = {"source": "shop", "target": "purchases", "bad": "shop-bad"}
    running = example.start(spark, broker.servers, str(work / "example"), **topics)
    for one in running:
        one.processAllAvailable()
        one.stop()
    return {topic: [_text(record.value) for record in broker.consume(topic)] for topic in ("purchases", "shop-bad")}


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _facts(record: Record) -> dict[str, Any]:
    value = None if record.value is None else record.value.hex()
    place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    return {**place, "timestamp_ms": record.timestamp_ms, "value": value}


def main(target: Path) -> int:
    parts: list[Callable[[Any, Broker, Path], dict[str, Any]]]
    parts = [run_through_an_outage, run_all_formats, lose_data, run_example]
    facts: dict[str, Any] = {}
    begun = time.monotonic()
    with ThreadPoolExecutor(1) as pool, tempfile.TemporaryDirectory() as work:
        session = pool.submit(start_session)
        with Broker() as broker:
            spark = session.result()
            for part in parts:
                print(f"{time.monotonic() - begun:.0f} s: {part.__name__}", flush=True)
                facts[part.__name__] = part(spark, broker, Path(work))
            spark.stop()
    print(f"{time.monotonic() - begun:.0f} s: done", flush=True)
    target.write_text(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
