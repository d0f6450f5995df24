"""A Spark session for the command line and examples; programs bring their own.

Where a command has a view, what Java and Spark print goes into a pipe, not over the view.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from eventide.engines.spark.kafka import coordinates
from eventide.errors import EventideError, InputError, is_of_spark

NEEDS_JAVA = "it needs Java 17 or newer: install it, and set JAVA_HOME where it is not on PATH"
_KEPT_LINES = 400
_PACKAGES = "spark.jars.packages"
_JARS = ("spark.jars", _PACKAGES)
_CONNECTOR = "spark-sql-kafka"
_UNRESOLVED = re.compile(r"unresolved dependency|UNRESOLVED DEPENDENCIES|module not found", re.IGNORECASE)


def session(name: str, settings: Mapping[str, str] | None = None, log: int | None = None) -> SparkSession:
    """The active session, or a quiet local one on all cores; `settings` go before its own.

    `log` is a file descriptor for what Java, Spark and their workers print.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    check_java()
    # Spark takes the first python3 on PATH for its workers, which need not be the one that runs now.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = SparkConf().setAll(list({**_settings(name), **(settings or {})}.items()))
    try:
        if log is not None:
            # The context takes a gateway that exists; one that it starts itself prints to our terminal.
            output = {"stdout": log, "stderr": log}
            SparkContext(conf=conf, gateway=launch_gateway(conf, popen_kwargs=output))
        return SparkSession.builder.config(conf=conf).getOrCreate()
    except Exception as error:
        if log is not None or not is_of_spark(error):
            raise
        raise InputError("Spark did not start", hint=NEEDS_JAVA) from error


def check_java() -> None:
    """Say that Java is missing before Spark's scripts do, in words of theirs."""
    home = os.environ.get("JAVA_HOME")
    if home is None and shutil.which("java") is None:
        raise InputError("Spark did not start: there is no Java", hint=NEEDS_JAVA)
    if home is not None and shutil.which("java", path=Path(home) / "bin") is None:
        raise InputError(f"Spark did not start: there is no Java in JAVA_HOME, which is '{home}'", hint=NEEDS_JAVA)


def _settings(name: str) -> dict[str, str]:
    return {
        "spark.app.name": name,
        "spark.master": os.environ.get("EVENTIDE_MASTER", "local[*]"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        # Every micro-batch runs a task per shuffle partition, also for empty ones; Spark's default is 200.
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        "spark.driver.memory": "4g",
        # A failed task is logged with the stacks of Python and of the JVM, and then raised: the error says it all.
        "spark.log.level": "OFF",
    }


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
        if not is_of_spark(error):
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
