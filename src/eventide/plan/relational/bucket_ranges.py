"""O1: a join on a range of times becomes a join on equal buckets of time, and the range is tested afterwards.

A bucket is as long as the window, so events less than a window apart are in the same bucket or in neighbours. One side
is in its own bucket alone; the other one is in that of every partner, so a pair comes once.
"""

from __future__ import annotations

from dataclasses import replace

from eventide.plan.relational.algebra import Extend, Join, Range, Relation
from eventide.plan.relational.dialects import Dialect


def bucket_ranges(relation: Relation, dialect: Dialect) -> tuple[Relation, list[str]]:
    """The relation with buckets in its joins, and why."""
    reasons: list[str] = []
    done: dict[int, Relation] = {}

    def rewritten(node: Relation) -> Relation:
        if id(node) not in done:
            made = node.over(*map(rewritten, node.inputs)) if node.inputs else node
            if isinstance(made, Join) and made.range is not None:
                made = _bucketed(made, made.range, dialect, len(done))
                reasons.append(_reason(made))
            done[id(node)] = made
        return done[id(node)]

    return rewritten(relation), reasons


def _bucketed(join: Join, range_: Range, dialect: Dialect, number: int) -> Join:
    left, right = f"b{number}_l", f"b{number}_r"
    # Events near the end of one bucket meet those at the beginning of the next.
    near = {1: (0, 1), -1: (-1, 0), 0: (-1, 0, 1)}[range_.order]
    own = dialect.floor(range_.left, range_.width)
    partners = dialect.each([own if n == 0 else f"{own} + {n}" if n > 0 else f"{own} - {-n}" for n in near])
    return replace(
        join,
        left=Extend(join.left, ((left, partners),)),
        right=Extend(join.right, ((right, dialect.floor(range_.right, range_.width)),)),
        plain=(*join.plain, (left, right)),
        range=None,
    )


def _reason(join: Join) -> str:
    keys = "the partition and buckets" if join.keys or len(join.plain) > 1 else "buckets"
    return f"O1: joins on {keys} of one window of time, in place of a range"
