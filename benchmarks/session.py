"""The Spark session that every Spark variant uses: all cores, the same settings for subject and peers."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from benchmarks.registry import CACHE, ROOT, UnavailableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_session(**settings: str) -> SparkSession:
    """Start Spark in this process; its Python workers can import `benchmarks`."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UnavailableError("PySpark is not installed") from None
    known = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(known)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    cores = len(os.sched_getaffinity(0))
    settings = {
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(CACHE / "warehouse"),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        **settings,
    }
    builder = SparkSession.builder.appName("eventide benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
