"""Arrow schemas to Spark schemas and back: result columns keep the types of the input's columns."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from eventide.engines.lengths import as_type
from eventide.plan.time_column import held_by


def spark_schema(arrow: pa.Schema) -> StructType:
    """The Spark schema of operator rows.

    Times with a zone become TIMESTAMP, without one TIMESTAMP_NTZ, whatever `spark.sql.timestampType` says.

    >>> spark_schema(pa.schema({"n": pa.uint8(), "at": pa.timestamp("s")})).simpleString()
    'struct<n:smallint,at:timestamp_ntz>'
    """
    fields = [pa.field(field.name, _readable(field.type), nullable=True) for field in arrow]
    return from_arrow_schema(pa.schema(fields), prefer_timestamp_ntz=True)


def arrow_schema(spark: StructType) -> pa.Schema:
    """The Arrow schema in which Spark takes rows of that schema from a task.

    >>> arrow_schema(spark_schema(pa.schema({"at": pa.timestamp("ms", "Europe/Paris")}))).field("at").type
    TimestampType(timestamp[us, tz=UTC])
    """
    return to_arrow_schema(spark, timezone="UTC", prefers_large_types=False)


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with exactly the columns and types of the schema; nothing is copied where they agree."""
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        column = batch.column(field.name)
        columns.append(column if column.type.equals(field.type) else _cast(column, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    return as_type(pa.chunked_array([column]), wanted).chunk(0)


_UNSIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}


def _readable(kind: pa.DataType) -> pa.DataType:
    """The nearest type that Spark has."""
    if pa.types.is_dictionary(kind):
        return _readable(kind.value_type)
    if pa.types.is_date64(kind):
        return pa.date32()
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        # PySpark's `toArrow` fails on arrays of VOID.
        return pa.list_(pa.string() if pa.types.is_null(kind.value_type) else _readable(kind.value_type))
    return _UNSIGNED.get(kind, pa.decimal128(20, 0) if kind == pa.uint64() else kind)


def input_schema(frame: DataFrame) -> pa.Schema:
    """The Arrow schema of a DataFrame of events."""
    return held_by(to_arrow_schema(frame.schema, timezone="UTC", prefers_large_types=False), "spark")
