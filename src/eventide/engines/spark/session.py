"""A Spark session for the command line and examples; programs bring their own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from eventide.errors import InputError

NEEDS_JAVA = "it needs Java 17 or newer: install it, and set JAVA_HOME where it is not on PATH"


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
        if log is not None or not type(error).__module__.startswith(("pyspark", "py4j")):
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
