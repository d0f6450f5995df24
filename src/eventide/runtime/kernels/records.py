"""Records of integers whose fields have names: what a kernel knows between two calls, or one entry of its stacks."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np


def record(name: str, *fields: str) -> np.dtype[Any]:
    """The type of such a record. Kernels, compiled or not, read and write its fields as attributes.

    >>> Place = record("Place", "row", "depth")
    >>> places = np.zeros(2, Place)
    >>> place = places[1]
    >>> place.row = 3
    >>> places.tolist()
    [(0, 0), (3, 0)]
    """
    # NumPy's own records look each attribute up in Python, which makes a kernel that is not compiled slow.
    attributes = {field: property(itemgetter(field), _setter(field)) for field in fields}
    integers = np.dtype([(field, np.int64) for field in fields], align=True)
    return np.dtype((type(name, (np.void,), attributes), integers))


def _setter(field: str) -> Callable[[Any, int], None]:
    def put(self: Any, value: int) -> None:
        self[field] = value

    return put
