"""By event, how late a match of each absence that has ended before it began: columns for tests, bits for masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from eventide.families.trends.absences import Absence, absent_symbols, edge_symbols, positions_of
from eventide.families.trends.compiled import load_latest_starts, load_relate
from eventide.families.trends.indexes import rank_events
from eventide.families.trends.letters import Rows
from eventide.families.trends.spec import Comparison, TrendSpec
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.threads import share_among_threads

_FREE, _SCAN = -2, -1  # as in the kernel


def date_absences(rows: Rows, cols: Any, spec: TrendSpec, n_threads: int) -> tuple[Rows, Any]:
    """The rows with the absences' bits in their masks, and the columns with those that the absences' tests read."""
    if not spec.absences:
        return rows, cols
    n_absences, n_rows, base = len(spec.absences), rows.order.size, cols[0].shape[0]
    run_of = np.repeat(np.arange(len(rows.runs)), rows.runs[:, 1] - rows.runs[:, 0])
    added = np.full((1 + n_absences, n_rows), -1, dtype=np.int64)
    added[0] = rows.tie - rows.tie[rows.runs[:, 0]][run_of]
    cols = (
        np.ascontiguousarray(np.vstack([cols[0], added])),
        cols[1],
        np.vstack([cols[2], np.ones((1 + n_absences, n_rows), dtype=np.bool_)]),
    )
    final = np.full((n_absences, len(rows.runs)), -1, dtype=np.int64)
    for number, absence in enumerate(spec.absences):
        _find(number, _automaton(spec, absence), rows, cols, spec, n_threads, final)
    mask = rows.mask & ~np.int64(absent_symbols(spec.program, spec.absences))
    for i, absence in enumerate(spec.absences):
        first, last = edge_symbols(spec.program, absence.negation)
        if absence.lead >= 0:
            mask = _mark(mask, first, absence.lead, cols[0][base + 1 + i] < 0)
        if absence.trail >= 0:
            mask = _mark(mask, last, absence.trail, final[i][run_of] <= cols[0][base])
    return replace(rows, mask=mask), cols


@dataclass(frozen=True, slots=True)
class _Automaton:
    """By position: its symbol, the steps into it (from, tests), the absences of each start and of each end, as bits."""

    symbols: list[int]
    into: list[list[tuple[int, int]]]
    begins: list[list[int]]
    ends: list[list[int]]


def _automaton(spec: TrendSpec, absence: Absence) -> _Automaton:
    program = spec.program
    numbers = {position: i for i, position in enumerate(positions_of(program, absence.negation))}
    places = {each.negation: i for i, each in enumerate(spec.absences)}
    tests = {(left, right): bits for left, right, bits in spec.tests}
    into: list[list[tuple[int, int]]] = [[] for _ in numbers]
    begins: list[list[int]] = [[] for _ in numbers]
    ends: list[list[int]] = [[] for _ in numbers]

    def absent(negations: Sequence[int]) -> int:
        return sum(1 << places[n] for n in set(negations))

    for branch in program.negations[absence.negation].branches:
        for edge in program.branches[branch].starts:
            begins[numbers[edge.target]].append(absent(edge.negations))
    symbols = [program.positions[position].symbol or 0 for position in numbers]
    for position, i in numbers.items():
        ends[i] = [absent(ending.negations) for ending in program.positions[position].endings]
        for edge in program.positions[position].edges:
            target = numbers[edge.target]
            bits = tests.get((symbols[i], symbols[target]), 0)
            for n in edge.negations:
                bits |= 1 << spec.absences[places[n]].test
            into[target].append((i, bits))
    return _Automaton(symbols, into, begins, ends)


def _find(
    number: int, automaton: _Automaton, rows: Rows, cols: Any, spec: TrendSpec, n_threads: int, final: IntArray
) -> None:
    """Fill in the column of one absence, and what has ended when each run ends."""
    edges = [edge for each in automaton.into for edge in each]
    kinds = {bits: _SCAN if bits else _FREE for _, bits in edges}
    compared: list[Comparison] = []
    for bits in kinds:
        if bits.bit_count() == 1 and (comparison := spec.comparisons[bits.bit_length() - 1]) is not None:
            kinds[bits] = len(compared)
            compared.append(comparison)
    ranked = [rank_events(comparison, spec, cols) for comparison in compared]
    n_places = _array([int(place.max(initial=-1)) + 1 for place, _ in ranked])
    nodes = [int(n_places[kinds[bits]]) if kinds[bits] >= 0 else 0 for _, bits in edges]
    shape = (len(compared), rows.order.size)
    index = (
        np.array([place for place, _ in ranked], dtype=np.int64).reshape(shape),
        np.array([reach for _, reach in ranked], dtype=np.int64).reshape(shape),
        _array([int(comparison.op == "eq") for comparison in compared]),
        n_places,
    )
    program = (
        _array(automaton.symbols),
        _offsets(automaton.into),
        _array([source for source, _ in edges]),
        _array([bits for _, bits in edges]),
        _array([kinds[bits] for _, bits in edges]),
        np.cumsum([0, *nodes], dtype=np.int64)[:-1].copy(),
        _offsets(automaton.begins),
        _array([bits for each in automaton.begins for bits in each]),
        _offsets(automaton.ends),
        _array([bits for each in automaton.ends for bits in each]),
    )
    within = _array([cols[0].shape[0] - len(spec.absences) - 1, -1 if spec.slide is None else spec.slide.length_us])
    relate, events, find = load_relate(spec.tests_source), (rows.tie, rows.ts_us, rows.mask), load_latest_starts()
    n_positions = len(automaton.symbols)

    def share_out(share: tuple[int, int]) -> None:
        runs = np.ascontiguousarray(rows.runs[slice(*share)])
        mine = np.ascontiguousarray(final[:, slice(*share)])
        longest = int((runs[:, 1] - runs[:, 0]).max())
        memory = (
            np.empty((longest, n_positions), dtype=np.int64),
            np.empty((n_positions, longest), dtype=np.int64),
            np.empty(n_positions, dtype=np.int64),
            np.empty(n_positions, dtype=np.int64),
            np.full(sum(nodes), -1, dtype=np.int64),
        )
        find(number, runs, events, program, index, relate, cols, within, memory, mine)
        final[number, slice(*share)] = mine[number]

    cuts = np.unique(np.linspace(0, len(rows.runs), n_threads + 1).astype(np.int64)).tolist()
    share_among_threads(share_out, list(pairwise(cuts)))


def _mark(mask: IntArray, symbols: int, bit: int, clear: Any) -> IntArray:
    """Masks with a bit where it is clear, of the events that it concerns: others keep the same letter."""
    marked: IntArray = mask | np.where(clear & (mask & np.int64(symbols) != 0), np.int64(1) << np.int64(bit), 0)
    return marked


def _array(numbers: Sequence[int]) -> IntArray:
    return np.array(numbers, dtype=np.int64)


def _offsets(groups: Sequence[Sequence[object]]) -> IntArray:
    return np.cumsum([0, *(len(group) for group in groups)], dtype=np.int64)
