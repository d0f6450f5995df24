"""The error that a call ends with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from eventide.errors import EventideError

Error = TypeVar("Error", bound=Exception)


def error_of(run: Callable[[], Any], kind: type[Error] = EventideError) -> Error:  # type: ignore[assignment]
    """What `run` raises; it fails if nothing is raised, or an error of another kind."""
    with pytest.raises(kind) as caught:
        run()
    return caught.value
