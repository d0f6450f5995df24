"""What a view shows of the rows on their way to a sink: how many, and the last few of each micro-batch."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from eventide.engines.spark.counters import EVENT_TIME


def observed(rows: DataFrame, metric: str, n_last: int = 0) -> DataFrame:
    """The same rows; each micro-batch's progress has their number as `rows`, and the last ones, as JSON, as `last`."""
    counters = [sf.count(sf.lit(1)).alias("rows")]
    if n_last:
        text = sf.to_json(sf.struct("*"), {"ignoreNullFields": "false"})
        order = sf.col(EVENT_TIME) if EVENT_TIME in rows.columns else text
        counters.append(sf.max_by(text, order, n_last).alias("last"))
    return rows.observe(metric, *counters)
