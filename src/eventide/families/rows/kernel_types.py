"""Numba's types of the row matcher: the matcher is compiled once, and takes the tests of a query as functions."""

from __future__ import annotations

from numba import from_dtype, types

from eventide.families.rows.kernel_places import STATE, Limits, Out, Program, Room, Rows
from eventide.runtime.kernels.pattern_types import COLS, INDEX, INT, INTS, TABLE

PLACES = types.Array(types.int32, 2, "C")
FOLDS = types.Tuple((TABLE, types.Array(types.float64, 2, "C"), TABLE))

HOLDS = types.boolean(INT, INT, INTS, INDEX, INDEX, INDEX, INDEX, FOLDS, COLS)
FOLD = INT(INT, INT, INT, INTS, FOLDS, COLS)
TESTS = types.Tuple([types.FunctionType(signature) for signature in (HOLDS, FOLD)])

MATCH_ROWS = INT(
    types.NamedTuple((INTS, INTS, TABLE, TABLE), Rows),
    INT,
    types.NamedTuple((PLACES, *[INDEX] * 5), Program),
    types.NamedTuple((INT, INT, types.boolean, types.boolean, INT, INT, INT), Limits),
    from_dtype(STATE),
    types.NamedTuple((*[INDEX] * 7, INTS, INDEX, INDEX, INTS, INTS, FOLDS), Room),
    TESTS,
    COLS,
    types.NamedTuple((TABLE, INDEX), Out),
)
