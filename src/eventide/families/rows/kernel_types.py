"""Numba's types of the row matcher: the matcher is compiled once, and takes the tests of a query as functions."""

from __future__ import annotations

from numba import types

from eventide.runtime.kernels.pattern_types import COLS, INDEX, INT, INTS, TABLE

PLACES = types.Array(types.int32, 2, "C")
FOLDS = types.Tuple((TABLE, types.Array(types.float64, 2, "C"), TABLE))

HOLDS = types.boolean(INT, INT, INTS, INDEX, INDEX, INDEX, INDEX, FOLDS, COLS)
FOLD = INT(INT, INT, INT, INTS, FOLDS, COLS)
TESTS = types.Tuple([types.FunctionType(signature) for signature in (HOLDS, FOLD)])

MATCH_ROWS = INT(
    *(INTS, INT, INTS, TABLE),  # partitions, where to stop, times, masks
    *(PLACES, INDEX, INDEX, INDEX, INDEX, INDEX),  # the program and what belongs to its points and labels
    *(INTS, TABLE, INTS),  # limits, progress, state
    *(INDEX, PLACES, PLACES, INTS),  # room to work in
    *(FOLDS, TESTS, COLS),
    *(TABLE, INDEX),  # out
)
