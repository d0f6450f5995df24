"""Local files through Spark's readers, with the types that the embedded engine finds in them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import NullType, StringType, StructField, StructType

from eventide.engines.database import connect
from eventide.engines.file_types import columns_in, common_schema, parquet_groups
from eventide.engines.folder_columns import FILE
from eventide.engines.local.sources import read_text, source_schema
from eventide.engines.local.text_files import TextFiles
from eventide.engines.names import Named, absolute, spark_name
from eventide.engines.spark.types import spark_schema
from eventide.runtime.quoting import backticked

_REST = "__eventide_rest"  # what a line has behind the last column


def address(name: str) -> str:
    """A file or folder of this machine, also where Spark's default file system is another."""
    return f"file://{absolute(name)}"


def whole_names(names: Sequence[str]) -> list[str]:
    """Names of local files or folders for Spark's readers."""
    return [spark_name(address(name)) for name in names]


def read_text_files(spark: SparkSession, suffix: str, named: Named) -> DataFrame:
    """CSV or JSON files: Spark reads text, and casts it to the types that all values of all files allow."""
    connection = connect()
    found = read_text(connection, named.path, suffix, named.files)
    types = spark_schema(_with_instants(source_schema(connection, found.sql(), None)))
    folders = _folder_types(named)
    frames = []
    for group in found.groups:
        fields = [
            StructField(name, types[name].dataType if name in found.nested else StringType()) for name in group.names
        ]
        frame = _read_group(_reader(spark, named), group, StructType(fields), found.has_breaks)
        columns = [
            _column(name if name in group.names else None, folders.get(name.lower(), types[name]))
            for name in found.types
        ]
        frames.append(frame.select(*columns, *_added(frame, group.names)))
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)


def _folder_types(named: Named) -> dict[str, StructField]:
    """The columns that the names of folders hold: they go before columns of the files."""
    if named.columns is None:
        return {}
    return {field.name.lower(): field for field in spark_schema(named.columns.schema) if field.name != FILE}


def _reader(spark: SparkSession, named: Named) -> DataFrameReader:
    """One that takes columns from the names of folders below the path, and of no others."""
    is_folder = len(named.roots) == 1 and os.path.isdir(named.roots[0])
    return spark.read.option("basePath", address(named.roots[0])) if is_folder else spark.read


def _added(frame: DataFrame, own: Sequence[str]) -> list[Column]:
    """The columns that come from the names of folders alone."""
    names = {name.lower() for name in own}
    return [sf.col(backticked(name)) for name in frame.columns if name.lower() not in names]


def _with_instants(schema: pa.Schema) -> pa.Schema:
    """A time in a text is a TIMESTAMP to Spark: without a zone, one in that of the session."""
    fields = [pa.field(f.name, pa.timestamp("us", "UTC") if pa.types.is_timestamp(f.type) else f.type) for f in schema]
    return pa.schema(fields)


def _read_group(reader: DataFrameReader, group: TextFiles, schema: StructType, has_breaks: bool) -> DataFrame:
    paths = whole_names(group.files)
    if group.dialect is None:
        # Without FAILFAST, an object that Spark cannot read would be a row of NULLs.
        return reader.json(paths, schema=schema, mode="FAILFAST", multiLine=any(map(_is_array, group.files)))
    said = group.dialect
    frame = reader.csv(
        paths,
        schema=StructType([*schema, StructField(_REST, StringType())]),
        header=True,
        sep=said.delimiter,
        quote=said.quote,
        escape=said.escape,
        multiLine=has_breaks,
    )
    return _as_embedded(frame, group.names, said.quote)


def _as_embedded(frame: DataFrame, names: Sequence[str], quote: str) -> DataFrame:
    """The rows that DuckDB reads, or an error: to Spark, a quote behind blanks is a letter like others."""
    message = f"a value begins with blanks and {quote}, which Spark takes for text; write it without the blanks"
    refused = sf.raise_error(sf.concat_ws(": ", sf.col("_metadata.file_path"), sf.lit(message)))
    frame = frame.where(sf.col(_REST).isNull() | refused.cast("boolean"))
    if len(names) == 1:
        # A line of nothing but blanks is no row.
        frame = frame.where(sf.trim(sf.col(backticked(names[0]))) != "")

    def checked(name: str) -> Column:
        text = sf.col(backticked(name))
        is_quoted = text.startswith(" ") & sf.ltrim(text).startswith(quote)
        return sf.when(is_quoted, refused).otherwise(text).alias(name)

    own = {name: checked(name) for name in names}
    return frame.select(*(own.get(name, sf.col(backticked(name))) for name in frame.columns if name != _REST))


def _is_array(file: str) -> bool:
    """Whether a JSON file is one array over many lines, and not an object a line."""
    with pa.input_stream(file, compression="detect") as data:
        return bool(data.read(1 << 16).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["))


def read_parquet_files(spark: SparkSession, named: Named) -> DataFrame | None:
    """Parquet files of several schemas, every column in the common type; None where Spark reads them as they are."""
    try:
        groups = parquet_groups(named.files)
    except (pa.ArrowInvalid, OSError):
        return None  # Spark says what is wrong with a file
    if len(groups) == 1:
        return None
    common = common_schema(groups)
    types, folders = spark_schema(common), _folder_types(named)
    frames = []
    for group in groups:
        frame = _reader(spark, named).parquet(*whole_names(group.files))
        columns = [
            _column(own and own.name, folders.get(wanted.name.lower(), types[wanted.name]))
            for own, wanted in columns_in(group, common)
        ]
        frames.append(frame.select(*columns, *_added(frame, group.schema.names)))
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)


def _column(name: str | None, wanted: StructField) -> Column:
    if name is None or wanted.dataType == NullType():
        return sf.lit(None).alias(wanted.name)
    return sf.col(backticked(name)).cast(wanted.dataType).alias(wanted.name)
