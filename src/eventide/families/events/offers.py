"""AND as one step: the pairs of matches of its sides, which the walk takes as it takes single events.

In: the walks of the sides, inner conjunctions first. Out: offers, sorted by scope and first row. Different pairs that
bind the same events to the same symbols are one offer with several members.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eventide.families.events import kernel_places as places
from eventide.families.events.program import PatternProgram
from eventide.families.events.walk import Setting, Walk, doubled, too_wide
from eventide.families.events.ways import Ways
from eventide.runtime.effort import Pace
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.limit import TooManyMatchesError

PAIRS_AT_ONCE = 1 << 16
_FIRST_ROOM = 1 << 10


class TooManyWaysError(TooManyMatchesError):
    """One side of an AND has more ways to match in a partition than any result would need."""


def no_offers() -> places.Offers:
    """What the kernel takes where there is no conjunction."""
    return _arrays(Ways.joined([]))


def with_offers(setting: Setting, starts: IntArray | None = None) -> Setting:
    """The setting with the offers of all conjunctions of its program.

    `starts`: the scopes with the rows at which an offer may begin that some match needs; none: all of them.
    """
    starts = setting.scopes if starts is None else starts
    made: list[Ways] = []
    for number in range(len(setting.program.conjunctions)):
        join = _Join.of(setting, number, starts)
        made += [] if join is None else [join.pairs(starts)]
        setting = _offering(setting, made)
    return setting


def in_pieces(setting: Setting) -> Iterator[Setting]:
    """Settings with few offers each, for a program in which a conjunction is all that a match has.

    Each has the scopes and the rows in which matches begin that its offers are for.
    """
    inside, outside = _inner(setting.program)
    made: list[Ways] = []
    for number in inside:
        join = _Join.of(setting, number, setting.scopes)
        made += [] if join is None else [join.pairs(setting.scopes)]
        setting = _offering(setting, made)
    joins = [join for number in outside if (join := _Join.of(setting, number, setting.scopes)) is not None]
    for scopes in _cut(setting.scopes, joins):
        yield _offering(replace(setting, scopes=scopes), [join.pairs(scopes) for join in joins])


def is_alone(program: PatternProgram) -> bool:
    """Whether a conjunction is nowhere beside other steps, except inside another one."""
    sides = {branch for conjunction in program.conjunctions for side in conjunction.sides for branch in side}
    for number, branch in enumerate(program.branches):
        reached = program.reached(branch)
        if number in sides or all(program.positions[i].conjunction is None for i in reached):
            continue
        if number not in program.main or len(reached) > 1:
            return False
    return True


def _inner(program: PatternProgram) -> tuple[list[int], list[int]]:
    """The conjunctions inside others, and those that are a match of their own."""

    def used(branches: Sequence[int]) -> set[int]:
        found = (program.positions[i].conjunction for b in branches for i in program.reached(program.branches[b]))
        return {number for number in found if number is not None}

    sides = [branch for conjunction in program.conjunctions for side in conjunction.sides for branch in side]
    return sorted(used(sides)), sorted(used(program.main))


def _offering(setting: Setting, made: list[Ways]) -> Setting:
    """The setting with these offers, the tag of each its conjunction."""
    ways = Ways.joined(made)
    scopes = setting.scopes.copy()
    numbers = np.arange(len(scopes))
    order, is_new = ways.sorted()
    ways = ways.taken(order)
    owners = ways.scope[is_new[0]]
    scopes[:, 2] = np.searchsorted(owners, numbers)
    scopes[:, 3] = np.searchsorted(owners, numbers, side="right")
    return replace(setting, offers=_arrays(ways, is_new), scopes=scopes)


def _arrays(ways: Ways, is_new: np.ndarray | None = None) -> places.Offers:
    """As the kernel takes them; `is_new` as in `Ways.sorted`."""
    if is_new is None:
        is_new = np.ones((2, ways.scope.size), dtype=np.bool_)
    # Members are ways that differ in their tag or gaps; the first of an offer has its entries.
    members = ways.taken(np.flatnonzero(is_new[1]))
    begins = np.flatnonzero(is_new[0][is_new[1]])
    offers = members.taken(begins)
    arrays = (
        offers.first,
        offers.last,
        offers.lo,
        offers.symbols,
        offers.rows,
        np.append(begins, members.scope.size),
        members.tag,
        members.gap_lo,
        *members.gaps,
    )
    return places.Offers(*(np.ascontiguousarray(array, dtype=np.int64) for array in arrays))


@dataclass(frozen=True, slots=True)
class _Join:
    """The ways of each side of a conjunction, as the kernel takes them."""

    setting: Setting
    number: int
    arrays: tuple[IntArray, ...]
    widest: int  # entries of one pair

    @staticmethod
    def of(setting: Setting, number: int, starts: IntArray) -> _Join | None:
        """None: a side has no way at all."""
        sides = []
        # A side with few ways first: where it has none, the others are not asked.
        by_cost = sorted(setting.program.conjunctions[number].sides, key=lambda side: _cost(setting.program, side))
        around = replace(setting, scopes=_around(setting, starts))
        for branches in by_cost:
            ways = _ways(around, branches)
            if not ways.scope.size:
                return None
            sides.append(ways)
        n_scopes = len(setting.scopes)
        borders = np.arange(n_scopes + 1)
        side_lo, before = [], 0
        for ways in sides:
            side_lo.append(np.searchsorted(ways.scope, borders) + before)
            before += ways.scope.size
        every = Ways.joined(sides)
        parts = (every.first, every.last, every.lo, every.symbols, every.rows, every.gap_lo, *every.gaps)
        arrays = (np.concatenate(side_lo), *parts)
        widest = sum(int(np.diff(ways.lo).max()) for ways in sides)
        return _Join(setting, number, tuple(np.ascontiguousarray(a, dtype=np.int64) for a in arrays), widest)

    @property
    def n_sides(self) -> int:
        return len(self.setting.program.conjunctions[self.number].sides)

    def _state(self) -> IntArray:
        state = np.zeros(places.PAIR_STATE + 4 * self.n_sides, dtype=np.int64)
        state[places.PAIR_LEVEL] = places.NOT_BEGUN
        state[places.PAIR_REACH] = self.setting.reach_us
        state[places.PAIR_SIDES] = self.n_sides
        return state

    def counts(self, scopes: IntArray) -> IntArray:
        """Scope, first row and largest number of pairs for each way that may lead one."""
        from eventide.families.events.kernel_pairs import count_pairs

        state = self._state()
        out = np.zeros((3, self.arrays[1].size), dtype=np.int64)
        count_pairs(state, self.arrays, scopes, self.setting.events[0], out)
        return out[:, : state[places.N_PAIRS]]

    def pairs(self, scopes: IntArray) -> Ways:
        """All pairs that begin with the rows of `scopes`."""
        from eventide.families.events.kernel_pairs import join_sides

        setting, state = self.setting, self._state()
        closing = np.array(setting.program.conjunctions[self.number].closes, dtype=np.int64)
        room = np.empty((2, self.widest), dtype=np.int64)
        out = (
            np.empty((_FIRST_ROOM, 3), dtype=np.int64),
            np.empty((2, max(4 * _FIRST_ROOM, self.widest)), dtype=np.int64),
            np.empty((3, _FIRST_ROOM), dtype=np.int64),
        )
        events, pace, status = setting.events[0], Pace(setting.effort), places.PAUSED
        with too_wide():
            while status != places.DONE:
                if status == places.FULL:
                    out = doubled(out[0], 0), doubled(out[1]), doubled(out[2])
                else:
                    at = int(scopes[state[places.PAIR_SCOPE], places.PARTITION])
                    state[places.PAIR_STEPS_LEFT] = pace.go_on(at)
                status = join_sides(state, self.arrays, scopes, events, closing, room, setting.tests, setting.cols, out)
        n, n_entries, n_gaps = (int(state[i]) for i in (places.N_PAIRS, places.N_PAIR_ENTRIES, places.N_PAIR_GAPS))
        head = out[0][:n]
        tag = np.full(n, self.number, dtype=np.int64)
        entries, gaps = out[1][:, :n_entries], out[2][:, :n_gaps]
        return Ways.of(head[:, 0].copy(), tag, head[:, 1].copy(), entries, head[:, 2].copy(), gaps)


def _cost(program: PatternProgram, side: Sequence[int]) -> tuple[bool, int]:
    """Whether a side may repeat something, and how many positions it has."""
    reached = [number for branch in side for number in program.reached(program.branches[branch])]
    loops = any(edge.target <= number for number in reached for edge in program.positions[number].edges)
    return loops, len(reached)


def _around(setting: Setting, starts: IntArray) -> IntArray:
    """The scopes, in which ways may begin wherever a pair that begins in `starts` may have one."""
    scopes, ts_us = setting.scopes.copy(), setting.events[0]
    lo, hi = starts[:, places.START_LO], starts[:, places.START_HI]
    scopes[:, places.START_LO] = lo
    scopes[:, places.START_HI] = np.where(lo < hi, scopes[:, 1], hi)
    if setting.reach_us < places.NEVER:
        for i in np.flatnonzero((lo < hi) & (hi < scopes[:, 1])).tolist():
            reached_us = ts_us[hi[i] - 1] + setting.reach_us
            scopes[i, places.START_HI] = hi[i] + np.searchsorted(ts_us[hi[i] : scopes[i, 1]], reached_us)
    return scopes


def _ways(setting: Setting, branches: tuple[int, ...]) -> Ways:
    """All ways to match one side, each once, by scope and first row."""
    found: list[Ways] = []
    n = 0
    for some in Walk(setting, branches, places.WAYS, 0, len(setting.scopes)):
        entries = np.stack([some.symbols, some.rows])
        found.append(Ways.of(some.scope, np.zeros_like(some.scope), some.ends, entries, some.gap_ends, some.gaps))
        n += some.scope.size
        if n > setting.max_ways:
            raise TooManyWaysError(int(setting.scopes[some.scope[-1], places.PARTITION]), setting.max_ways)
    return Ways.joined(found).distinct()


def _cut(scopes: IntArray, joins: Sequence[_Join]) -> Iterator[IntArray]:
    """All scopes in ranges of rows, over one or several of them, in which few pairs begin."""
    counts = [join.counts(scopes) for join in joins]
    scope, row, count = np.concatenate([np.empty((3, 0), np.int64), *counts], axis=1)
    by_place = np.lexsort((row, scope))
    scope, row, total = scope[by_place], row[by_place], np.cumsum(count[by_place])
    numbers = np.arange(len(scopes))
    at, begun, before = 0, (0, 0), 0
    while True:
        at = min(scope.size, at + max(1, int(np.searchsorted(total[at:], before + PAIRS_AT_ONCE, side="right"))))
        # A row is not shared.
        while 0 < at < scope.size and (scope[at], row[at]) == (scope[at - 1], row[at - 1]):
            at += 1
        is_end = at >= scope.size
        end = (len(scopes), 0) if is_end else (int(scope[at]), int(row[at]))
        piece = scopes.copy()
        piece[numbers < begun[0], places.START_HI] = 0
        piece[numbers > end[0], places.START_HI] = 0
        piece[begun[0], places.START_LO] = max(begun[1], int(piece[begun[0], places.START_LO]))
        if not is_end:
            piece[end[0], places.START_HI] = min(end[1], int(piece[end[0], places.START_HI]))
        yield piece
        if is_end:
            return
        begun, before = end, int(total[at - 1])
