"""A folder of files as a stream of events: parquet, JSON lines or CSV, and what cannot be read on the side."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from eventide.engines.addresses import Folder
from eventide.engines.names import spark_name
from eventide.engines.spark.counters import SOURCE, unique
from eventide.engines.spark.errors import reason_of
from eventide.engines.spark.sources import local_path
from eventide.engines.spark.tables import look_remotely, read_table
from eventide.engines.table_folders import SINK, TableFolder, table_at
from eventide.errors import InputError
from eventide.runtime.quoting import backticked

_BAD = "__eventide_bad"
_FILE = "__eventide_file"


@dataclass(frozen=True, slots=True)
class FolderSource:
    """The events of a folder, and the records that are none: `file`, `record`, `read` (what could be read of it)."""

    events: DataFrame
    bad: DataFrame | None


def open_folder(
    spark: SparkSession, folder: Folder, ddl: str | None, files_per_batch: int | None = None
) -> FolderSource:
    """The stream of a folder of files, or of a table through its own source."""
    path, format = folder.path, folder.format
    local = local_path(path)
    table = look_remotely(spark, path)[1] if local is None else table_at(local)
    if table is not None and table.kind is not SINK:
        return FolderSource(read_table(spark, TableFolder(table.kind, path), as_stream=True), None)
    schema = schema_of(spark, path, format, ddl)
    if format is None:
        raise InputError(f"the folder '{path}' holds no files yet", hint="add --format parquet, json or csv")
    return read_folder(spark, path, format, schema, files_per_batch)


def schema_of(spark: SparkSession, path: str, format: str | None, ddl: str | None) -> StructType:
    """The events' columns: from DDL, or from the files that are there."""
    if ddl is not None:
        return declared(ddl)
    if format is None:
        raise InputError(
            f"the folder '{path}' holds no files yet, so its columns are not known",
            hint='add --schema "user string, ts timestamp, kind string", and --format',
        )
    reader: Any = spark.read.option("inferTimestamp", True).option("header", True).option("inferSchema", True)
    try:
        schema: StructType = reader.format(format).load(_name(path)).schema
    except Exception as error:
        raise InputError(f"cannot read '{path}': {reason_of(error)}", hint="--schema gives the columns") from error
    if not schema.fields:
        raise InputError(f"the files in '{path}' have no columns", hint="--schema gives them")
    return schema


def declared(ddl: str) -> StructType:
    """The columns that a text declares, such as `user string, ts timestamp`."""
    try:
        return StructType.fromDDL(ddl)
    except Exception as error:
        said = reason_of(error)
        raise InputError(
            f"--schema is not a list of columns and types: {said}",
            hint="for example --schema 'user string, ts timestamp, amount double', or a file with that",
        ) from error


def read_folder(
    spark: SparkSession, path: str, format: str, schema: StructType, files_per_batch: int | None = None
) -> FolderSource:
    """The stream; records that do not fit the schema are counted, and are in `bad`, not among the events."""
    reader: Any = spark.readStream.format(format)
    name = _name(path)
    if files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_batch)
    if format == "parquet":
        return FolderSource(reader.schema(schema).load(name), None)
    # Whole records are looked at whatever the query reads, so that events and bad ones share them out.
    columns = StructType([*schema.fields, StructField(_BAD, StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BAD}
    names = [backticked(name) for name in schema.names]
    if format == "json":
        lines = reader.format("text").load(name).where("trim(value) <> ''")
        raw = lines.select(sf.from_json("value", columns, options).alias("event"), _file()).select("event.*", _FILE)
    else:
        reader = reader.options(**options, header=True, enforceSchema=False)
        # A value is checked when its column is read. The comparison is always true, and never folded away.
        checked = sf.hash(*names) >= sf.lit(-(1 << 31))
        whole = sf.when(checked, sf.col(_BAD)).alias(_BAD)
        raw = reader.schema(columns).load(name).select(*names, whole, _file())
    is_bad = sf.col(_BAD).isNotNull()
    counted = raw.observe(
        unique(SOURCE), sf.count_if(~is_bad).alias("events"), sf.count_if(is_bad).alias("bad_records")
    )
    read = sf.to_json(sf.struct(*names))
    bad = raw.where(is_bad).select(sf.col(_FILE).alias("file"), sf.col(_BAD).alias("record"), read.alias("read"))
    return FolderSource(counted.where(~is_bad).select(*names), bad)


def _name(path: str) -> str:
    """The folder as it is called, not as a pattern; Spark looks for the log of a stream under the plain name."""
    local = local_path(path)
    return path if local is None or os.path.isdir(os.path.join(local, SINK.marker)) else spark_name(path)


def _file() -> Column:
    return sf.col("_metadata.file_path").alias(_FILE)
