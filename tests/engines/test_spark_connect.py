"""The same code on Spark Connect: no sparkContext and no JVM behind the session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.plans import make_events
from tests.engines.streams import write_files

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

_CLIENT = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
import eventide as ev
from eventide.engines.names import expand_path
from eventide.engines.spark.batch import run, run_dataframe
from eventide.engines.spark.errors import user_message
from eventide.engines.file_input import FileInput
from eventide.engines.spark.exchange import blocks_by_key, from_paths
from eventide.engines.spark.ship import is_connect
from tests.engines.plans import expected_rows, final_watermark_us, make_events, make_plan, table_rows
from tests.engines.streams import rows_in, start

base, events, plan = Path(sys.argv[1]), make_events(120, seed=20), make_plan()
spark = SparkSession.builder.remote("local[2]").config("spark.sql.session.timeZone", "UTC").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "2")
assert is_connect(spark)
df = spark.read.parquet(str(base / "in"))
assert table_rows(run_dataframe(df, plan).toArrow()) == expected_rows(events, plan)
shares = FileInput(expand_path(str(base / "in")), plan).pieces(2)
blocks = blocks_by_key(from_paths(spark, shares, plan), plan.intake, 2)
assert table_rows(run(blocks, plan, spark, 2).toArrow()) == expected_rows(events, plan)
own = lambda frame: frame.withWatermark("ts", "7 seconds")
query = start(spark, base, plan, before=own)
query.awaitTermination()
rows = rows_in(spark, base)
assert rows == expected_rows(events, plan, final_watermark_us(events, 7_000_000)), "stream"
counted = ev.metrics.of(query)
assert counted["matches"] == len(rows) and counted["events"] > 0, counted
try:
    run_dataframe(df.selectExpr("user", "CAST(NULL AS TIMESTAMP) AS ts", "kind", "amount"), plan).collect()
except Exception as error:
    assert str(user_message(error)).startswith("an event has no time"), str(error)
spark.stop()
print("all rows equal")
"""


def test_batch_and_stream_run_on_connect(tmp_path: Path) -> None:
    write_files(tmp_path / "in", make_events(120, seed=20), n_files=2)
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(Path(__file__).parents[2])}
    environment.pop("SPARK_REMOTE", None)
    command = [sys.executable, "-c", _CLIENT, str(tmp_path)]
    client = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert client.stdout.endswith("all rows equal\n"), client.stdout[-2000:] + client.stderr[-6000:]
