"""Numba's types of the trend kernels: they are compiled once, and take the tests of a query as a function."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import from_dtype, types

from eventide.compilation.njit import njit
from eventide.runtime.kernels.pattern_types import COLS, INT, INTS, TABLE

CUBE = types.Array(INT, 3, "C")
DOUBLES = types.Array(types.float64, 2, "C")
EVENTS = types.UniTuple(INTS, 3)
TABLES = types.Tuple(
    (
        types.UniTuple(INTS, 5),
        types.UniTuple(INTS, 3),
        INTS,
        types.Tuple((TABLE, TABLE, INTS, INTS, INTS)),
        types.Tuple((TABLE, CUBE, TABLE, CUBE, INTS)),
        types.Tuple((TABLE, CUBE)),
        types.UniTuple(TABLE, 2),
        types.boolean,
    )
)
RELATE = INT(INT, INT, INT, COLS)  # bits of tests, row, row after it; the bits of those that hold


@njit(RELATE, cache=True, nogil=True)
def relate_nothing(tests: int, left: int, right: int, cols: Any) -> int:
    """No tests."""
    return 0


def count_scopes_type(number: Any, weight: Any) -> Any:
    """The signature of `kernel.count_scopes` for a kind of numbers."""
    words = types.Array(from_dtype(np.dtype(number)), 2, "C")
    records = types.Tuple((words, words, DOUBLES, INTS))
    values = types.Tuple((types.Array(from_dtype(np.dtype(weight)), 2, "C"), DOUBLES, TABLE, INTS, INTS, INTS))
    memory = types.Tuple((records, INTS, INTS, INTS))
    out = types.Tuple((records, types.Array(types.boolean, 1, "C")))
    relate = types.FunctionType(RELATE)
    return types.void(TABLE, EVENTS, TABLES, relate, COLS, values, memory, INTS, out)
