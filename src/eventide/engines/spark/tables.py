"""Tables on Spark, by their own sources; and what a path is on a file system that only Spark sees."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from eventide.engines.names import spark_name
from eventide.engines.spark.restarts import reason_of
from eventide.engines.table_folders import SINK, FileSystem, TableFolder, TableKind, table_at
from eventide.errors import InputError


def read_table(spark: SparkSession, table: TableFolder, *, as_stream: bool = False) -> DataFrame:
    """The rows of a table that count, or those that come; an error where the session has no source for it."""
    assert table.kind.spark_format is not None
    reader: Any = spark.readStream if as_stream else spark.read
    try:
        frame: DataFrame = reader.format(table.kind.spark_format).load(table.path)
        return frame
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        if "DATA_SOURCE_NOT_FOUND" in str(error):
            raise _no_source(table.path, table.kind) from error
        raise InputError(f"cannot read '{table.path}', which is {table.kind.name}: {reason_of(error)}") from error


def _no_source(path: str, kind: TableKind) -> InputError:
    in_process = f"; or leave out engine: {kind.library} reads it in this process" if kind.library else ""
    return InputError(
        f"'{path}' is {kind.name}, and this Spark session has no source for it",
        hint=f"start Spark with {kind.packages} in spark.jars.packages{in_process}",
    )


def look_remotely(spark: SparkSession, path: str) -> tuple[str, TableFolder | None]:
    """A path that only Spark sees: the name for Spark's readers, and the table that it is.

    On Connect the session cannot look, and takes the path as it is. A folder of a stream is no table here: Spark's own
    readers know it.
    """
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        return path, None

    def system(place: str) -> tuple[Any, Any]:
        found = jvm.org.apache.hadoop.fs.Path(place)
        return found, found.getFileSystem(spark._jsc.hadoopConfiguration())

    def is_folder(place: str) -> bool:
        found, files = system(place)
        return bool(files.exists(found) and files.getFileStatus(found).isDirectory())

    def names(place: str) -> list[str]:
        found, files = system(place)
        return [status.getPath().getName() for status in files.listStatus(found)]

    try:
        found, files = system(path)
        if not files.exists(found):
            return path, None
        table = table_at(path, FileSystem(is_folder, names))
    except Exception as error:
        if not type(error).__module__.startswith("py4j"):
            raise
        raise InputError(f"cannot read '{path}': {reason_of(error)}") from error
    if table is not None and table.kind is SINK:
        return path, None
    return spark_name(path), table
