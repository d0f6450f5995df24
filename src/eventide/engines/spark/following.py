"""Streams that another operator of the same query makes: when their rows come, and how long after their end."""

from __future__ import annotations

from pyspark.sql import DataFrame

LAG_KEY = "eventide.lag_us"  # in the metadata of an interval's end


def follows_operator(df: DataFrame) -> bool:
    """Whether an operator with an event time of its own makes the rows.

    Then those that a micro-batch's watermark decides come in that micro-batch: none is late, and none is older than
    the watermark before it, for which Spark vouches.
    """
    return "UpdateEventTimeWatermarkColumn" in plan_text(df)


def holds_state(df: DataFrame) -> bool:
    """Whether any operator like ours makes the rows, with an event time or without."""
    return "TransformWithState" in plan_text(df)


def plan_text(df: DataFrame) -> str:
    """The analyzed plan, as Spark prints it."""
    plan = getattr(df, "_jdf", None)
    if plan is None:
        return str(df._explain_string(extended=True))
    return str(plan.queryExecution().analyzed().toString())


def with_lag(rows: DataFrame, column: str, lag_us: int | None) -> DataFrame:
    """Intervals that say how long after their end they come at the latest."""
    return rows if lag_us is None else rows.withMetadata(column, {LAG_KEY: lag_us})


def lag_of_column(df: DataFrame, column: str) -> int | None:
    """What `with_lag` said."""
    lag_us = (df.schema[column].metadata or {}).get(LAG_KEY)
    return None if lag_us is None else int(lag_us)
