"""Fixtures that several folders of tests share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import Phase, settings

# `python -m tests.mutants` only asks whether a test fails, not for its smallest failure.
settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate), database=None, derandomize=True)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A classic session on two local cores. PySpark is imported only when a test asks for it."""
    # Tasks otherwise run with whatever `python3` is on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .appName("eventide tests")
        .config("spark.ui.enabled", "false")
        .config("spark.python.daemon.module", "tests.daemon")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "2g")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    yield session
    session.stop()
