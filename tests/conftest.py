"""Fixtures that several folders of tests share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import Phase, settings

Command = Callable[..., tuple[int, str, str]]

# `python -m tests.mutants` only asks whether a test fails, not for its smallest failure.
settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate), database=None, derandomize=True)


@pytest.fixture
def eventide(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`eventide ...` in this process: exit code, standard output, standard error."""
    from eventide.cli import app as cli

    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["eventide", *words])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


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
