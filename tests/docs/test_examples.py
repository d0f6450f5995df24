"""The Spark examples of the documentation run, and the README shows the text that runs."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.docs.script import SCRIPT, example, load_script

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def takeover() -> ModuleType:
    return load_script(SCRIPT)


@pytest.mark.parametrize("part", ["batch", "path", "stream"])
def test_the_readme_shows_the_part_of_the_script(part: str) -> None:
    assert f"```python\n{example(part)}```" in (ROOT / "README.md").read_text()


@pytest.mark.spark
@pytest.mark.parametrize("way", ["on_a_dataframe", "on_a_path", "on_a_stream"])
def test_the_example_finds_the_takeover(spark: Any, takeover: ModuleType, tmp_path: Path, way: str) -> None:
    run = getattr(takeover, way)
    rows = run(spark) if way == "on_a_dataframe" else run(spark, tmp_path)
    assert [(row["user"], row["t_amount"]) for row in rows.collect()] == [("ann", 900)]
