"""Tables on Spark, by their own sources; and what a path is on a file system that only Spark sees."""

from __future__ import annotations

from functools import cache
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from eventide.engines.names import spark_name
from eventide.engines.spark.errors import reason_of
from eventide.engines.spark.places import hadoop
from eventide.engines.table_folders import SINK, FileSystem, TableFolder, TableKind, table_at
from eventide.errors import InputError, is_of_spark


def read_table(spark: SparkSession, table: TableFolder, *, as_stream: bool = False) -> DataFrame:
    """The rows of a table that count, or those that come; an error where the session has no source for it."""
    assert table.kind.spark_format is not None
    reader: Any = spark.readStream if as_stream else spark.read
    try:
        frame: DataFrame = reader.format(table.kind.spark_format).load(table.path)
        return frame
    except Exception as error:
        if not is_of_spark(error):
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
    readers know it by its plain name.
    """
    if getattr(spark, "_jvm", None) is None:
        return path, None
    files = _file_system(spark)
    if _status(spark, path) is not None:
        table = table_at(path, files)
        if table is not None and table.kind is SINK:
            return path, None
        return spark_name(path), table
    found = _matches(spark, path)
    tables = [table for place in found if (table := table_at(place, files)) is not None]
    if tables and (len(found) > 1 or tables[0].kind is SINK):
        raise InputError(
            f"'{path}' finds {tables[0].kind.name}, '{tables[0].path}', whose log says which rows count",
            hint=f"name '{tables[0].path}' by itself",
        )
    return path, tables[0] if tables else None


def _file_system(spark: SparkSession) -> FileSystem:
    @cache
    def is_folder(place: str) -> bool:
        status = _status(spark, place)
        return status is not None and bool(status.isDirectory())

    def names(place: str) -> list[str]:
        files, found = _place(spark, place)
        return [status.getPath().getName() for status in files.listStatus(found)]

    return FileSystem(is_folder, names)


def _place(spark: SparkSession, path: str) -> tuple[Any, Any]:
    found = hadoop(spark, path)
    assert found is not None
    return found


def _status(spark: SparkSession, path: str) -> Any:
    """What Hadoop knows of a path; None where there is nothing, or nothing that it may see."""
    try:
        files, found = _place(spark, path)
        return files.getFileStatus(found)
    except Py4JError:
        return None


def _matches(spark: SparkSession, pattern: str) -> list[str]:
    """What a pattern finds; none where Hadoop cannot look: then Spark's reader says why."""
    try:
        files, found = _place(spark, pattern)
        return [str(status.getPath().toString()) for status in files.globStatus(found) or ()]
    except Py4JError:
        return []
