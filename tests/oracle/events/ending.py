"""What the end of the events leaves open.

Implements semantics.md, "The end of the data": a way to match is open as long as a later event may lie in a window that
one of its NOTs looks at. Later events have a time behind the latest one of all partitions.
"""

from __future__ import annotations

from tests.oracle.events.chains import Way
from tests.oracle.events.pattern import And, Not, Pattern, branches, nodes
from tests.oracle.events.query import Query
from tests.oracle.events.scope import Scope
from tests.oracle.events.template import build_template


def is_over(query: Query, scope: Scope, way: Way, latest: int) -> bool:
    """Whether no later event can change what the way's NOTs see. Without a window the end itself decides."""
    trails = any(gap.before is None for gap in way.gaps)
    further = windows_behind(query.pattern)
    if not trails and not further:
        return True
    if scope.window is not None:
        return scope.window[1] <= latest + 1
    if scope.reach is None:
        return True
    places = [scope.place[position] for _, position in way.entries]
    # A match of a negated pattern begins before the window's end; a NOT that ends it looks from there.
    seen_to = (min(places) + scope.reach if trails else max(places)) + further * scope.reach
    return seen_to <= latest + 1


def windows_behind(pattern: Pattern) -> int:
    """How many windows behind a match the NOTs inside its NOTs look.

    >>> from tests.oracle.events.pattern import Type, seq
    >>> inner = seq(Type("C"), Not(Type("E")))
    >>> windows_behind(seq(Type("A"), Not(inner), Type("B"))), windows_behind(seq(Type("A"), Not(Type("B"))))
    (1, 0)
    """
    negated = [node.part for node in nodes(pattern, negated=True) if isinstance(node, Not)]
    return max((int(_trails(part)) + windows_behind(part) for part in negated), default=0)


def _trails(pattern: Pattern) -> bool:
    """Whether a match of the pattern may depend on what follows its last event: a NOT ends it, or a side of an AND."""
    for branch in branches(pattern):
        if isinstance(branch, And):
            if any(map(_trails, branch.parts)):
                return True
            continue
        template = build_template(branch)
        if any(negations for _, negations in template.lasts):
            return True
        items = {position.item for position, _ in (*template.firsts, *template.lasts)}
        items |= {place.item for source, target, _ in template.follows for place in (source, target)}
        if any(_trails(item) for item in items if isinstance(item, And)):
            return True
    return False
