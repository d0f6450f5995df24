"""One match per binding, where several ways may find the same one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eventide.families.events.walk import Found
from eventide.families.events.ways import Ways
from eventide.runtime.kernels.arrays import IntArray


def distinct(found: Sequence[Found], newer_than_us: int) -> Found | None:
    """Each binding once, at the earliest time that decides it, if that is newer."""
    if not found:
        return None
    nothing = np.empty((3, 0), dtype=np.int64)
    every = Ways.joined(
        [
            Ways.of(
                some.scope,
                some.decided_us,
                some.ends,
                np.stack([some.symbols, some.rows]),
                np.zeros_like(some.ends),
                nothing,
            )
            for some in found
        ]
    )
    order, is_new = every.sorted()
    # Of equal ones the first to be decided comes first.
    chosen = order[is_new[0]]
    chosen = np.sort(chosen[every.tag[chosen] > newer_than_us])
    if not chosen.size:
        return None
    kept = every.taken(chosen)
    return Found(
        ends=kept.lo[1:],
        symbols=kept.symbols,
        rows=kept.rows,
        scope=kept.scope,
        decided_us=kept.tag,
        waited=np.concatenate([some.waited for some in found])[chosen],
        gap_ends=np.zeros(chosen.size, dtype=np.int64),
        gaps=nothing,
    )


def parts_of(found: Found, most: int) -> list[Found]:
    """The matches, at most so many at a time."""
    n = found.ends.size
    if n <= most:
        return [found]
    return [_part(found, start, min(start + most, n)) for start in range(0, n, most)]


def _part(found: Found, start: int, stop: int) -> Found:
    lo, gap_lo = ((int(ends[start - 1]) if start else 0) for ends in (found.ends, found.gap_ends))
    entries, gaps = slice(lo, int(found.ends[stop - 1])), slice(gap_lo, int(found.gap_ends[stop - 1]))
    mine: dict[str, IntArray] = {name: getattr(found, name)[start:stop] for name in ("scope", "decided_us", "waited")}
    return Found(
        ends=found.ends[start:stop] - lo,
        symbols=found.symbols[entries],
        rows=found.rows[entries],
        gap_ends=found.gap_ends[start:stop] - gap_lo,
        gaps=found.gaps[:, gaps],
        **mine,
    )
