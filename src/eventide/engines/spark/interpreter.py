"""The Python of Spark's workers: in local mode it is the one that runs now, unless the user has chosen another."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from functools import cache

from pyspark.sql import SparkSession

from eventide.errors import InputError

_log = logging.getLogger("eventide.spark")
_CHOSEN = "PYSPARK_PYTHON"
# What PySpark takes where nobody chooses: the first one on PATH, which is another where an environment is not active.
_FIRST_ON_PATH = "python3"
_FINDS_US = "import importlib.util, sys; sys.exit(importlib.util.find_spec('eventide') is None)"


def use_this_python(spark: SparkSession) -> None:
    """Make the tasks of a local session run with a Python that has the package; InputError where they cannot."""
    context = spark.sparkContext
    if context.pythonExec == _FIRST_ON_PATH and _CHOSEN not in os.environ and sys.executable:
        # PySpark reads this for every function that it sends to a task.
        context.pythonExec = sys.executable
        _log.info("Spark's workers run with %s, as this process does", sys.executable)
    elif shutil.which(context.pythonExec) != sys.executable and not _has_package(context.pythonExec):
        raise wrong_python(context.pythonExec)


def wrong_python(found: str) -> InputError:
    """What to do about workers with another Python."""
    return InputError(
        f"Spark's workers run with '{found}', where Eventide is not installed; this process runs with "
        f"'{sys.executable}'",
        hint=f'before the session starts: os.environ["{_CHOSEN}"] = sys.executable',
    )


@cache
def _has_package(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", _FINDS_US], capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
