"""The daemon that forks Spark's Python workers, with what they would import, imported once.

`spark.python.daemon.module` names it. A worker is then there in milliseconds instead of seconds.
"""

from __future__ import annotations

import duckdb  # noqa: F401
import numba  # noqa: F401
import pandas  # noqa: F401
import pyarrow.compute
import pyarrow.parquet  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import eventide.engines.spark.batch
import eventide.engines.spark.stream  # noqa: F401

if __name__ == "__main__":
    manager()
