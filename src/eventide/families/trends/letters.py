"""The letters of events: what each can be, and which of them share a time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from eventide.errors import EventideError
from eventide.families.trends.scopes import Scopes
from eventide.families.trends.spec import TrendSpec
from eventide.families.trends.standings import Group
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import is_below, look_up, mark_codes
from eventide.runtime.ordered import Ordered
from eventide.runtime.threads import share_among_threads

MAX_LETTERS = 62
_SMALL = 1 << 12


@dataclass(frozen=True, slots=True)
class Letters:
    """The masks that occur, the sets of them that occur at one time, and by event: its time's number, its letter
    (-1: no symbol takes it), the set of its time."""

    masks: list[int]
    groups: list[Group]
    events: Any


@dataclass(frozen=True, slots=True)
class Rows:
    """The events in the order in which they are walked: block rows, times, masks, and the number of each time.

    `scopes` are ranges of them, `runs` the ranges in which time goes on.
    """

    order: IntArray
    ts_us: IntArray
    mask: IntArray
    tie: IntArray
    scopes: IntArray
    runs: IntArray


def lay_out(ordered: Ordered, scopes: Scopes, spec: TrendSpec) -> Rows:
    """The rows of all scopes.

    A window of positions may cut through events of one time, and what is absent at its edges is another matter in
    another window: there each window gets rows of its own.
    """
    walked = np.stack([scopes.lo, scopes.hi], axis=1)
    order, ts_us, mask = ordered.order, ordered.ts_us, ordered.mask
    runs = np.stack([ordered.offsets[:-1], ordered.offsets[1:]], axis=1)
    if spec.count_windows is not None or (spec.slide is not None and spec.looks_to_edges):
        sizes = scopes.hi - scopes.lo
        ends = np.cumsum(sizes)
        begins = ends - sizes
        rows = np.arange(int(ends[-1])) - np.repeat(begins - scopes.lo, sizes)
        order, ts_us, mask = order[rows], ts_us[rows], mask[rows]
        walked = runs = np.stack([begins, ends], axis=1)
    runs = runs[runs[:, 1] > runs[:, 0]]
    is_first = np.ones(ts_us.size, dtype=np.bool_)
    if not spec.ties_follow:
        is_first[1:] = ts_us[1:] != ts_us[:-1]
        is_first[runs[:, 0]] = True
    return Rows(order, ts_us, mask, np.cumsum(is_first) - 1, walked, runs)


def read_letters(rows: Rows) -> Letters:
    """The letters of the rows."""
    masks, letter = code_masks(rows.mask)
    bits = np.where(letter >= 0, np.int64(1) << np.maximum(letter, 0), 0)
    begins = np.flatnonzero(np.diff(rows.tie, prepend=-1))
    sets = np.bitwise_or.reduceat(bits, begins) if bits.size else bits
    distinct, number = np.unique(sets, return_inverse=True)
    groups = [tuple(m for i, m in enumerate(masks) if each >> i & 1) for each in distinct.tolist()]
    return Letters(masks, groups, (rows.tie, letter, number[rows.tie].astype(np.int64)))


def code_masks(mask: IntArray, n_threads: int = 1) -> tuple[list[int], IntArray]:
    """The masks that occur, 0 left out, and the place of each event's among them, -1 for 0."""
    shares = [slice(a, b) for a, b in pairwise(np.linspace(0, mask.size, n_threads + 1).astype(np.int64).tolist())]
    if mask.size and all(share_among_threads(lambda share: is_below(mask[share], _SMALL), shares)):
        occurs = np.zeros(_SMALL, dtype=np.int64)
        share_among_threads(lambda share: mark_codes(mask[share], occurs), shares)
        found = np.flatnonzero(occurs)
        found = found[found != 0]
        table = np.full(_SMALL, -1, dtype=np.int64)
        table[found] = np.arange(found.size)
        letter = np.empty(mask.size, dtype=np.int64)
        share_among_threads(lambda share: look_up(mask[share], table, letter[share]), shares)
    else:
        found, letter = np.unique(mask, return_inverse=True)
        if found.size and found[0] == 0:
            found, letter = found[1:], letter - 1
        letter = letter.astype(np.int64)
    if found.size > MAX_LETTERS:
        raise EventideError(
            f"the events take the pattern's symbols in more than {MAX_LETTERS} combinations",
            hint="use fewer symbols, or conditions that exclude one another",
        )
    return found.tolist(), letter
