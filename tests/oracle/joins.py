"""Joins within a window by nested loops: every pair, every rule by its definition.

Rows are dicts with a time in whole numbers. A result is (left row, right row or None, the time at which it is decided).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]
Found = tuple[Row, Row | None, int | None]
Condition = Callable[[Row, Row], bool | None]


def in_reach(distance: int, before: int | None, after: int | None) -> bool:
    """Whether a right row may be so much later than a left one, within lengths of time; None is no row at all."""
    if before is None or after is None:
        # One direction alone, where a tie is neither before nor after.
        return 0 < distance < after if after is not None else before is not None and 0 < -distance < before
    return distance == 0 or (0 < distance < after) or (0 < -distance < before)


def partners(
    row: Row,
    right: Sequence[Row],
    *,
    on: Sequence[tuple[str, str]] = (),
    ts: str = "ts",
    before: float | None = float("inf"),
    after: float | None = float("inf"),
    condition: Condition = lambda a, b: True,
    sequence: str | None = None,
) -> list[Row]:
    """The right rows that join a left one: equal keys, none of them NULL, near in time, the condition true.

    With a sequence, tied rows follow one another in its order, NULL first, where one direction alone is asked for.
    """
    found = []
    for other in right:
        if any(row[a] is None or other[b] is None or row[a] != other[b] for a, b in on):
            continue
        distance = other[ts] - row[ts]
        is_near = in_reach(distance, before, after)
        if sequence is not None and distance == 0 and (before is None or after is None):
            ranks = [(r[sequence] is not None, r[sequence] or 0) for r in (row, other)]
            is_near = ranks[0] < ranks[1] if before is None else ranks[1] < ranks[0]
        if is_near and condition(row, other):
            found.append(other)
    return found


def band(left: Sequence[Row], right: Sequence[Row], kind: str, *, ts: str = "ts", **asked: Any) -> list[Found]:
    """Every partner; a row without one is decided when none can come any more."""
    results: list[Found] = []
    for row in left:
        found = partners(row, right, ts=ts, **asked)
        times = [max(row[ts], other[ts]) for other in found]
        if kind in ("inner", "left"):
            results += [(row, other, time) for other, time in zip(found, times, strict=True)]
        elif kind == "semi" and found:
            results.append((row, None, min(times)))
        if kind in ("left", "anti") and not found:
            results.append((row, None, _end(row[ts], asked.get("after", float("inf")))))
    return results


def as_of(
    left: Sequence[Row],
    right: Sequence[Row],
    kind: str,
    direction: str,
    *,
    ts: str = "ts",
    within: float = float("inf"),
    all_ties: bool = False,
    order: Callable[[Row], Any] = lambda row: 0,
    **asked: Any,
) -> list[Found]:
    """The nearest partner in a direction; of tied ones the last in their order, or all of them."""
    results: list[Found] = []
    for row in left:
        time = row[ts]
        near = partners(row, right, ts=ts, before=within, after=within, **asked)
        if direction == "backward":
            near = [other for other in near if other[ts] <= time]
        elif direction == "forward":
            near = [other for other in near if other[ts] >= time]
        least = min((abs(other[ts] - time) for other in near), default=None)
        tied = sorted((o for o in near if abs(o[ts] - time) == least), key=lambda o: (o[ts], order(o)))
        if least is None:
            if kind in ("left", "anti"):
                results.append((row, None, time if direction == "backward" else _end(time, within)))
            continue
        decided = time if direction == "backward" else time + least
        if kind in ("inner", "left"):
            results += [(row, other, decided) for other in (tied if all_ties else tied[-1:])]
        elif kind == "semi":
            results.append((row, None, decided))
    return results


def _end(time: int, after: float | None) -> int | None:
    """When no later row can join any more; None: that never comes."""
    return time if after is None else None if after == float("inf") else time + int(after)


def until(results: Sequence[Found], end: int | None) -> list[Found]:
    """What is decided when time has come to `end`; None: all time is over."""
    return [each for each in results if end is None or each[2] is None or each[2] <= end]
