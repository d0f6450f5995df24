"""A pattern's automaton as arrays, for the letters that occur.

A letter is what one event can be (its mask); a group is the set of letters with one time. States are found by following
every letter and group from the start, so the tables hold what the events at hand can reach and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eventide.errors import EventideError
from eventide.families.trends.spec import n_roles
from eventide.families.trends.standings import Group
from eventide.families.trends.states import CHAIN, State, States, Step, Tagged
from eventide.runtime.kernels.arrays import IntArray

MAX_STATES = 20_000
MAX_TESTS = 8  # that decide one step together

Classes = dict[frozenset[Tagged], frozenset[Tagged]]  # a class and the class it came from


@dataclass(frozen=True, slots=True)
class Tables:
    """See `kernel.py` for the order in which the kernel unpacks them."""

    n_states: int
    n_classes: int  # of the state that has most
    moves: tuple[IntArray, ...]  # target, first carry; of each carry: class before, class after, counted symbols
    letters: tuple[IntArray, ...]  # steps by letter: first step, state before, move
    grained: tuple[IntArray, ...]  # by letter and state: first case, tests; of each case: first move, moves, took
    keeps: tuple[IntArray, ...]  # by group and state: state after, its classes' places; the same for new states
    rests: tuple[IntArray, ...]  # by state and branches that took an event: what is left of it
    holds_events: IntArray  # by state
    verdicts: tuple[IntArray, ...]  # by role, length and state: whether it counts; its class, -1 ambiguous
    keeps_all: bool  # a group that passes changes nothing
    states: tuple[State, ...]


def make_tables(
    states: States, letters: Sequence[int], groups: Sequence[Group], max_states: int = MAX_STATES
) -> Tables:
    """The tables over the letters and groups that occur.

    Trends are told apart by role: the set of the sides of an AND that they belong to.
    """
    return _Maker(states, letters, groups, max_states).make()


class _Maker:
    def __init__(self, states: States, letters: Sequence[int], groups: Sequence[Group], max_states: int) -> None:
        self._states = states
        self._max_states = max_states
        self._letters = letters
        self._groups = groups
        self._n_sides = len(states.sides)
        self._n_lengths = states.n_lengths
        self._numbers: dict[State, int] = {}
        self._classes: list[dict[frozenset[Tagged], int]] = []  # of each state: its classes' places
        self._found: list[State] = []
        self._moves: list[tuple[int, list[tuple[int, int, int]]]] = []

    def make(self) -> Tables:
        self._number(self._states.start())
        steps: list[list[tuple[int, int]]] = [[] for _ in self._letters]
        grained: list[list[tuple[int, int, int]]] = [[] for _ in self._letters]
        case_moves: list[list[int]] = []
        case_took: list[int] = []
        keeps: list[list[tuple[int, dict[int, int]]]] = []
        settles: list[list[tuple[int, dict[int, int]]]] = []
        rests: list[list[tuple[int, dict[int, int]]]] = []
        holds: list[bool] = []
        n_branches = len(self._states.branches)
        done = 0
        while done < len(self._found):
            state = self._found[done]
            by_letter = [self._states.tests(state, mask) for mask in self._letters]
            holds.append(any(by_letter))
            took_by_letter: list[int] = []
            for i, mask in enumerate(self._letters):
                if not holds[done]:
                    step = self._states.take(state, mask)
                    took_by_letter.append(step.branches)
                    steps[i] += ((done, move) for move in self._add_step(state, step))
                    continue
                tests = by_letter[i]
                numbers = [k for k in range(tests.bit_length()) if tests >> k & 1]
                if len(numbers) > MAX_TESTS:
                    raise EventideError(
                        f"more than {MAX_TESTS} conditions on adjacent events meet in one step",
                        hint="join conditions on the same two symbols with AND inside one pair of parentheses",
                    )
                taken = [
                    self._states.take(state, mask, sum(1 << k for b, k in enumerate(numbers) if case >> b & 1))
                    for case in range(1 << len(numbers))
                ]
                if any(step.target is not None for step in taken):
                    grained[i].append((done, tests, len(case_moves)))
                    for step in taken:
                        case_moves.append(self._add_step(state, step))
                        case_took.append(step.branches)
                took_by_letter.append(0)
            rests.append([self._rest(state, took) for took in range(1 << n_branches)] if holds[done] else [])
            took_of = dict(zip(self._letters, took_by_letter, strict=True))
            kept, settled = [], []
            for group in self._groups:
                took = 0
                for mask in group:
                    took |= took_of.get(mask, 0)
                kept.append(self._number_classes(*self._states.pass_by(state, group, took), state))
                settled.append(self._number_classes(*self._states.settle(state, group), state))
            keeps.append(kept)
            settles.append(settled)
            done += 1
        return self._pack(steps, grained, case_moves, case_took, keeps, settles, rests, holds)

    def _number(self, state: State) -> int:
        if state not in self._numbers:
            if len(self._found) >= self._max_states:
                raise EventideError(
                    f"the pattern needs more than {self._max_states:,} states for these events",
                    hint="use smaller bounds in {n,m} and MIN LENGTH, or fewer NOTs and types that overlap",
                )
            self._numbers[state] = len(self._found)
            self._found.append(state)
            self._classes.append({block: i for i, block in enumerate(state.classes)})
        return self._numbers[state]

    def _add_step(self, state: State, step: Step) -> list[int]:
        """The moves of a step: the chain goes on, and where trends are counted as they end, one ends."""
        if step.target is None:
            return []
        before = self._classes[self._numbers[state]]
        made = []
        goes_on = self._states.strategy == "any" or any(
            self._states.standings.may_go_on(standing) for _, standing in step.target.tagged
        )
        if goes_on:
            number = self._number(step.target)
            after = self._classes[number]
            carries = [
                (-1 if origin is None else before[origin], after[block], _bits(bound))
                for block, origin, bound in step.origins
            ]
            made.append(self._add_move(number, carries))
        if self._states.strategy != "any":
            ended, origins = self._states.end(step.target)
            if ended is not None:
                number = self._number(ended)
                after = self._classes[number]
                came = {block: (origin, bound) for block, origin, bound in step.origins}
                carries = []
                for block, chain in origins.items():
                    origin, bound = came[chain]
                    carries.append((-1 if origin is None else before[origin], after[block], _bits(bound)))
                made.append(self._add_move(number, carries))
        return made

    def _add_move(self, target: int, carries: list[tuple[int, int, int]]) -> int:
        self._moves.append((target, carries))
        return len(self._moves) - 1

    def _rest(self, state: State, took: int) -> tuple[int, dict[int, int]]:
        """What is left of a state whose events wait, when some of its branches have been extended."""
        if state.kind != CHAIN or self._states.strategy == "any" or not took:
            number = self._numbers[state]
            return number, {place: place for place in self._classes[number].values()}
        return self._number_classes(*self._states.pass_by(state, (), took), state)

    def _number_classes(self, after: State | None, origins: Classes, before: State) -> tuple[int, dict[int, int]]:
        if after is None:
            return -1, {}
        number = self._number(after)
        old, new = self._classes[self._numbers[before]], self._classes[number]
        return number, {old[origin]: new[block] for block, origin in origins.items()}

    def _pack(
        self,
        steps: list[list[tuple[int, int]]],
        grained: list[list[tuple[int, int, int]]],
        case_moves: list[list[int]],
        case_took: list[int],
        keeps: list[list[tuple[int, dict[int, int]]]],
        settles: list[list[tuple[int, dict[int, int]]]],
        rests: list[list[tuple[int, dict[int, int]]]],
        holds: list[bool],
    ) -> Tables:
        n_states, n_groups = len(self._found), len(self._groups)
        n_classes = max(1, max(len(classes) for classes in self._classes))
        carries = [carry for _, each in self._moves for carry in each]
        moves = (
            _array([target for target, _ in self._moves]),
            _offsets([each for _, each in self._moves]),
            _array([carry[0] for carry in carries]),
            _array([carry[1] for carry in carries]),
            _array([carry[2] for carry in carries]),
        )
        flat = [step for each in steps for step in each]
        letters = (_offsets(steps), _array([s[0] for s in flat]), _array([s[1] for s in flat]))
        first_case = np.full((len(self._letters), n_states), -1, dtype=np.int64)
        tests_of = np.zeros((len(self._letters), n_states), dtype=np.int64)
        for letter, each in enumerate(grained):
            for state, bits, case in each:
                first_case[letter, state], tests_of[letter, state] = case, bits
        tests = (
            first_case,
            tests_of,
            _offsets(case_moves),
            _array([move for each in case_moves for move in each]),
            _array(case_took),
        )
        kept = [_transition(table, n_states, n_groups, n_classes) for table in (keeps, settles)]
        width = max(1, max(len(rest) for rest in rests))
        rest, rest_places = _transition(rests, n_states, width, n_classes)
        verdicts = [self._states.verdict(state) for state in self._found]
        n_sets = n_roles(self._n_sides) * self._n_lengths
        counts = np.zeros((n_sets, n_states), dtype=np.int64)
        places = np.full((n_sets, n_states), -1, dtype=np.int64)
        for number, verdict in enumerate(verdicts):
            length = min(max(self._found[number].length, 1), self._n_lengths)
            if verdict.sides:
                k = (verdict.sides - 1) * self._n_lengths + length - 1
                counts[k, number] = 1
                mine = {block for side, block in enumerate(verdict.classes) if verdict.sides >> side & 1}
                block = mine.pop() if len(mine) == 1 else None
                if block is not None:
                    places[k, number] = self._classes[number][block]
        is_identity = all(
            state == number and all(a == b for a, b in classes.items())
            for number, each in enumerate(keeps)
            for state, classes in each
        )
        return Tables(
            n_states=n_states,
            n_classes=n_classes,
            moves=moves,
            letters=letters,
            grained=tests,
            keeps=(*kept[0], *kept[1], np.arange(n_classes)),
            rests=(np.ascontiguousarray(rest.T), np.ascontiguousarray(rest_places.transpose(1, 0, 2))),
            holds_events=_array([int(hold) for hold in holds]),
            verdicts=(counts, places),
            keeps_all=is_identity and self._states.strategy == "any",
            states=tuple(self._found),
        )


def _transition(
    table: list[list[tuple[int, dict[int, int]]]], n_states: int, n_groups: int, n_classes: int
) -> tuple[IntArray, IntArray]:
    """By group and state: the state after, and the place after of every class."""
    after = np.full((n_groups, n_states), -1, dtype=np.int64)
    classes = np.full((n_groups, n_states, n_classes), -1, dtype=np.int64)
    for state, each in enumerate(table):
        for group, (target, places) in enumerate(each):
            after[group, state] = target
            for old, new in places.items():
                classes[group, state, old] = new
    return after, classes


def _array(numbers: Sequence[int]) -> IntArray:
    return np.array(numbers, dtype=np.int64)


def _offsets(groups: Sequence[Sequence[object]]) -> IntArray:
    return np.cumsum([0, *(len(group) for group in groups)], dtype=np.int64)


def _bits(flags: Sequence[bool]) -> int:
    return sum(1 << i for i, flag in enumerate(flags) if flag)
