"""Conditions on adjacent events that are one comparison: an index over ranks instead of a scan, under skip-till-any."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventide.kernels.arrays import IntArray
from eventide.operators.encode import place
from eventide.operators.trends.kernel import Kernel
from eventide.operators.trends.records import new_records
from eventide.operators.trends.scope_walk import ScopeWalk
from eventide.operators.trends.spec import Comparison, TrendSpec
from eventide.operators.trends.tables import Tables


def count_by_index(walk: ScopeWalk, spec: TrendSpec, kernel: Kernel, n_threads: int) -> tuple[Any, Any] | None:
    """The records of all scopes, and whether they are ambiguous; None where events must be scanned."""
    tables, letters = walk.tables, walk.letters
    queries = _queries(tables, spec)
    if queries is None:
        return None
    trees, by_letter, steps = queries
    n_states, sizes = tables.n_states, walk.sizes(1)
    used = sorted({test for _, test in trees})
    number = {test: i for i, test in enumerate(used)}
    ranked = [_ranks(spec.comparisons[test], spec, walk.cols) for test in used]
    n_rows = letters.events[0].size
    n_places = np.array([each[2] for each in ranked], dtype=np.int64)
    tie = letters.events[0]
    n_new = int(np.bincount(tie).max(initial=1)) * max(1, int(tables.holds_events.sum()))
    base = 3 * n_states + 1 + n_new
    tree_first = base + np.concatenate([[0], np.cumsum([n_places[number[test]] for _, test in trees])])
    index = (
        np.array([state for state, _ in trees], dtype=np.int64),
        np.array([number[test] for _, test in trees], dtype=np.int64),
        tree_first.astype(np.int64),
        np.cumsum([0, *(len(each) for each in by_letter)], dtype=np.int64),
        np.array([tree for each in by_letter for tree, _ in each], dtype=np.int64),
        np.array([case for each in by_letter for _, case in each], dtype=np.int64),
        np.stack([each[0] for each in ranked]) if ranked else np.empty((0, n_rows), np.int64),
        np.stack([each[1] for each in ranked]) if ranked else np.empty((0, n_rows), np.int64),
        np.array([spec.comparisons[test].op == "eq" for test in used], dtype=np.bool_),
        n_places,
        np.arange(1),
    )
    program = (
        tables.moves,
        steps,
        tables.holds_events,
        tables.grained,
        tables.keeps,
        tables.verdicts,
        tables.keeps_all,
    )

    def run(scopes: IntArray, out: Any) -> None:
        n_entries = int((scopes[:, 1] - scopes[:, 0]).max()) * max(1, len(trees))
        memory = (
            new_records(kernel, int(tree_first[-1]), sizes),
            *(np.empty(n_entries, dtype=np.int64) for _ in range(2)),
            *(np.empty(n_new, dtype=np.int64) for _ in range(2)),
        )
        kernel.index.count_indexed(scopes, letters.events, program, index, walk.values, memory, sizes, out)

    return walk.share_out(kernel, n_threads, run)


def _queries(tables: Tables, spec: TrendSpec) -> Any:
    """Trees (state, test), by letter the queries (tree, case), and the steps; None where a test is no comparison."""
    if spec.strategy != "any" or (spec.counted and (tables.n_classes > 1 or any(s.mixed for s in tables.states))):
        return None
    holding = np.flatnonzero(tables.holds_events)
    after, _, settle, _, _ = tables.keeps
    for state in holding.tolist():
        if (settle[:, state] != state).any() or ((after[:, state] != state) & (after[:, state] != -1)).any():
            return None
    first_case, tests_of, case_lo, case_move, _ = tables.grained
    step_lo, step_from, step_move = tables.letters
    trees: dict[tuple[int, int], int] = {}
    by_letter: list[list[tuple[int, int]]] = []
    steps: list[list[tuple[int, int]]] = []
    for letter in range(first_case.shape[0]):
        mine = range(step_lo[letter], step_lo[letter + 1])
        steps.append([(int(step_from[i]), int(step_move[i])) for i in mine])
        by_letter.append([])
        for state in holding.tolist():
            case, bits = int(first_case[letter, state]), int(tests_of[letter, state])
            if case < 0:
                continue
            if not bits:
                steps[-1] += ((state, int(case_move[i])) for i in range(case_lo[case], case_lo[case + 1]))
                continue
            test = bits.bit_length() - 1
            fails = case_lo[case] == case_lo[case + 1]
            if bits.bit_count() > 1 or not fails or spec.comparisons[test] is None:
                return None
            tree = trees.setdefault((state, test), len(trees))
            by_letter[-1].append((tree, case + 1))
    flat = [step for each in steps for step in each]
    packed = (
        np.cumsum([0, *(len(each) for each in steps)], dtype=np.int64),
        np.array([step[0] for step in flat], dtype=np.int64),
        np.array([step[1] for step in flat], dtype=np.int64),
    )
    return list(trees), by_letter, packed


def _ranks(comparison: Comparison | None, spec: TrendSpec, cols: Any) -> tuple[IntArray, IntArray, int]:
    """By event: its place as the earlier one, what it may extend as the later one; and the number of places."""
    assert comparison is not None
    left, left_valid = _column(comparison.left, spec, cols)
    right, right_valid = _column(comparison.right, spec, cols)
    distinct = np.unique(left[left_valid])
    n = int(distinct.size)
    below = np.searchsorted(distinct, right, side="left").astype(np.int64)
    up_to = np.searchsorted(distinct, right, side="right").astype(np.int64)
    rank = np.searchsorted(distinct, left, side="left").astype(np.int64)
    if comparison.op == "eq":
        reach = np.where(up_to > below, below, -1)
        reach[~right_valid] = -1
    else:
        reach = {"lt": below, "le": up_to, "gt": n - up_to, "ge": n - below}[comparison.op]
        reach = np.where(right_valid, reach, 0)
    if comparison.op in ("gt", "ge"):
        rank = n - 1 - rank
    return np.where(left_valid, rank, -1), reach, n


def _column(number: int, spec: TrendSpec, cols: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    array, row = place(spec.encodings, number)
    values = cols[array][row]
    # -0.0 is 0.0.
    return values + 0.0 if array else values, cols[2][number]
