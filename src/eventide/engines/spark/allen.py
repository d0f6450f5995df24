"""Two interval DataFrames, batch or streaming, as one input with a side."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from eventide.engines.spark.run import Run, run_frame
from eventide.engines.spark.stream import TIME, WATERMARK_KEY, timestamp_text
from eventide.engines.spark.types import input_schema
from eventide.errors import InputError
from eventide.operators.block import TS
from eventide.plan.allen.lower import AllenPlan, in_slices
from eventide.plan.physical import IntervalSide, Physical, SqlColumn

Plan = Callable[[pa.Schema, pa.Schema], AllenPlan]


def relate_frames(left: DataFrame, right: DataFrame, plan: Plan) -> Run:
    """The pairs of two batch or two streaming DataFrames."""
    if left.isStreaming != right.isStreaming:
        which = "left" if left.isStreaming else "right"
        raise InputError(f"only {which} is a stream", hint="pass two streams, or two batch DataFrames")
    made = plan(input_schema(left), input_schema(right))
    if not left.isStreaming:
        made = in_slices(made)
    physical = made.physical
    frames = [_select(left, made.left), _select(right, made.right)]
    if left.isStreaming:
        assert physical.intake.intervals is not None
        given = zip(frames, (left, right), physical.intake.intervals.sides, strict=True)
        frames = [_with_watermark(frame, origin, side, physical) for frame, origin, side in given]
    return run_frame(frames[0].unionAll(frames[1]), lambda schema: physical)


def _select(frame: DataFrame, columns: tuple[SqlColumn, ...]) -> DataFrame:
    return frame.selectExpr(*(f"{column.spark} AS {column.name}" for column in columns))


def _with_watermark(frame: DataFrame, origin: DataFrame, side: IntervalSide, physical: Physical) -> DataFrame:
    """A watermark of each side's own: the slower of two streams decides how far time is."""
    carriers = [field.name for field in origin.schema.fields if WATERMARK_KEY in (field.metadata or {})]
    is_time = frame.schema[TS].dataType.typeName() == "timestamp"
    if carriers:
        if is_time and side.end in carriers:
            return frame
        raise InputError(
            f"{side.name} has a watermark on '{carriers[0]}', but its intervals come by their end, '{side.end}'",
            hint=f"set the watermark on '{side.end}', or none: then allowed_lateness decides",
        )
    if not is_time:
        frame = frame.withColumn(TIME, sf.expr(timestamp_text(physical)))
    delay_ms = -(-physical.allowed_lateness_us // 1000)
    return frame.withWatermark(TS if is_time else TIME, f"{delay_ms} milliseconds")
