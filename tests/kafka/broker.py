"""A real Apache Kafka broker in KRaft mode, in a temporary folder on free ports.

    with Broker() as broker:
        broker.create_topic("orders", partitions=2)
        broker.produce("orders", [b"value", ("key", "value")])
        broker.servers, broker.consume("orders"), broker.restart()

It dies with the process that started it. `session_settings()` are what a Spark session needs to read from it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.kafka.artifacts import ROOT, broker_jars, connector_jars

Payload = bytes | str | None
# For some minutes a JVM is better off without its second compiler and without threads for its garbage.
_JAVA = ("java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_START_S = 90.0


@dataclass(frozen=True, slots=True)
class Record:
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


def session_settings() -> dict[str, str]:
    """The connector and Avro support for a session's builder; fetched when they are not there."""
    return {"spark.jars": ",".join(str(path) for path in connector_jars())}


class Broker:
    """One broker that is its own controller. Data and ports stay the same over `stop` and `start`.

    `settings` are further lines of its configuration; `java` replaces the options of its JVM.
    """

    def __init__(self, settings: dict[str, str] | None = None, java: Iterable[str] = _JAVA) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="eventide-kafka-"))
        self._port, controller = _free_ports(2)
        self._guard: subprocess.Popen[bytes] | None = None
        self._java = [*java, "-cp", os.pathsep.join(str(path) for path in broker_jars())]
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{self._port},CONTROLLER://127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            "log.dirs": str(self._folder / "data"),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
            # It fetches from nobody, so it need not hold on to what others might still ask for.
            "controlled.shutdown.enable": "false",
            **(settings or {}),
        }
        self._settings = self._folder / "server.properties"
        self._settings.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    def __enter__(self) -> Broker:
        try:
            self._format()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _format(self) -> None:
        command = [*self._java, "kafka.tools.StorageTool", "format", "--standalone"]
        command += ["-t", "eventide-kafka-tests-0", "-c", str(self._settings)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"Kafka cannot format its storage: {done.stdout}")

    def start(self) -> None:
        """Start, and return when it answers."""
        with (self._folder / "log.txt").open("ab") as log:
            self._guard = subprocess.Popen(
                [sys.executable, "-m", "tests.kafka.guard", *self._java, "kafka.Kafka", str(self._settings)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + _START_S
        while not self._answers():
            if self._guard.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Kafka did not start: {self.log()[-2000:]}")
            time.sleep(0.2)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", self._port)) != 0:
                return False
        try:
            return bool(self.admin().list_topics(timeout=5).brokers)
        except _client().KafkaException:
            return False

    def stop(self, now: bool = False) -> None:
        """End the broker in good order, or `now`, as a crash would; its data stays."""
        guard, self._guard = self._guard, None
        if guard is None or guard.stdin is None:
            return
        if not now and guard.poll() is None:
            guard.stdin.write(b"stop\n")
            guard.stdin.flush()
            with contextlib.suppress(subprocess.TimeoutExpired):
                guard.wait(10)
        guard.stdin.close()
        guard.wait()

    def restart(self, away_s: float = 0.0, now: bool = False) -> None:
        """Stop, stay away for some seconds, start again."""
        self.stop(now)
        time.sleep(away_s)
        self.start()

    def close(self) -> None:
        """End the broker and remove its data."""
        self.stop(now=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def log(self) -> str:
        path = self._folder / "log.txt"
        return path.read_text(errors="replace") if path.exists() else ""

    def create_topic(self, topic: str, partitions: int = 1, **settings: str) -> None:
        """A topic; settings such as `retention_ms="1000"`."""
        from confluent_kafka.admin import NewTopic

        config = {name.replace("_", "."): value for name, value in settings.items()}
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=config)
        admin = self.admin()
        admin.create_topics([new])[topic].result(30)
        deadline = time.monotonic() + 30
        while not self._has_leaders(topic, partitions):
            if time.monotonic() > deadline:
                raise RuntimeError(f"topic {topic} has no leader")
            time.sleep(0.05)

    def _has_leaders(self, topic: str, partitions: int) -> bool:
        found = self.admin().list_topics(topic, timeout=10).topics[topic].partitions
        return len(found) == partitions and all(one.leader >= 0 for one in found.values())

    def produce(
        self, topic: str, records: Iterable[Payload | tuple[Payload, Payload]], partition: int | None = None
    ) -> None:
        """Send values, or (key, value) pairs; all are acknowledged on return. None is a NULL."""
        producer = _client().Producer({"bootstrap.servers": self.servers, "linger.ms": 5})
        failed: list[Any] = []
        place = {} if partition is None else {"partition": partition}

        def note(error: Any, _: Any) -> None:
            if error is not None:
                failed.append(error)

        for record in records:
            key, value = record if isinstance(record, tuple) else (None, record)
            while True:
                try:
                    producer.produce(topic, value=value, key=key, on_delivery=note, **place)
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(60) or failed:
            raise RuntimeError(f"not every record was produced to {topic}: {failed[:1]}")

    def consume(self, topic: str) -> list[Record]:
        """Everything in the topic now, by partition and offset."""
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        settings = {"bootstrap.servers": self.servers, "group.id": "tests", "enable.auto.commit": False}
        consumer = _client().Consumer({**settings, "isolation.level": "read_committed"})
        try:
            places = [TopicPartition(topic, idx, OFFSET_BEGINNING) for idx in self._partitions(topic)]
            ends = {place.partition: consumer.get_watermark_offsets(place, timeout=30) for place in places}
            consumer.assign(places)
            records: list[Record] = []
            deadline = time.monotonic() + 60
            while any(one.offset < ends[one.partition][1] for one in self._positions(consumer, places, ends)):
                if time.monotonic() > deadline:
                    raise RuntimeError(f"topic {topic} cannot be read to its end")
                records += [_record(message) for message in consumer.consume(10_000, timeout=0.2)]
        finally:
            consumer.close()
        return sorted(records, key=lambda record: (record.partition, record.offset))

    def _positions(self, consumer: Any, places: list[Any], ends: dict[int, tuple[int, int]]) -> list[Any]:
        """Where the consumer stands; before its first record at the topic's beginning."""
        positions = consumer.position(places)
        for one in positions:
            if one.offset < 0:
                one.offset = ends[one.partition][0]
        return positions

    def _partitions(self, topic: str) -> list[int]:
        return sorted(self.admin().list_topics(topic, timeout=30).topics[topic].partitions)

    def admin(self) -> Any:
        """A client that changes topics; what it promises comes only as long as it is held."""
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})


def _record(message: Any) -> Record:
    if message.error():
        raise RuntimeError(str(message.error()))
    where = message.topic(), message.partition(), message.offset()
    return Record(*where, message.timestamp()[1], message.key(), message.value())


def _client() -> Any:
    import confluent_kafka

    return confluent_kafka


def _free_ports(n: int) -> list[int]:
    sockets = [socket.socket() for _ in range(n)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
