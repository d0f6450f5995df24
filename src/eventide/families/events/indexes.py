"""What a walk looks up by row: where a match can end, what is then worth a look, and the next row of a symbol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from eventide.families.events.kernel_ahead import GROUP, index_ahead
from eventide.families.events.kernel_completions import ANYWHERE, AT_NEW, NOWHERE, index_completions
from eventide.families.events.kernel_places import PARTIAL, Events
from eventide.families.events.program import PatternProgram
from eventide.runtime.block import MIN_US
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.ordered import Ordered

_MAX_COMPLETIONS = 1 << 26  # rows times positions; beyond, the walk goes without


def index_events(
    program: PatternProgram, ordered: Ordered, newer_than_us: int = MIN_US, *, whole: bool = False, keep: int = 0
) -> Events:
    """The events as the kernel takes them.

    Where its last event decides a match, one that ended up to `newer_than_us` was returned: nobody walks to it again.
    `whole`: a scope is a whole partition, and its matches have no window; `keep` as in the kernel.
    """
    mask, completion = ordered.mask, np.empty((0, 0), dtype=np.int32)
    n_rows = ordered.ts_us.size
    if len(program.positions) * n_rows <= _MAX_COMPLETIONS:
        # What comes behind a partial match says nothing about it.
        absent = _absent(program, at_end=whole and keep != PARTIAL)
        mask, completion = _completions(program, ordered, newer_than_us, absent)
    ahead = np.empty((len(program.symbols), -(-n_rows // GROUP) + 1), dtype=np.int32)
    index_ahead(mask, ahead)
    return Events(ordered.ts_us, mask, ordered.follows, ordered.precedes, completion, ahead)


def _completions(
    program: PatternProgram, ordered: Ordered, newer_than_us: int, absent: IntArray
) -> tuple[IntArray, np.ndarray[Any, np.dtype[np.int32]]]:
    """The masks without what leads nowhere, and for every position and row the earliest end of a match."""
    n_positions, n_rows = len(program.positions), ordered.ts_us.size
    # What follows a conjunction is not known before its pairs are.
    unknown = _before_unknown(program)
    is_last_decisive = not program.waits and not program.may_repeat
    main = {at for number in program.main for at in program.reached(program.branches[number])}
    may_end = np.full(n_positions, NOWHERE, dtype=np.int8)
    for i, position in enumerate(program.positions):
        if position.endings:
            may_end[i] = AT_NEW if is_last_decisive and i in main else ANYWHERE
        if i in unknown:
            may_end[i] = ANYWHERE
    # An event that leads nowhere may still be the next one.
    always = sum(1 << k for k in {*_symbols(program, "next"), *_symbols(program, "contiguous")})
    out = np.empty((n_positions, n_rows), dtype=np.int32)
    live = np.empty_like(ordered.mask)
    is_new = ordered.ts_us > newer_than_us
    index_completions(
        ordered.offsets, ordered.precedes, ordered.mask, program.tables, absent, may_end, is_new, always, out, live
    )
    return live, out


def _absent(program: PatternProgram, *, at_end: bool) -> IntArray:
    """By edge and ending the bits of the single events that must not lie in its gap; of endings only `at_end`."""
    bits = program.tables.neg_bits
    unknown = _before_unknown(program)

    def of(negations: Iterable[int]) -> int:
        return int(np.bitwise_or.reduce([0, *(int(bits[number]) for number in negations)]))

    sources = [position.edges for position in program.positions] + [branch.starts for branch in program.branches]
    edges = [of(edge.negations) for source in sources for edge in source]
    endings = [
        of(ending.negations) if at_end and i not in unknown else 0
        for i, position in enumerate(program.positions)
        for ending in position.endings
    ]
    return np.array([*edges, *endings], dtype=np.int64)


def _before_unknown(program: PatternProgram) -> set[int]:
    """The positions that a conjunction may follow."""
    conjunctions = {i for i, position in enumerate(program.positions) if position.symbol is None}
    return {
        i for i, position in enumerate(program.positions) if any(edge.target in conjunctions for edge in position.edges)
    }


def _symbols(program: PatternProgram, strategy: str) -> set[int]:
    """The symbols of all branches with a strategy."""
    reached = (at for branch in program.branches if branch.strategy == strategy for at in program.reached(branch))
    return {symbol for at in reached if (symbol := program.positions[at].symbol) is not None}
