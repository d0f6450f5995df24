"""Generated modules are written once, imported once, and compiled once per machine."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from eventide.operators import generated
from eventide.operators.generated import cache_directory, load_module, specialize

SOURCE = (
    "import numpy as np\nfrom numba import njit\n\n\n@njit(cache=True, nogil=True)\ndef twice(x):\n    return 2 * x\n"
)
PROCESS = textwrap.dedent(
    """
    import sys
    from eventide.operators.generated import load_module
    module = load_module(sys.argv[1])
    assert module.twice(21) == 42
    print(sum(module.twice.stats.cache_hits.values()), sum(module.twice.stats.cache_misses.values()))
    """
)


def run(directory: Path) -> str:
    environment = {**os.environ, "EVENTIDE_CACHE_DIR": str(directory)}
    environment.pop("NUMBA_CACHE_DIR", None)
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(
        [sys.executable, "-c", PROCESS, SOURCE], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_second_process_finds_the_compiled_code(tmp_path: Path) -> None:
    assert run(tmp_path) == "0 1"
    assert len(list((tmp_path / "generated").glob("ev_*.py"))) == 1
    assert list((tmp_path / "generated" / "__pycache__").glob("*.nbc"))
    assert run(tmp_path) == "1 0"


def test_many_processes_at_once_share_one_file(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert all(result in ("0 1", "1 0") for result in pool.map(run, [tmp_path] * 3))
    assert len(list((tmp_path / "generated").glob("ev_*.py"))) == 1
    assert not list((tmp_path / "generated").glob("*.tmp"))
    assert run(tmp_path) == "1 0"


def test_the_same_source_is_the_same_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVENTIDE_CACHE_DIR", str(tmp_path))
    one = load_module("x = 1  # the same source\n")
    assert load_module("x = 1  # the same source\n") is one
    assert load_module("x = 2  # another source\n").x == 2


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    path = generated._write_once(tmp_path, "ev_one", "x = 1\n")
    before = path.stat().st_mtime_ns
    assert generated._write_once(tmp_path, "ev_one", "x = 1\n") == path
    assert path.stat().st_mtime_ns == before


def test_a_directory_that_cannot_be_written_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    monkeypatch.setenv("EVENTIDE_CACHE_DIR", str(blocked / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "eventide"
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert "eventide" in cache_directory().name


def test_regions_are_replaced_by_name() -> None:
    source = "a = 1\n# <generated: one>\nb = 1\n# </generated>\n# <generated: two>\nc = 1\n# </generated>\n"
    made = specialize(source, {"two": "c = '\\\\1'\n\n"})
    assert made == "a = 1\n# <generated: one>\nb = 1\n# </generated>\n# <generated: two>\nc = '\\\\1'\n# </generated>\n"


def test_a_region_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no region named holds"):
        specialize("x = 1\n", {"holds": "y = 1"})
