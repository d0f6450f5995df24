"""The letters of events: what each can be, and which of them share a time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from eventide.errors import EventideError
from eventide.kernels.arrays import IntArray
from eventide.kernels.order import is_below, look_up, mark_codes
from eventide.operators.ordered import Ordered
from eventide.operators.threads import share_among_threads
from eventide.operators.trends.scopes import Scopes
from eventide.operators.trends.spec import TrendSpec
from eventide.operators.trends.standings import Group

MAX_LETTERS = 62
_SMALL = 1 << 12


@dataclass(frozen=True, slots=True)
class Letters:
    """The masks that occur, the sets of them that occur at one time, and by event: its time's number, its letter
    (-1: no symbol takes it), the set of its time."""

    masks: list[int]
    groups: list[Group]
    events: Any


def read_letters(ordered: Ordered, scopes: Scopes, spec: TrendSpec) -> tuple[IntArray, Letters, IntArray]:
    """The rows in the order in which they are walked, their letters, and the scopes as ranges of them.

    A window of positions may cut through events of one time: there each window gets rows of its own.
    """
    walked = np.stack([scopes.lo, scopes.hi], axis=1)
    begins = ordered.offsets[:-1]
    if spec.count_windows is None:
        order, ts_us, mask = ordered.order, ordered.ts_us, ordered.mask
    else:
        sizes = scopes.hi - scopes.lo
        ends = np.cumsum(sizes)
        begins = ends - sizes
        rows = np.arange(int(ends[-1])) - np.repeat(begins - scopes.lo, sizes)
        order, ts_us, mask = ordered.order[rows], ordered.ts_us[rows], ordered.mask[rows]
        walked = np.stack([begins, ends], axis=1)
    is_first = np.ones(ts_us.size, dtype=np.bool_)
    if not spec.ties_follow:
        is_first[1:] = ts_us[1:] != ts_us[:-1]
        is_first[begins[begins < ts_us.size]] = True
    tie = np.cumsum(is_first) - 1
    masks, letter = code_masks(mask)
    bits = np.where(letter >= 0, np.int64(1) << np.maximum(letter, 0), 0)
    sets = np.bitwise_or.reduceat(bits, np.flatnonzero(is_first)) if bits.size else bits
    distinct, number = np.unique(sets, return_inverse=True)
    groups = [tuple(m for i, m in enumerate(masks) if each >> i & 1) for each in distinct.tolist()]
    return order, Letters(masks, groups, (tie, letter, number[tie].astype(np.int64))), walked


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
