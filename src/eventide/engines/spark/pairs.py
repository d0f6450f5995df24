"""Two DataFrames, batch or streaming, as one input with a side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from eventide.engines.spark.following import follows_operator, holds_state, lag_of_column
from eventide.engines.spark.functions import planning_for
from eventide.engines.spark.run import Run, run_frame
from eventide.engines.spark.stream import TIME, WATERMARK_KEY, timestamp_text
from eventide.engines.spark.time_zone import in_utc
from eventide.engines.spark.types import input_schema
from eventide.errors import InputError
from eventide.families.registry import family_of
from eventide.plan.physical import Input, IntervalSide, Physical, SqlColumn, column_as
from eventide.runtime.block import TS

Plan = Callable[[pa.Schema, pa.Schema], Physical]


def relate_frames(left: DataFrame, right: DataFrame, plan: Plan) -> Run:
    """The pairs of two batch or two streaming DataFrames."""
    both, made = _as_one(left, right, plan)
    return run_frame(both, lambda schema: made)


def late_frames(left: DataFrame, right: DataFrame, plan: Plan) -> DataFrame:
    """The rows of two streams that come after the watermark has passed them."""
    both, made = _as_one(left, right, plan)

    def late(schema: pa.Schema) -> Physical:
        given = pa.schema([field for field in schema if field.name != TIME])
        return family_of(made.spec).late_of(made, given)

    return run_frame(both, late).rows


def _as_one(left: DataFrame, right: DataFrame, plan: Plan) -> tuple[DataFrame, Physical]:
    """Both sides as the plan's input."""
    if left.isStreaming != right.isStreaming:
        which = "left" if left.isStreaming else "right"
        raise InputError(f"only {which} is a stream", hint="pass two streams, or two batch DataFrames")
    with planning_for(left.sparkSession):
        made = plan(input_schema(left), input_schema(right))
    frames = [_select(frame, given.select) for frame, given in zip((left, right), made.inputs, strict=True)]
    if left.isStreaming:
        intake = made.intake.intervals
        assert intake is not None
        both = zip(frames, (left, right), intake.sides, made.inputs, strict=True)
        arrivals = [_arrival(frame, origin, side, given, made) for frame, origin, side, given in both]
        frames = [arrival.frame for arrival in arrivals]
        following = sum(side.bit for side, arrival in zip(intake.sides, arrivals, strict=True) if arrival.follows)
        if following:
            lag_us = max(arrival.lag_us for arrival in arrivals)
            made = family_of(made.spec).behind(made, following, lag_us)
            frames = [_with_time(arrival) for arrival in arrivals]
    return frames[0].unionAll(frames[1]), made


def _select(frame: DataFrame, columns: tuple[SqlColumn, ...]) -> DataFrame:
    texts = [f"{column.spark} AS {column.name}" for column in columns]
    with in_utc(frame.sparkSession, texts):
        return frame.selectExpr(*texts)


@dataclass(frozen=True, slots=True)
class _Arrival:
    """One side of a stream: `carrier` holds its event time, the end of an interval is up to `lag_us` before it."""

    frame: DataFrame
    carrier: str
    follows: bool = False  # an operator of the same query derives it
    lag_us: int = 0


def _with_time(arrival: _Arrival) -> DataFrame:
    """The event time as a column that both sides have."""
    if arrival.carrier == TIME:
        return arrival.frame
    return arrival.frame.withColumn(TIME, sf.col(arrival.carrier))


def _arrival(frame: DataFrame, origin: DataFrame, side: IntervalSide, given: Input, physical: Physical) -> _Arrival:
    """Each side has a watermark of its own: the slower of two streams decides how far time is."""
    carriers = [field.name for field in origin.schema.fields if WATERMARK_KEY in (field.metadata or {})]
    is_time = frame.schema[TS].dataType.typeName() == "timestamp"
    follows = follows_operator(origin)
    if carriers and is_time:
        if side.end in carriers:
            return _Arrival(frame, TS, follows)
        if follows:
            timed = _select(origin, (*given.select, column_as(TIME, carriers[0])))
            return _Arrival(timed, TIME, True, _lag_us(origin, side, carriers[0], physical))
    has_start = physical.intake.intervals is not None and physical.intake.intervals.has_start
    if carriers:
        told = f"its intervals come by their end, '{side.end}'" if has_start else f"its time is '{side.end}'"
        raise InputError(
            f"{side.name} has a watermark on '{carriers[0]}', but {told}",
            hint=f"set the watermark on '{side.end}', or none: then allowed_lateness decides",
        )
    if holds_state(origin):
        raise InputError(
            f"{side.name} is derived in the same query and has no event time: '{side.end}' is no TIMESTAMP",
            hint="make the time of the events a TIMESTAMP, or write the intervals to a table and relate that",
        )
    if not is_time:
        frame = frame.withColumn(TIME, sf.expr(timestamp_text(physical)))
    delay_ms = -(-physical.allowed_lateness_us // 1000)
    column = TS if is_time else TIME
    return _Arrival(frame.withWatermark(column, f"{delay_ms} milliseconds"), column)


def _lag_us(origin: DataFrame, side: IntervalSide, carrier: str, physical: Physical) -> int:
    """How long after its end an interval may come: as its derivation says, or the user."""
    lag_us = lag_of_column(origin, side.end)
    if lag_us is not None:
        return lag_us
    if not physical.allowed_lateness_us:
        raise InputError(
            f"the intervals of {side.name} come at '{carrier}', and nothing bounds how long after '{side.end}' that is",
            hint="derive them with within='1 minute', or give allowed_lateness: what comes later than that is dropped",
        )
    return physical.allowed_lateness_us
