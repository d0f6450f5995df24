"""Files beside a stream, such as those of its checkpoint, on whatever file system they lie.

They are read through Spark's Hadoop file system. A Connect session has none in reach: there only local files are seen.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from eventide.engines.spark.sources import local_path


def list_names(spark: SparkSession, folder: str) -> list[str]:
    """The file names in a folder, none when it does not exist or cannot be seen."""
    found = hadoop(spark, folder)
    if found is None:
        local = local_path(folder)
        return os.listdir(local) if local is not None and os.path.isdir(local) else []
    system, path = found
    return [status.getPath().getName() for status in system.listStatus(path)] if system.exists(path) else []


def read_file(spark: SparkSession, file: str) -> bytes | None:
    """What a small file holds; None when it does not exist or cannot be seen."""
    found = hadoop(spark, file)
    if found is None:
        local = local_path(file)
        return Path(local).read_bytes() if local is not None and os.path.isfile(local) else None
    system, path = found
    if not system.exists(path):
        return None
    stream = system.open(path)
    try:
        return bytes(stream.readAllBytes())
    finally:
        stream.close()


def write_file(spark: SparkSession, file: str, data: bytes) -> None:
    """Put a small file in its place at once, where it can be seen."""
    found, temporary = hadoop(spark, file), f"{file}.tmp"
    if found is None:
        local = local_path(file)
        if local is not None:
            os.makedirs(os.path.dirname(local), exist_ok=True)
            Path(f"{local}.tmp").write_bytes(data)
            os.replace(f"{local}.tmp", local)
        return
    system, path = found
    _, part = hadoop(spark, temporary) or found
    stream = system.create(part, True)
    try:
        stream.write(bytearray(data))
    finally:
        stream.close()
    system.delete(path, False)
    system.rename(part, path)


def hadoop(spark: SparkSession, name: str) -> tuple[Any, Any] | None:
    """The file system of a path, and the path; None on Connect."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        return None
    path = jvm.org.apache.hadoop.fs.Path(name)
    return path.getFileSystem(spark._jsc.hadoopConfiguration()), path
