"""Rows are matched by plain Python here: compiling a matcher takes seconds, and most cases have one of their own.

`test_same_rows.py` compiles some, and so do the benchmarks.
"""

from __future__ import annotations

import numba
import pytest


@pytest.fixture(autouse=True)
def without_jit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated modules that are loaded in this test are not compiled."""
    if "jit" not in request.keywords:
        monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
