"""A Spark session for the command line and examples; programs bring their own."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession


def session(name: str) -> SparkSession:
    """The active session, or a quiet local one on all cores."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    # Spark takes the first python3 on PATH for its workers, which need not be the one that runs now.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName(name).master(os.environ.get("EVENTIDE_MASTER", "local[*]"))
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC")
    # Every micro-batch runs a task per shuffle partition, also for empty ones; Spark's default is 200.
    builder = builder.config("spark.sql.shuffle.partitions", str(2 * (os.cpu_count() or 1)))
    # A failed task is logged with the stacks of Python and of the JVM, and then raised: the error says it all.
    builder = builder.config("spark.driver.memory", "4g").config("spark.log.level", "OFF")
    return builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
