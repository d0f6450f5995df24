"""Executors that do not have the package get it from the driver."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import eventide
from tests.engines.plans import make_events
from tests.engines.streams import write_files

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

# Runs in every Python process that has its folder on PYTHONPATH: hides the installed package.
_HIDE = """
import sys
sys.path[:] = [path for path in sys.path if not path.endswith({src!r})]
"""

_DRIVER = """
import sys
sys.path[:0] = [sys.argv[2], sys.argv[3]]
from pathlib import Path
from pyspark.sql import SparkSession
import eventide
from eventide.engines.spark import ship
from eventide.engines.spark.batch import run_dataframe
from tests.engines.plans import expected_rows, final_watermark_us, make_events, make_plan, table_rows
from tests.engines.streams import finish

assert eventide.__file__.startswith(sys.argv[2]), eventide.__file__
base, events, plan = Path(sys.argv[1]), make_events(120, seed=21), make_plan()
spark = (SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
         .config("spark.executor.memory", "1g").config("spark.sql.session.timeZone", "UTC")
         .config("spark.sql.shuffle.partitions", "2").config("spark.task.maxFailures", "1")
         .config("spark.log.level", "ERROR").getOrCreate())
df = spark.read.parquet(str(base / "in"))

shipped, ship._shipped = ship._shipped, {spark}
try:
    run_dataframe(df, plan).collect()
except Exception as error:
    assert "No module named 'eventide'" in str(error), str(error)
    print("hidden")
ship._shipped = shipped
assert table_rows(run_dataframe(df, plan).toArrow()) == expected_rows(events, plan)
assert finish(spark, base, plan) == expected_rows(events, plan, final_watermark_us(events))

def where(batches):
    import pyarrow as pa
    import eventide
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"file": [eventide.__file__]})

print("from", spark.range(1).mapInArrow(where, "file string").collect()[0].file)
spark.stop()
print("all rows equal")
"""


def test_the_package_is_shipped_to_executors_without_it(tmp_path: Path) -> None:
    write_files(tmp_path / "in", make_events(120, seed=21), n_files=2)
    source = Path(str(eventide.__file__)).parent
    copied, hide = tmp_path / "copied", tmp_path / "hide"
    shutil.copytree(source, copied / "eventide", ignore=shutil.ignore_patterns("__pycache__"))
    hide.mkdir()
    (hide / "sitecustomize.py").write_text(_HIDE.format(src=str(source.parent)))
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(hide)}
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", _DRIVER, str(tmp_path), str(copied), root]
    driver = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert driver.stdout.endswith("all rows equal\n"), driver.stdout[-2000:] + driver.stderr[-6000:]
    assert "hidden\n" in driver.stdout
    assert ".zip/eventide/" in driver.stdout
