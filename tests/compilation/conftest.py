"""A cache of compiled code of its own for each test, and a function that is compiled as in a new process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

from eventide.compilation import cache
from eventide.compilation.njit import njit

Compile = Callable[[], str]


def twice(x: int) -> int:
    return 2 * x


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """EVENTIDE_CACHE_DIR, not made yet; the user's own cache is another folder, beside it."""
    monkeypatch.setenv("EVENTIDE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    return tmp_path / "cache"


@pytest.fixture
def compile_twice(place: Path, monkeypatch: pytest.MonkeyPatch) -> Compile:
    """Compile or load a function, and call it: "loaded" or "compiled"."""
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)

    def compile_or_load() -> str:
        cache._open_first.cache_clear()
        cache._say_not_written.cache_clear()
        function: Any = njit(cache=True, nogil=True)(twice)
        assert function(21) == 42
        n_hits, n_misses = sum(function.stats.cache_hits.values()), sum(function.stats.cache_misses.values())
        assert n_hits + n_misses == 1
        return "loaded" if n_hits else "compiled"

    return compile_or_load


def files_of(place: Path) -> list[Path]:
    """All files that are there, the key first."""
    return sorted((path for path in place.rglob("*") if path.is_file()), key=lambda path: path.name != "key")
