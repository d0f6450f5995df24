"""A stream of events to a stream of intervals, which say how long after their end they come."""

from __future__ import annotations

from pyspark.sql import DataFrame

from eventide.engines.spark.following import with_lag
from eventide.engines.spark.functions import planning_for
from eventide.engines.spark.run import Plan, run_frame
from eventide.engines.spark.types import input_schema
from eventide.operators.intervals.spec import END, IntervalSpec
from eventide.plan.allen.following import lag_of


def derive_stream(frame: DataFrame, plan: Plan) -> DataFrame:
    """The intervals; `detected_at` is their event time."""
    with planning_for(frame.sparkSession):
        physical = plan(input_schema(frame))
    spec = physical.spec
    assert isinstance(spec, IntervalSpec)
    return with_lag(run_frame(frame, lambda _: physical).rows, END, lag_of(spec))
