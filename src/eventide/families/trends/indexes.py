"""Conditions on adjacent events that are one comparison: an index over ranks instead of a scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventide.families.trends.batches import make_batches
from eventide.families.trends.compiled import Kernel
from eventide.families.trends.scope_walk import ScopeWalk
from eventide.families.trends.spec import Comparison, TrendSpec
from eventide.families.trends.tables import Tables
from eventide.runtime.kernels.arrays import IntArray

ALWAYS = -1  # the test of a step that has none, from a state that holds its events


@dataclass(frozen=True, slots=True)
class Queries:
    """Trees (state, test), by letter the queries (tree, case), and the steps that need none."""

    trees: list[tuple[int, int]]
    by_letter: list[list[tuple[int, int]]]
    steps: tuple[IntArray, IntArray, IntArray]


def count_by_index(walk: ScopeWalk, spec: TrendSpec, kernel: Kernel, n_threads: int) -> tuple[Any, Any] | None:
    """The records of all scopes, and whether they are ambiguous; None where events must be scanned."""
    tables = walk.tables
    queries = _queries(tables, spec)
    if queries is None:
        return None
    return _Index(walk, spec, queries, kernel).count(kernel, n_threads)


class _Index:
    def __init__(self, walk: ScopeWalk, spec: TrendSpec, queries: Queries, kernel: Kernel) -> None:
        self._walk = walk
        self._tables = tables = walk.tables
        self._is_any = spec.strategy == "any"
        self._trees = queries.trees
        self._n_holding = max(1, int(tables.holds_events.sum()))
        self._n_tied = int(np.bincount(walk.letters.events[0]).max(initial=1))
        self._batches = make_batches(walk.scopes, self._size_bytes)
        used = sorted({test for _, test in queries.trees})
        number = {test: i for i, test in enumerate(used)}
        place, reach, n_places = self._ranks(used, spec, kernel)
        self._most_places = int(n_places.max(initial=1))
        is_point = [test != ALWAYS and _comparison(spec, test).op == "eq" for test in used]
        states = [state for state, _ in queries.trees]
        flat = [query for each in queries.by_letter for query in each]
        self._n_base = 3 * tables.n_states + 1 + self._n_entries(self._most_rows)
        self._index = (
            np.cumsum([0, *(len(each) for each in queries.by_letter)], dtype=np.int64),
            np.array([tree for tree, _ in flat], dtype=np.int64),
            np.array([case for _, case in flat], dtype=np.int64),
            reach,
            np.array([number[test] for _, test in queries.trees], dtype=np.int64),
            np.array(is_point, dtype=np.bool_),
            place,
            self._n_base + np.arange(len(queries.trees), dtype=np.int64) * self._most_places,
            tables.grained[2],
            tables.grained[3],
            np.searchsorted(states, np.arange(tables.n_states + 1)).astype(np.int64),
            n_places,
        )
        after, _, settle, _, _ = tables.keeps
        # A state's own record is kept where it counts, or where a step without a test leaves it.
        totals = np.asarray(tables.verdicts[0].any(axis=0))
        totals[queries.steps[1]] = True
        self._program = (
            (tables.moves[0], _bits_of_moves(tables)),
            queries.steps,
            tables.holds_events,
            totals,
            (after, settle, (after == np.arange(tables.n_states)).all(axis=1)),
            tables.verdicts,
            self._is_any,
            (*walk.sizes(1).tolist()[1:], self._batches.n_lanes, self._batches.n_lanes * kernel.numbers.WORDS),
        )

    @property
    def _most_rows(self) -> int:
        rows = self._batches.rows
        return int((rows[:, 1] - rows[:, 0]).max())

    def _n_entries(self, n_rows: int) -> int:
        """Events whose records are held apart: those of one time, or all that wait."""
        return (self._n_tied if self._is_any else n_rows) * self._n_holding

    def _size_bytes(self, n_rows: int, n_lanes: int) -> int:
        _, n_weights, n_sums, n_extremes = self._walk.sizes(1).tolist()
        n_records = self._n_entries(n_rows) + (n_rows * len(self._trees) if self._is_any else 0)
        return int(n_records * n_lanes * (16 * (1 + n_weights + n_sums) + 8 * n_extremes))

    def _ranks(self, used: list[int], spec: TrendSpec, kernel: Kernel) -> tuple[IntArray, IntArray, IntArray]:
        """By test and event of every batch: its place as the earlier one, what it may extend as the later one; by test
        and batch the number of places."""
        batches = self._batches
        starts = batches.starts
        place, reach = (np.empty((len(used), int(starts[-1])), dtype=np.int64) for _ in range(2))
        n_places = np.ones((len(used), len(batches.rows)), dtype=np.int64)
        runs = np.column_stack([batches.rows, starts[:-1]])
        of_rows = batches.of_rows(self._walk.letters.events[0].size)
        for i, test in enumerate(used):
            if test == ALWAYS:
                place[i], reach[i] = 0, 1
                continue
            comparison = _comparison(spec, test)
            every = rank_events(comparison, spec, self._walk.cols)
            if len(runs) == 1 and np.array_equal(runs[0], [0, every[0].size, 0]):
                place[i], reach[i] = every
                n_places[i] = every[0].max(initial=0) + 1
                continue
            kernel.ranks.rank_within(*every, comparison.op == "eq", runs, of_rows, (place[i], reach[i]), n_places[i])
        return place, reach, n_places

    def count(self, kernel: Kernel, n_threads: int) -> tuple[Any, Any]:
        batches = self._batches
        shift = batches.starts[:-1] - batches.rows[:, 0]
        every = np.column_stack([batches.borders[:-1], batches.borders[1:], shift])
        events, values = self._walk.letters.events, self._walk.values

        def run(first: int, stop: int, out: Any) -> None:
            mine = every[first:stop].copy()
            mine[:, :2] -= every[first, 0]
            scopes = batches.scopes[every[first, 0] : every[stop - 1, 1]]
            index = (*self._index[:-1], np.ascontiguousarray(self._index[-1][:, first:stop]))
            memory = self._memory(kernel)
            kernel.index.count_indexed(mine, scopes, events, self._program, index, values, memory, out)

        return self._walk.share_out(kernel, n_threads, batches, run)

    def _memory(self, kernel: Kernel) -> Any:
        """What a thread needs of its own."""
        tables, n_trees, n_lanes = self._tables, max(1, len(self._trees)), self._batches.n_lanes
        _, n_weights, n_sums, n_extremes = self._walk.sizes(1).tolist()
        n_entries = self._n_entries(self._most_rows)
        n_records = self._n_base + (n_trees * self._most_places if self._is_any else 0)
        n_waiting = 0 if self._is_any else n_entries
        dtype, n_words = kernel.numbers.DTYPE, kernel.numbers.WORDS
        words = np.empty(n_records * n_lanes * (1 + n_weights) * n_words, dtype=dtype)
        records = (
            words,
            words[n_lanes if n_words == 2 else words.size :],
            np.empty((n_records * n_lanes * n_sums, 2), dtype=np.float64),
            np.empty(n_records * n_lanes * n_extremes, dtype=np.int64),
        )

        def ints(*shape: int) -> IntArray:
            return np.zeros(shape, dtype=np.int64)

        current = ints(n_trees)
        return (
            records,
            np.zeros(3 * tables.n_states + 1, dtype=np.bool_),
            ints(n_trees, self._most_places),
            current,
            (ints(n_entries), ints(n_entries), ints(n_waiting * n_trees, 3), ints(n_entries)),
            (
                ints(n_trees, n_waiting),
                ints(n_trees, n_waiting),
                ints(n_trees),
                ints(n_trees, self._most_places),
                ints(n_trees, self._most_places),
                ints(n_trees, n_waiting),
                current,
            ),
            np.zeros((1, 2), dtype=dtype),
        )


def _bits_of_moves(tables: Tables) -> IntArray:
    """The counted symbols that the event of each move is; records have one class here, so one carry at most."""
    _, carry_lo, _, _, bits = tables.moves
    has_one = carry_lo[1:] > carry_lo[:-1]
    found = np.zeros(has_one.size, dtype=np.int64)
    found[has_one] = bits[carry_lo[:-1][has_one]]
    return found


def _queries(tables: Tables, spec: TrendSpec) -> Queries | None:
    """What the events ask for; None where a test is no comparison, or a held event is not just extended or kept."""
    if spec.counted and (tables.n_classes > 1 or any(s.mixed for s in tables.states)):
        return None
    is_any = spec.strategy == "any"
    holding = np.flatnonzero(tables.holds_events)
    after, _, settle, _, _ = tables.keeps
    for state in holding.tolist():
        if (settle[:, state] != state).any() or ((after[:, state] != state) & (after[:, state] != -1)).any():
            return None
    first_case, tests_of, case_lo, case_move, case_took = tables.grained
    step_lo, step_from, step_move = tables.letters
    found: list[list[tuple[int, int, int]]] = []
    steps: list[list[tuple[int, int]]] = []
    for letter in range(first_case.shape[0]):
        mine = range(step_lo[letter], step_lo[letter + 1])
        steps.append([(int(step_from[i]), int(step_move[i])) for i in mine])
        found.append([])
        for state in holding.tolist():
            case, bits = int(first_case[letter, state]), int(tests_of[letter, state])
            if case < 0:
                continue
            if not bits and is_any:
                steps[-1] += ((state, int(case_move[i])) for i in range(case_lo[case], case_lo[case + 1]))
                continue
            test = bits.bit_length() - 1
            if bits:
                fails = case_lo[case] == case_lo[case + 1]
                if bits.bit_count() > 1 or not fails or spec.comparisons[test] is None:
                    return None
                case += 1
            if not is_any and tables.rests[0][state, case_took[case]] >= 0:
                return None
            found[-1].append((state, test, case))
    trees = sorted({(state, test) for each in found for state, test, _ in each})
    number = {tree: i for i, tree in enumerate(trees)}
    by_letter = [[(number[state, test], case) for state, test, case in each] for each in found]
    flat = [step for each in steps for step in each]
    packed = (
        np.cumsum([0, *(len(each) for each in steps)], dtype=np.int64),
        np.array([step[0] for step in flat], dtype=np.int64),
        np.array([step[1] for step in flat], dtype=np.int64),
    )
    return Queries(trees, by_letter, packed)


def _comparison(spec: TrendSpec, test: int) -> Comparison:
    comparison = spec.comparisons[test]
    assert comparison is not None
    return comparison


def rank_events(comparison: Comparison, spec: TrendSpec, cols: Any) -> tuple[IntArray, IntArray]:
    """By event: its place as the earlier one, -1: none; what it may extend as the later one."""
    left, left_valid = _column(comparison.left, spec, cols)
    right, right_valid = _column(comparison.right, spec, cols)
    distinct, codes = np.unique(left[left_valid], return_inverse=True)
    n = int(distinct.size)
    rank = np.full(left.size, -1, dtype=np.int64)
    rank[left_valid] = codes
    if comparison.left == comparison.right:
        below, up_to = rank, rank + 1
    else:
        others, codes = np.unique(right[right_valid], return_inverse=True)
        below, up_to = (np.zeros(right.size, dtype=np.int64) for _ in range(2))
        below[right_valid] = np.searchsorted(distinct, others, side="left")[codes]
        up_to[right_valid] = np.searchsorted(distinct, others, side="right")[codes]
    if comparison.op == "eq":
        reach = np.where(up_to > below, below, -1)
        reach[~right_valid] = -1
    else:
        reach = {"lt": below, "le": up_to, "gt": n - up_to, "ge": n - below}[comparison.op]
        reach = np.where(right_valid, reach, 0)
    if comparison.op in ("gt", "ge"):
        rank = n - 1 - rank
    return np.where(left_valid, rank, -1), reach


def _column(number: int, spec: TrendSpec, cols: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    array, row = spec.place(number)
    values = cols[array][row]
    # -0.0 is 0.0.
    return values + 0.0 if array else values, cols[2][number]
