"""The matches of some scopes, a bounded number at a time: by one walk, or piece by piece where AND or OR needs it.

Matches that begin at different rows have nothing in common, so that pairs of AND and equal bindings are held for the
rows of one piece only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from eventide.families.events.distinct import distinct, parts_of
from eventide.families.events.kernel_places import MATCHES, NO_SYMBOL, PARTITION
from eventide.families.events.offers import in_pieces, is_alone, with_offers
from eventide.families.events.scopes import cut_scopes, needed_starts
from eventide.families.events.walk import MATCHES_PER_BATCH, Found, Setting, Walk
from eventide.runtime.block import MIN_US
from eventide.runtime.effort import Effort
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.limit import Tally

ROWS_PER_PIECE = 1 << 12
_HELD = 1 << 18  # matches that are held before equal ones are left out

Some = tuple[IntArray, Found]  # scopes, and matches in them


def find_matches(setting: Setting, tally: Tally) -> Iterator[Some]:
    """All matches that are decided after `setting.newer_than_us`, each once."""
    program = setting.program
    if not program.conjunctions and not program.may_repeat:
        yield from ((setting.scopes, found) for found in _walk(setting))
        return
    for piece in _pieces(setting):
        if not program.may_repeat:
            yield from ((piece.scopes, found) for found in _walk(piece))
            continue
        for found in _once(piece, tally):
            yield piece.scopes, found


def find_first(setting: Setting, effort: Effort) -> Iterator[Some]:
    """Of every partition the first match and what continues it; an entry of no symbol where the search was stopped."""
    setting = with_offers(setting) if setting.program.conjunctions else setting
    setting = replace(setting, effort=effort, stopped=[])
    yield from ((setting.scopes, found) for found in _walk(setting))
    if not setting.stopped:
        return
    scope = np.array(setting.stopped, dtype=np.int64)
    nothing = np.zeros_like(scope)
    ends, gaps = np.arange(scope.size) + 1, np.empty((3, 0), np.int64)
    rows = setting.scopes[scope, 0]
    yield setting.scopes, Found(ends, nothing + NO_SYMBOL, rows, scope, nothing, nothing, nothing, gaps)


def _pieces(setting: Setting) -> Iterator[Setting]:
    program, ts_us = setting.program, setting.events[0]
    alone = is_alone(program)
    n_windows = 1 + 2 * program.n_nested if program.negations else 0
    reach_us = setting.reach_us if program.conjunctions else 0
    for scopes in cut_scopes(setting.scopes, ts_us, reach_us, ROWS_PER_PIECE):
        piece = replace(setting, scopes=scopes)
        if not program.conjunctions:
            yield piece
        elif alone:
            yield from in_pieces(piece)
        else:
            yield with_offers(piece, needed_starts(scopes, ts_us, reach_us, n_windows))


def _walk(setting: Setting) -> Iterator[Found]:
    yield from Walk(setting, setting.program.main, MATCHES, 0, len(setting.scopes))


def _once(piece: Setting, tally: Tally) -> Iterator[Found]:
    """Each binding once. It may have been decided in one way before, and be found in another way now."""
    held: list[Found] = []
    n_held, most = 0, _HELD
    for found in _walk(replace(piece, newer_than_us=MIN_US)):
        held.append(found)
        n_held += found.ends.size
        if n_held > most:
            kept = distinct(held, MIN_US)
            assert kept is not None
            held, n_held = [kept], kept.ends.size
            most = max(_HELD, 2 * n_held)
            newer = distinct(held, piece.newer_than_us)
            if newer is not None:
                tally.check(piece.scopes[newer.scope, PARTITION])
    whole = distinct(held, piece.newer_than_us)
    yield from () if whole is None else parts_of(whole, MATCHES_PER_BATCH)
