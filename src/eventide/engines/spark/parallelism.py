"""How many buckets: from the session's settings alone, so that it works on Connect too."""

from __future__ import annotations

import os
import re

from pyspark.sql import SparkSession

BUCKETS_PER_CORE = 2


def count_buckets(spark: SparkSession) -> int:
    """Two buckets a core, so that one heavy bucket does not keep the others waiting; at most
    `spark.sql.shuffle.partitions`, the user's own word on how far to spread."""
    n_partitions = int(spark.conf.get("spark.sql.shuffle.partitions"))
    n_cores = _cores(spark)
    return n_partitions if n_cores is None else max(1, min(n_partitions, BUCKETS_PER_CORE * n_cores))


def threads_of_one_task(spark: SparkSession) -> int:
    """For a job of one task: in local mode the cores that nobody else uses."""
    return (_cores(spark) or 1) if is_local(spark) else 1


def is_local(spark: SparkSession) -> bool:
    """Whether tasks run inside the driver's machine and Python installation; unknown counts as no."""
    return re.match(r"local(\[|$)", spark.conf.get("spark.master", None) or "") is not None


def _cores(spark: SparkSession) -> int | None:
    """Cores of the session; None when its settings do not tell."""
    declared = spark.conf.get("spark.default.parallelism", None)
    if declared is not None:
        return int(declared)
    master = spark.conf.get("spark.master", None) or ""
    threads = re.match(r"local(?:\[(\d+|\*)[,\]]|$)", master)
    if threads is not None:
        count = threads.group(1) or "1"
        return os.cpu_count() if count == "*" else int(count)
    instances = spark.conf.get("spark.executor.instances", None)
    cores = spark.conf.get("spark.executor.cores", None)
    return int(instances) * int(cores) if instances and cores else None
