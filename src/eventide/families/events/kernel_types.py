"""Numba's types of the pattern matcher: the matcher is compiled once, and takes the tests of a query as functions."""

from __future__ import annotations

from numba import from_dtype, types

from eventide.families.events.kernel_places import FRAME, JOB, Events, Offers, Program, Stacks
from eventide.runtime.kernels.pattern_types import COLS, INDEX, INT, INTS, OUT, TABLE, TESTS

_FRAMES, _JOBS = (types.Array(from_dtype(made), 1, "C") for made in (FRAME, JOB))
PROGRAM = types.NamedUniTuple(INTS, 18, Program)
_INDEXES = types.Array(types.int32, 2, "C")
EVENTS = types.NamedTuple((INTS, INTS, INDEX, INDEX, _INDEXES, _INDEXES), Events)
OFFERS = types.NamedUniTuple(INTS, 11, Offers)
STACKS = types.NamedTuple((_FRAMES, TABLE, TABLE, TABLE, _JOBS), Stacks)

MATCH_SCOPES = INT(TABLE, INTS, from_dtype(JOB), PROGRAM, EVENTS, OFFERS, STACKS, TESTS, COLS, OUT)
