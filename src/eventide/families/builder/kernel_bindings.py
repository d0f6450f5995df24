"""The forest of bindings of the builder's kernel: reading it, and forgetting what nothing leads to."""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit
from eventide.families.builder.kernel_places import KEPT_FULL, NO_PROBLEM, Room
from eventide.runtime.kernels.arrays import IndexArray, IntArray


@njit(cache=True, nogil=True)
def find_bound(bindings: IndexArray, node: int, members: IndexArray, from_first: bool, offset: int) -> int:
    """The row of the last event taken for one of the member steps, or of the one `offset` before it; -1: there is none.

    With `from_first`, events are counted from the first one on.
    """
    wanted = offset
    if from_first:
        n = 0
        at = node
        while at >= 0:
            n += members[bindings[1, at]]
            at = bindings[2, at]
        wanted = n - 1 - offset
    if wanted < 0:
        return -1
    while node >= 0:
        if members[bindings[1, node]]:
            if wanted == 0:
                return int(bindings[0, node])
            wanted -= 1
        node = bindings[2, node]
    return -1


@njit(cache=True, nogil=True)
def _mark(node: int, base: int, place: IndexArray, bindings: IndexArray) -> None:
    """Set the places, counted from `base`, of a binding and of those before it to 0."""
    while node >= 0 and place[node - base] < 0:
        place[node - base] = 0
        node = bindings[2, node]


@njit(cache=True, nogil=True)
def _live_bindings(state: Any, room: Room, base: int) -> tuple[IndexArray, int]:
    """For each binding from `base` on its number among those that a partial or complete match leads to, -1: none does.

    Then how many they are.
    """
    place = np.full(state.n_bindings - base, -1, dtype=np.int32)
    for i in range(state.n_runs):
        _mark(room.runs[state.side, 1, i], base, place, room.bindings)
    for i in range(state.n_complete):
        _mark(room.complete[state.side, 0, i], base, place, room.bindings)
    n_live = 0
    for i in range(place.size):
        if place[i] >= 0:
            place[i] = n_live
            n_live += 1
    return place, n_live


@njit(cache=True, nogil=True)
def keep(state: Any, room: Room, kept: Any) -> int:
    """Write the partial matches of a partition to `kept`, how many and which; returns what has no room."""
    counts, kept_runs, kept_complete, kept_bindings = kept
    runs, complete, bindings = room.runs[state.side], room.complete[state.side], room.bindings
    n_runs, n_complete, base = state.n_runs, state.n_complete, state.base
    if n_runs + n_complete == 0:
        return NO_PROBLEM
    place, n_live = _live_bindings(state, room, base)
    first_run, first_complete, first = state.n_kept_runs, state.n_kept_complete, state.n_kept_bindings
    if (
        first_run + n_runs > kept_runs.shape[1]
        or first_complete + n_complete > kept_complete.shape[1]
        or first + n_live > kept_bindings.shape[1]
    ):
        return KEPT_FULL
    for i in range(place.size):
        if place[i] >= 0:
            at, before = first + place[i], bindings[2, base + i]
            kept_bindings[0, at], kept_bindings[1, at] = bindings[0, base + i], bindings[1, base + i]
            kept_bindings[2, at] = place[before - base] if before >= 0 else -1
    for i in range(n_runs):
        at = first_run + i
        kept_runs[0, at], kept_runs[1, at], kept_runs[2, at] = runs[0, i], place[runs[1, i] - base], runs[2, i]
    for i in range(n_complete):
        at = first_complete + i
        kept_complete[0, at], kept_complete[1, at] = place[complete[0, i] - base], complete[1, i]
    state.n_kept_runs += n_runs
    state.n_kept_complete += n_complete
    state.n_kept_bindings += n_live
    counts[state.partition, 0], counts[state.partition, 1], counts[state.partition, 2] = n_runs, n_complete, n_live
    return NO_PROBLEM


@njit(cache=True, nogil=True)
def compact_bindings(state: Any, room: Room) -> None:
    """Forget the bindings that no partial or complete match leads to."""
    bindings, carried = room.bindings, room.carried
    runs, complete = room.runs[state.side], room.complete[state.side]
    place, n_live = _live_bindings(state, room, 0)
    # A binding has a higher number than the one before it, whose new place is therefore known.
    for node in range(place.size):
        kept = place[node]
        if kept >= 0:
            before = bindings[2, node]
            bindings[0, kept], bindings[1, kept] = bindings[0, node], bindings[1, node]
            bindings[2, kept] = place[before] if before >= 0 else -1
            for k in range(carried[0].shape[0]):
                carried[0][k, kept] = carried[0][k, node]
            for k in range(carried[1].shape[0]):
                carried[1][k, kept] = carried[1][k, node]
            for k in range(carried[2].shape[0]):
                carried[2][k, kept] = carried[2][k, node]
            for k in range(carried[3].shape[0]):
                carried[3][k, kept] = carried[3][k, node]
    for i in range(state.n_runs):
        runs[1, i] = place[runs[1, i]]
    for i in range(state.n_complete):
        complete[0, i] = place[complete[0, i]]
    # All that is left belongs to the present partition.
    state.n_bindings, state.base = n_live, 0


@njit(cache=True, nogil=True)
def count_events(bindings: IndexArray, nodes: IntArray, out: IntArray) -> None:
    """How many events lead to each of the bindings."""
    for i in range(nodes.size):
        n, node = 0, nodes[i]
        while node >= 0:
            n += 1
            node = bindings[2, node]
        out[i] = n


@njit(cache=True, nogil=True)
def unwind(bindings: IndexArray, nodes: IntArray, ends: IntArray, out_rows: IntArray, out_steps: IndexArray) -> None:
    """The rows and steps that lead to each of the bindings, in order; those of the i-th end at `ends[i]`."""
    for i in range(nodes.size):
        at, node = ends[i], nodes[i]
        while node >= 0:
            at -= 1
            out_rows[at] = bindings[0, node]
            out_steps[at] = bindings[1, node]
            node = bindings[2, node]
