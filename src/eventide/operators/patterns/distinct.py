"""One match per binding, where several ways may find the same one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from eventide.operators.patterns.walk import Found


def distinct(found: Sequence[Found], newer_than_us: int) -> Iterator[Found]:
    """Each binding once, at the earliest time that decides it, if that is newer."""
    best: dict[tuple[int, bytes], tuple[int, int, int]] = {}
    for number, some in enumerate(found):
        start = 0
        for i, end in enumerate(some.ends.tolist()):
            rows, symbols = some.rows[start:end], some.symbols[start:end]
            order = np.lexsort((symbols, rows))
            key = int(some.scope[i]), np.stack([rows[order], symbols[order]]).tobytes()
            mine = int(some.decided_us[i]), number, i
            if key not in best or mine < best[key]:
                best[key] = mine
            start = end
    kept = set(best.values())
    for number, some in enumerate(found):
        keep = [
            decided > newer_than_us and (decided, number, i) in kept
            for i, decided in enumerate(some.decided_us.tolist())
        ]
        if any(keep):
            yield _filtered(some, np.array(keep))


def _filtered(found: Found, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Found:
    counts = np.diff(found.ends, prepend=0)
    entries = np.repeat(keep, counts)
    return Found(
        ends=np.cumsum(counts[keep]),
        symbols=found.symbols[entries],
        rows=found.rows[entries],
        scope=found.scope[keep],
        decided_us=found.decided_us[keep],
        waited=found.waited[keep],
        gap_ends=np.zeros(int(keep.sum()), dtype=np.int64),
        gaps=np.empty((3, 0), dtype=np.int64),
    )
