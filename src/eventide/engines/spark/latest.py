"""The first and the latest time of bounded input on Spark, for plans whose tasks must know it: see `plan.ending`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from eventide.engines.intake import microseconds
from eventide.engines.parquet import group_times_us
from eventide.plan.ending import with_end
from eventide.plan.physical import Intake, Physical
from eventide.runtime.quoting import backticked


def until_latest_row(physical: Physical, frame: DataFrame) -> Physical:
    """The plan with the time of the latest row as the end of time, where it asks for that: one aggregate job."""
    if not physical.needs_end or frame.isStreaming:
        return physical
    end_us = latest_us(frame, physical.intake)
    return physical if end_us is None else with_end(physical, end_us)


def until_latest_in_files(physical: Physical, files: Sequence[str], read: Callable[[], DataFrame]) -> Physical:
    """The same for Parquet files: their footers tell the time; where they do not, a job over `read()` does."""
    if not physical.needs_end:
        return physical
    times_us = group_times_us(files, physical.intake, allow_null=True)
    if times_us is None:
        return until_latest_row(physical, read())
    return with_end(physical, max(last for _, last in times_us)) if times_us else physical


def latest_us(frame: DataFrame, intake: Intake) -> int | None:
    """The latest time of all rows in microseconds; None where no row has one."""
    return _extreme_us(frame, intake, "max")


def first_us(frame: DataFrame, intake: Intake) -> int | None:
    """The first time of all rows, alike."""
    return _extreme_us(frame, intake, "min")


def _extreme_us(frame: DataFrame, intake: Intake, function: str) -> int | None:
    column = getattr(sf, function)(sf.col(backticked(intake.ts_column)))
    extreme: int | None = microseconds(frame.select(column.alias("ts")).toArrow().column(0), intake)[0].as_py()
    return extreme
