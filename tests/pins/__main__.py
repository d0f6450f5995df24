"""Writes what is pinned anew: `python -m tests.pins`, with Spark `python -m tests.pins --spark`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.pins import explained, kept
from tests.pins.public import public_names

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        if "--spark" in sys.argv:
            from pyspark.sql import SparkSession

            made = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
            spark = made.config("spark.sql.session.timeZone", "UTC").getOrCreate()
            kept.write("explain_on_spark", explained.on_spark(spark, Path(folder)))
        else:
            kept.write("public_names", public_names())
            kept.write("explain", explained.in_this_process(Path(folder)))
