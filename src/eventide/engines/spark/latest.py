"""The latest time of bounded input on Spark, for plans whose tasks must know it: see `plan.ending`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from eventide.engines.intake import microseconds
from eventide.engines.parquet import latest_times
from eventide.errors import InputError
from eventide.plan.ending import with_end
from eventide.plan.physical import Intake, Physical


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
    times_us = _footer_times_us(files, physical.intake)
    if times_us is None:
        return until_latest_row(physical, read())
    return with_end(physical, max(times_us)) if times_us else physical


def latest_us(frame: DataFrame, intake: Intake) -> int | None:
    """The latest time of all rows in microseconds; None where no row has one."""
    name = "`" + intake.ts_column.replace("`", "``") + "`"
    latest = frame.select(sf.max(sf.col(name)).alias("ts")).toArrow().column(0)
    end_us: int | None = microseconds(latest, intake)[0].as_py()
    return end_us


def _footer_times_us(files: Sequence[str], intake: Intake) -> list[int] | None:
    times = latest_times(files, intake.ts_column)
    if times is None:
        return None
    kind = pq.read_schema(files[0]).field(intake.ts_column).type
    try:
        found: list[int] = microseconds(pa.chunked_array([pa.array(times, kind)]), intake).to_pylist()
    except (InputError, pa.ArrowException):
        return None  # the tasks say which event it is
    return found
