"""The short form of `make soak`: streams of several families whose driver is killed, and started again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.soak import compare_files, make_events, n_commits, run_streams, soak, write_files

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

FAMILIES = ["pattern", "situations", "windows"]


def test_killed_drivers_lose_no_row_and_repeat_none(spark: Any, tmp_path: Path) -> None:
    events = make_events(3000, n_keys=20)
    write_files(tmp_path, events, n_files=6)
    assert soak(tmp_path, FAMILIES, 2, random.Random(2)) == 2
    assert 0 < n_commits(tmp_path) < 7 * len(FAMILIES)
    for family in FAMILIES:
        run_streams(spark, tmp_path, [family])
    assert compare_files(spark, tmp_path, FAMILIES, events) == (0, 0)
