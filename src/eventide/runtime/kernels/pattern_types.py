"""Numba's types of the pattern matcher: the matcher is compiled once, and takes the tests of a query as functions."""

from __future__ import annotations

import warnings

from numba import types
from numba.core.errors import NumbaExperimentalFeatureWarning

# Functions as arguments are new in Numba, and it says so at every call.
warnings.filterwarnings("ignore", message=".*First-class function type", category=NumbaExperimentalFeatureWarning)

INT = types.int64
INTS = types.Array(INT, 1, "C")
TABLE = types.Array(INT, 2, "C")
INDEX = types.Array(types.int32, 1, "C")
COLS = types.Tuple((TABLE, types.Array(types.float64, 2, "C"), types.Array(types.boolean, 2, "C")))

BOUND_HOLDS = types.boolean(INT, INT, INTS, INTS, INT, COLS)
ADJACENT_HOLDS = types.boolean(INT, INT, INT, INT, COLS)
CLOSES = types.boolean(INT, INTS, INTS, INT, INT, COLS)
TESTS = types.Tuple([types.FunctionType(signature) for signature in (BOUND_HOLDS, ADJACENT_HOLDS, CLOSES)])

OUT = types.UniTuple(TABLE, 3)
