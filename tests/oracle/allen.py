"""Pairs of intervals by nested loops: every pair, every relation by its definition.

Rows are dicts. An interval whose start is its end is a point, and points have definitions of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]
Times = tuple[str, str]

# The relation of A = (s, e) to B = (t, u), both longer than a point.
DEFINITIONS: dict[str, Callable[[int, int, int, int], bool]] = {
    "before": lambda s, e, t, u: e < t,
    "meets": lambda s, e, t, u: e == t,
    "overlaps": lambda s, e, t, u: s < t < e < u,
    "starts": lambda s, e, t, u: s == t and e < u,
    "during": lambda s, e, t, u: t < s and e < u,
    "finishes": lambda s, e, t, u: t < s and e == u,
    "equals": lambda s, e, t, u: s == t and e == u,
}
_INVERSES = {
    "before": "after",
    "meets": "met-by",
    "overlaps": "overlapped-by",
    "starts": "started-by",
    "during": "contains",
    "finishes": "finished-by",
    "after": "before",
    "met-by": "meets",
    "equals": "equals",
}
# The relation of a point p to [t, u), t < u.
_OF_POINTS: dict[str, Callable[[int, int, int], bool]] = {
    "before": lambda p, t, u: p < t,
    "starts": lambda p, t, u: p == t,
    "during": lambda p, t, u: t < p < u,
    "met-by": lambda p, t, u: p == u,
    "after": lambda p, t, u: p > u,
}


def relation(s: int, e: int, t: int, u: int) -> str:
    """The one relation of A = (s, e) to B = (t, u)."""
    if s == e and t == u:
        held = ["before" if s < t else "after" if s > t else "equals"]
    elif s == e:
        held = [name for name, holds in _OF_POINTS.items() if holds(s, t, u)]
    elif t == u:
        held = [_INVERSES[name] for name, holds in _OF_POINTS.items() if holds(t, s, e)]
    else:
        held = [name for name, holds in DEFINITIONS.items() if holds(s, e, t, u)]
        held += [_INVERSES[n] for n, holds in DEFINITIONS.items() if n != "equals" and holds(t, u, s, e)]
    (only,) = held
    return only


def relate(
    left: Sequence[Row],
    right: Sequence[Row],
    relations: Sequence[str],
    *,
    within: int | None = None,
    partition_by: Sequence[str] = (),
    left_times: Times,
    right_times: Times,
) -> list[Row]:
    """The rows of all pairs; a NULL in a partition column equals a NULL."""
    rows = []
    for a in left:
        for b in right:
            if any(a[name] != b[name] for name in partition_by):
                continue
            s, e, t, u = (*(a[name] for name in left_times), *(b[name] for name in right_times))
            held = relation(s, e, t, u)
            if held not in relations or (within is not None and max(e, u) - min(s, t) > within):
                continue
            row = {name: a[name] for name in partition_by}
            row |= {f"left_{name}": value for name, value in a.items() if name not in partition_by}
            row |= {f"right_{name}": value for name, value in b.items() if name not in partition_by}
            rows.append(row | {"relation": held, "interval_start": min(s, t), "interval_end": max(e, u)})
    return rows
