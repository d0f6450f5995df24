"""A session for a command with a view: what Java and Spark print goes into a pipe, not over the view."""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from eventide.engines.spark.kafka import coordinates
from eventide.engines.spark.session import NEEDS_JAVA, session
from eventide.errors import EventideError, InputError

_KEPT_LINES = 400
_PACKAGES = "spark.jars.packages"
_JARS = ("spark.jars", _PACKAGES)
_CONNECTOR = "spark-sql-kafka"
_UNRESOLVED = re.compile(r"unresolved dependency|UNRESOLVED DEPENDENCIES|module not found", re.IGNORECASE)


class Log:
    """What Java and Spark print: the last lines, and all of it in a file where the user wants one."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)

    @contextmanager
    def writer(self) -> Iterator[int]:
        """A file descriptor; processes that get it meanwhile print into the log for as long as they live."""
        reader, writer = os.pipe()
        threading.Thread(target=self._read, args=(reader,), daemon=True, name="log of Spark").start()
        try:
            yield writer
        finally:
            os.close(writer)

    def _read(self, reader: int) -> None:
        target = None if self.file is None else self.file.open("a", encoding="utf-8")
        with os.fdopen(reader, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                self.lines.append(line.rstrip("\n"))
                if target is not None:
                    target.write(line)
                    target.flush()


def quiet_session(
    name: str, log: Log, settings: Mapping[str, str], *, kafka: bool = False, avro: bool = False
) -> SparkSession:
    """A session that prints into the log; with the Kafka connector where it is needed and the settings lack it."""
    given = {"spark.log.level": "OFF" if log.file is None else "WARN", **settings}
    packages = coordinates(avro=avro) if kafka and not any(_CONNECTOR in given.get(each, "") for each in _JARS) else ""
    if packages:
        given[_PACKAGES] = ",".join(filter(None, (given.get(_PACKAGES), packages)))
    try:
        with log.writer() as output:
            return session(name, given, output)
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise not_started(list(log.lines), packages) from error


def is_alive(spark: SparkSession) -> bool:
    """Whether the Java process that we started still runs."""
    process = getattr(spark.sparkContext._gateway, "proc", None)
    return process is None or process.poll() is None


def not_started(printed: Sequence[str], packages: str) -> EventideError:
    """Why there is no session, out of what Java and Spark printed."""
    lines = [line.strip() for line in printed if line.strip()]
    if packages and any(_UNRESOLVED.search(line) for line in lines):
        return InputError(
            f"Spark's Kafka connector cannot be fetched: {packages}",
            hint="Spark fetches it once, from the public Maven repository or the one of your Ivy settings: check the "
            "network, or name archives that you have: --conf spark.jars=FILE,FILE",
        )
    said = [line for line in lines if "rror" in line or "xception" in line]
    reason = f": {said[0]}" if said else ""
    return InputError(f"Spark did not start{reason}", hint=f"{NEEDS_JAVA}; --log FILE keeps what it prints")
