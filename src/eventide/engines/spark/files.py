"""Local files through Spark's readers, with the types that the embedded engine finds in them."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import NullType, StringType, StructField, StructType

from eventide.engines.database import connect
from eventide.engines.file_types import columns_in, common_schema, parquet_groups
from eventide.engines.local.sources import read_text, source_schema
from eventide.engines.local.text_files import TextFiles
from eventide.engines.spark.types import spark_schema


def read_text_files(spark: SparkSession, path: str, suffix: str, files: Sequence[str]) -> DataFrame:
    """CSV or JSON files: Spark reads text, and casts it to the types that all values of all files allow."""
    connection = connect()
    found = read_text(connection, path, suffix, files)
    types = spark_schema(_with_instants(source_schema(connection, found.sql, None)))
    frames = []
    for group in found.groups:
        fields = [
            StructField(name, types[name].dataType if name in found.nested else StringType()) for name in group.names
        ]
        frame = _read_group(spark, group, StructType(fields))
        columns = [_column(name if name in group.names else None, types[name]) for name in found.types]
        frames.append(frame.select(*columns))
    return reduce(DataFrame.union, frames)


def _with_instants(schema: pa.Schema) -> pa.Schema:
    """A time in a text is a TIMESTAMP to Spark: without a zone, one in that of the session."""
    fields = [pa.field(f.name, pa.timestamp("us", "UTC") if pa.types.is_timestamp(f.type) else f.type) for f in schema]
    return pa.schema(fields)


def _read_group(spark: SparkSession, group: TextFiles, schema: StructType) -> DataFrame:
    paths = [_escaped(file) for file in group.files]
    if group.dialect is None:
        # Without FAILFAST, an object that Spark cannot read would be a row of NULLs.
        return spark.read.json(paths, schema=schema, mode="FAILFAST", multiLine=any(map(_is_array, group.files)))
    said = group.dialect
    return spark.read.csv(
        paths, schema=schema, header=said.has_header, sep=said.delimiter, quote=said.quote, escape=said.escape
    )


def _escaped(file: str) -> str:
    """The path of one file: Spark takes paths for patterns."""
    return "file:" + re.sub(r"([\\{}\[\]*?])", r"\\\1", os.path.abspath(file))


def _is_array(file: str) -> bool:
    """Whether a JSON file is one array over many lines, and not an object a line."""
    with gzip.open(file) if file.endswith(".gz") else open(file, "rb") as data:
        return next((line for line in map(bytes.strip, data) if line), b"").startswith(b"[")


def read_parquet_files(spark: SparkSession, files: Sequence[str], folder: str | None) -> DataFrame | None:
    """Parquet files of several schemas, every column in the common type; None where Spark reads them as they are.

    The names of folders below `folder` may hold columns.
    """
    try:
        groups = parquet_groups(files)
    except (pa.ArrowInvalid, OSError):
        return None  # Spark says what is wrong with a file
    if len(groups) == 1:
        return None
    common = common_schema(groups)
    types = spark_schema(common)
    frames = []
    for group in groups:
        reader = spark.read if folder is None else spark.read.option("basePath", folder)
        frame = reader.parquet(*map(_escaped, group.files))
        own_names = {name.lower() for name in group.schema.names}
        added = [sf.col(_quoted(name)) for name in frame.columns if name.lower() not in own_names]
        columns = (_column(own and own.name, types[wanted.name]) for own, wanted in columns_in(group, common))
        frames.append(frame.select(*columns, *added))
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)


def _column(name: str | None, wanted: StructField) -> Column:
    if name is None or wanted.dataType == NullType():
        return sf.lit(None).alias(wanted.name)
    return sf.col(_quoted(name)).cast(wanted.dataType).alias(wanted.name)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
