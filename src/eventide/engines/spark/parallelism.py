"""How many buckets, from the session's settings alone, so that it works on Connect too; and their labels."""

from __future__ import annotations

import os
import re

from pyspark.sql import SparkSession

BUCKETS_PER_CORE = 2
# Of Murmur3.
_SEED = 42
_MASK = 0xFFFFFFFF


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


def murmur3(value: int) -> int:
    """Spark's `hash` of one int: Murmur3, 32 bits, signed.

    >>> murmur3(0), murmur3(1), murmur3(42)
    (933211791, -559580957, 29417773)
    """
    k = (value * 0xCC9E2D51) & _MASK
    k = (((k << 15) | (k >> 17)) * 0x1B873593) & _MASK
    h = _SEED ^ k
    h = ((h << 13) | (h >> 19)) & _MASK
    h = (h * 5 + 0xE6546B64) & _MASK
    h ^= 4
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & _MASK
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h


def bucket_labels(n_buckets: int) -> tuple[int, ...]:
    """For each bucket i the smallest label that Spark's hash sends to partition i of `n_buckets`.

    They also cover any number of partitions that divides `n_buckets`. Label 0 is always among them.

    >>> [murmur3(label) % 4 for label in bucket_labels(4)]
    [0, 1, 2, 3]
    """
    labels: dict[int, int] = {}
    label = 0
    while len(labels) < n_buckets:
        labels.setdefault(murmur3(label) % n_buckets, label)
        label += 1
    return tuple(labels[bucket] for bucket in range(n_buckets))
