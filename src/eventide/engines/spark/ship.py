"""The package to the executors, once per session, as a zip of its source files and their byte code.

In local mode the workers run the Python that runs now, unless the user has chosen another.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.util
import io
import logging
import marshal
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
import zipfile
from functools import cache
from pathlib import Path

from pyspark.sql import SparkSession

from eventide.engines.spark.parallelism import is_local
from eventide.errors import InputError

_shipped: weakref.WeakSet[SparkSession] = weakref.WeakSet()
_log = logging.getLogger("eventide.spark")
_CHOSEN = "PYSPARK_PYTHON"
# What PySpark takes where nobody chooses: the first one on PATH, which is another where an environment is not active.
_FIRST_ON_PATH = "python3"
_FINDS_US = "import importlib.util, sys; sys.exit(importlib.util.find_spec('eventide') is None)"


def ensure_shipped(spark: SparkSession) -> None:
    """Make the tasks of this session able to import the package.

    In local mode tasks run with the driver's installation, so nothing is sent; what is behind a Connect session
    is unknown, so there it always is.
    """
    if spark in _shipped:
        return
    if is_connect(spark) or not is_local(spark):
        spark.addArtifacts(str(package_zip()), pyfile=True)
    else:
        use_this_python(spark)
    _shipped.add(spark)


def is_connect(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


@functools.cache
def package_zip() -> Path:
    """The package's source as a zip, kept until the process ends: the driver serves it to late executors.

    Its name carries the content's hash, since Spark refuses a known name with other content.
    """
    root = Path(__file__).resolve().parents[2]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(root.rglob("*.py")):
            name, source = f"{root.name}/{path.relative_to(root).as_posix()}", path.read_bytes()
            archive.writestr(zipfile.ZipInfo(name), source, zipfile.ZIP_DEFLATED)
            # Python compiles the sources in a zip anew in every process, which takes a worker seconds.
            archive.writestr(zipfile.ZipInfo(f"{name}c"), _byte_code(name, source), zipfile.ZIP_DEFLATED)
    folder = tempfile.mkdtemp(prefix="eventide-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = Path(folder) / f"eventide-{hashlib.sha256(packed.getvalue()).hexdigest()[:16]}.zip"
    target.write_bytes(packed.getvalue())
    return target


def _byte_code(name: str, source: bytes) -> bytes:
    """What a `.pyc` file holds; another version of Python passes over it and takes the source."""
    code = compile(source, name, "exec", dont_inherit=True)
    unchecked = (1).to_bytes(4, "little")
    return importlib.util.MAGIC_NUMBER + unchecked + importlib.util.source_hash(source) + marshal.dumps(code)


def use_this_python(spark: SparkSession) -> None:
    """Make the tasks of a local session run with a Python that has the package; InputError where they cannot."""
    context = spark.sparkContext
    if context.pythonExec == _FIRST_ON_PATH and _CHOSEN not in os.environ and sys.executable:
        # PySpark reads this for every function that it sends to a task.
        context.pythonExec = sys.executable
        _log.info("Spark's workers run with %s, as this process does", sys.executable)
    elif shutil.which(context.pythonExec) != sys.executable and not _has_package(context.pythonExec):
        raise wrong_python(context.pythonExec)


class WrongPythonError(InputError):
    """The Python of Spark's workers does not have the package."""


def wrong_python(found: str) -> WrongPythonError:
    """What to do about workers with another Python."""
    return WrongPythonError(
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
