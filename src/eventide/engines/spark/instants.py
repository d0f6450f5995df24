"""Intervals to instants on Spark: a projection, of a batch or of a stream."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from eventide.engines.spark.types import input_schema
from eventide.plan.instants import Clock, Names, clock_time, instant_columns
from eventide.plan.scope import argument_column
from eventide.plan.time_column import time_type_of
from eventide.runtime.quoting import backticked
from eventide.runtime.times import UNIT_US


def instants_of_frame(
    frame: DataFrame, names: Names, at: str, clock: Clock | Callable[[], Clock] | None, ts_unit: str | None
) -> DataFrame:
    """The rows of an interval DataFrame with one time. A clock is asked once, here; Spark's own for every query."""
    schema = input_schema(frame)
    columns = instant_columns(schema, names, at)
    start = argument_column("start", names[0], schema)
    dtype = schema.field(start).type

    def now() -> Column:
        if clock is None:
            return sf.expr(_now_text(start, dtype, ts_unit))
        kind = frame.schema[start].dataType
        return sf.lit(clock_time(clock, dtype, ts_unit).as_py()).cast(kind)

    return frame.select(
        *((now() if taken is None else sf.col(backticked(taken))).alias(name) for name, taken in columns)
    )


def _now_text(name: str, dtype: pa.DataType, ts_unit: str | None) -> str:
    """Spark's time in the type of the time columns; without a zone it is UTC's."""
    unit = time_type_of(name, pa.schema({name: dtype}), ts_unit).unit
    if unit is not None:
        return f"unix_micros(current_timestamp()) DIV {UNIT_US[unit]}L"
    utc = "to_utc_timestamp(current_timestamp(), current_timezone())"
    if pa.types.is_date(dtype):
        return f"CAST({utc} AS DATE)"
    return "current_timestamp()" if dtype.tz is not None else f"CAST({utc} AS TIMESTAMP_NTZ)"
