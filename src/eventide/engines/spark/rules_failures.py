"""The way back from tasks to the source of rules: a rule that fails in one bucket is switched off in all of them.

A task adds what failed to an accumulator. Spark brings it to the driver before the micro-batch ends, which writes it to
a file that the source reads before the next one begins: so it becomes part of the offset, and is replayed with it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

from pyspark.accumulators import AccumulatorParam
from pyspark.sql import SparkSession

from eventide.engines.spark.ship import is_connect

Tell = Callable[[list[dict[str, Any]]], None]


def failures_of(spark: SparkSession) -> tuple[str, Tell | None]:
    """A file of failures, and what tasks call with theirs; no file on Spark Connect, which has no accumulators."""
    if is_connect(spark):
        return "", None
    folder = tempfile.mkdtemp(prefix="eventide-failures-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "failures")
    open(path, "w").close()
    tell: Tell = spark.sparkContext.accumulator([], make_param(path)).add
    return path, tell


def make_param(path: str) -> AccumulatorParam[Any]:
    """How failures add up: tasks gather theirs, the driver appends them to the file. It travels by value."""
    driver = os.getpid()

    class Failures(AccumulatorParam[Any]):  # type: ignore[misc]
        def zero(self, value: Any) -> Any:
            return []

        def addInPlace(self, value1: Any, value2: Any) -> Any:  # noqa: N802
            import json
            import os

            if os.getpid() != driver:
                return value1 + value2
            with open(path, "a", encoding="utf-8") as file:
                file.writelines(json.dumps(failure) + "\n" for failure in value2)
            return []

    return Failures()
