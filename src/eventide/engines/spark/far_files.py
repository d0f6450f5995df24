"""CSV and JSON files that only Spark sees, such as those in a bucket: Spark finds their types, and nothing is lost.

Spark's reader pads short lines, cuts off long ones and rounds whole numbers beside fractions. Here these are errors, of
the task that reads them: nobody has looked at all values before.
"""

from __future__ import annotations

from typing import Any, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, DoubleType, StringType, StructField, StructType

from eventide.engines.local.sources import CSV
from eventide.runtime.quoting import backticked

_EXACT_DIGITS = 15  # a double holds all whole numbers of so many digits
_BIGINT_DIGITS = 18  # a bigint does


def read_far_text(spark: SparkSession, suffix: str, name: str) -> DataFrame:
    """The rows of a path for Spark's readers."""
    schema: StructType = _reader(spark, suffix, inferSchema=True, inferTimestamp=True).load(name).schema
    frame = _reader(spark, suffix).schema(_as_text(schema)).load(name)
    columns = [_exact(sf.col(backticked(field.name)), field.dataType, field.name).alias(field.name) for field in schema]
    return cast(DataFrame, frame.select(*columns))


def _reader(spark: SparkSession, suffix: str, **options: Any) -> Any:
    if suffix not in CSV:
        return spark.read.format("json").options(**options)
    # Spark counts the fields of a line only where it reads all of them.
    options |= {"header": True, "sep": "\t" if suffix == ".tsv" else ",", "mode": "FAILFAST", "columnPruning": False}
    return spark.read.format("csv").options(**options)


def _as_text(kind: Any) -> Any:
    """The type with text for doubles."""
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _as_text(field.dataType)) for field in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(_as_text(kind.elementType))
    return StringType() if isinstance(kind, DoubleType) else kind


def _exact(value: Column, kind: DataType, place: str) -> Column:
    """The value in its type, from one that has text for doubles."""
    if isinstance(kind, DoubleType):
        return _exact_double(value, place)
    if _as_text(kind) == kind:
        return value
    if isinstance(kind, ArrayType):
        item = kind.elementType
        return sf.transform(value, lambda each: _exact(each, item, f"{place}[]"))
    assert isinstance(kind, StructType)
    fields = [
        _exact(value.getField(field.name), field.dataType, f"{place}.{field.name}").alias(field.name) for field in kind
    ]
    return sf.when(value.isNotNull(), sf.struct(*fields))


def _exact_double(text: Column, place: str) -> Column:
    """The double; an error for a whole number that it does not hold.

    Of whole numbers beyond bigint, none is taken for exact: Spark has no type to compare them in.
    """
    double = text.cast("double")
    is_whole = (sf.length(text) > _EXACT_DIGITS) & text.rlike("^ *[+-]?[0-9]+ *$")
    digits = sf.regexp_replace(text, "^ *[+-]?0*| *$", "")
    is_exact = (sf.length(digits) <= _BIGINT_DIGITS) & (
        digits.try_cast("double").try_cast("bigint") == digits.try_cast("bigint")
    )
    is_infinite = (sf.abs(double) == float("inf")) & ~text.contains("Inf")
    said = [
        sf.lit(f"column '{place}' is double, and no double holds the number "),
        text,
        sf.lit(" in "),
        sf.col("_metadata.file_path"),
    ]
    refused = sf.raise_error(sf.concat(*said)).cast("double")
    return sf.when((is_whole & ~is_exact) | is_infinite, refused).otherwise(double)
