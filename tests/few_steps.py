"""Searches that pause after every few steps, as otherwise only long ones do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from eventide.runtime import effort


@contextmanager
def few_steps(n_steps: int = 3) -> Iterator[None]:
    """Every call of a kernel takes so many steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(effort, "FIRST_STEPS", n_steps)
        patch.setattr(effort, "GROWTH", 1)
        yield
