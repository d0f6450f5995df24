"""Planning for a Spark session, which knows functions of its own: those that were registered with `spark.udf`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from eventide.expressions.known_functions import asking


@contextmanager
def planning_for(spark: SparkSession) -> Iterator[None]:
    """Inside, a function that neither Spark SQL nor the session has is an error with its place."""
    with asking(lambda name: bool(spark.catalog.functionExists(name))):
        yield
