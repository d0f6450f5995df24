"""AND as one step: the pairs of matches of its sides, which the walk takes as it takes single events.

In: the walks of the sides, inner conjunctions first. Out: offers, sorted by scope and first row. Different pairs that
bind the same events to the same symbols are one offer with several members.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from eventide.kernels import pattern_places as places
from eventide.kernels.arrays import IntArray
from eventide.operators.patterns.program import Conjunction
from eventide.operators.patterns.walk import Found, Setting, Walk

Entry = tuple[int, int]  # row, symbol
Gap = tuple[int, int, int]


@dataclass(slots=True)
class _Offer:
    scope: int
    entries: tuple[Entry, ...]
    members: dict[tuple[int, tuple[Gap, ...]], None] = field(default_factory=dict)


def no_offers() -> tuple[IntArray, ...]:
    """What the kernel takes where there is no conjunction."""
    return _arrays([])


def with_offers(setting: Setting) -> Setting:
    """The setting with the offers of all conjunctions of its program."""
    offers: dict[tuple[int, tuple[Entry, ...]], _Offer] = {}
    for number, conjunction in enumerate(setting.program.conjunctions):
        for scope, entries, gaps in _pairs(setting, conjunction):
            offer = offers.setdefault((scope, entries), _Offer(scope, entries))
            offer.members[(number, gaps)] = None
        ordered = sorted(offers.values(), key=lambda offer: (offer.scope, offer.entries))
        scopes = setting.scopes.copy()
        owners = np.array([offer.scope for offer in ordered], dtype=np.int64)
        scopes[:, 2] = np.searchsorted(owners, np.arange(len(scopes)))
        scopes[:, 3] = np.searchsorted(owners, np.arange(len(scopes)), side="right")
        setting = replace(setting, offers=_arrays(ordered), scopes=scopes)
    return setting


def _arrays(offers: list[_Offer]) -> tuple[IntArray, ...]:
    """In the order that `kernels.patterns.search` unpacks."""
    members = [member for offer in offers for member in offer.members]
    gaps = [gap for _, own in members for gap in own]
    columns = [
        [offer.entries[0][0] for offer in offers],
        [offer.entries[-1][0] for offer in offers],
        np.cumsum([0, *(len(offer.entries) for offer in offers)]),
        [symbol for offer in offers for _, symbol in offer.entries],
        [row for offer in offers for row, _ in offer.entries],
        np.cumsum([0, *(len(offer.members) for offer in offers)]),
        [number for number, _ in members],
        np.cumsum([0, *(len(own) for _, own in members)]),
        *([gap[k] for gap in gaps] for k in range(3)),
    ]
    return tuple(np.array(column, dtype=np.int64) for column in columns)


def _pairs(setting: Setting, conjunction: Conjunction) -> list[tuple[int, tuple[Entry, ...], tuple[Gap, ...]]]:
    sides = [_ways(setting, branches) for branches in conjunction.sides]
    closing = np.array(conjunction.closes, dtype=np.int64)
    ts_us = setting.events[0]
    result = []
    for scope in range(len(setting.scopes)):
        for combination in product(*(side.get(scope, []) for side in sides)):
            entries = tuple(sorted({entry for way, _ in combination for entry in way}))
            if ts_us[entries[-1][0]] - ts_us[entries[0][0]] >= setting.reach_us:
                continue
            rows = np.array([row for row, _ in entries], dtype=np.int64)
            symbols = np.array([symbol for _, symbol in entries], dtype=np.int64)
            if setting.kernel.all_hold(symbols, rows, closing, setting.tests, setting.cols):
                gaps = dict.fromkeys(gap for _, own in combination for gap in own)
                result.append((scope, entries, tuple(gaps)))
    return result


def _ways(setting: Setting, branches: tuple[int, ...]) -> dict[int, list[tuple[tuple[Entry, ...], tuple[Gap, ...]]]]:
    """All ways to match one side, by scope."""
    ways: dict[int, dict[tuple[tuple[Entry, ...], tuple[Gap, ...]], None]] = {}
    for found in Walk(setting, branches, places.WAYS, 0, len(setting.scopes)):
        for i, scope in enumerate(found.scope.tolist()):
            ways.setdefault(scope, {})[_way(found, i)] = None
    return {scope: list(known) for scope, known in ways.items()}


def _way(found: Found, i: int) -> tuple[tuple[Entry, ...], tuple[Gap, ...]]:
    start, gap_start = (int(found.ends[i - 1]), int(found.gap_ends[i - 1])) if i else (0, 0)
    rows, symbols = (part[start : found.ends[i]].tolist() for part in (found.rows, found.symbols))
    gaps = found.gaps[:, gap_start : found.gap_ends[i]].T.tolist()
    return tuple(sorted(zip(rows, symbols, strict=True))), tuple((negation, lo, hi) for negation, lo, hi in gaps)
