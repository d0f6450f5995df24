"""Loops of an automaton: what may repeat, and so may have exponentially many matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MANY = 20  # events of a bounded repetition, from which on it has a million matches


def loops_of(targets: Mapping[int, Sequence[int]]) -> list[frozenset[int]]:
    """The sets of states that can be reached from one another, in one step or more, by their least states.

    >>> loops_of({0: [1], 1: [2], 2: [1, 3], 3: [3], 4: []})
    [frozenset({1, 2}), frozenset({3})]
    """
    sources: dict[int, list[int]] = {state: [] for state in targets}
    for state, each in targets.items():
        for target in each:
            sources[target].append(state)
    # Kosaraju's algorithm: of the states that lead to the one left last, those are in its loop that no other loop has.
    order: list[int] = []
    seen: set[int] = set()
    for state in targets:
        order += _left(state, targets, seen)
    found, seen = [], set()
    for state in reversed(order):
        loop = frozenset(_left(state, sources, seen))
        if len(loop) > 1 or (loop and state in targets[state]):
            found.append(loop)
    return sorted(found, key=min)


def _left(start: int, targets: Mapping[int, Sequence[int]], seen: set[int]) -> list[int]:
    """The states that are reached and not seen yet, in the order in which a walk in depth leaves them."""
    left: list[int] = []
    # A stack of its own, because patterns may have many states.
    waiting = [(start, False)]
    while waiting:
        state, is_done = waiting.pop()
        if is_done:
            left.append(state)
        elif state not in seen:
            seen.add(state)
            waiting.append((state, True))
            waiting += [(target, False) for target in targets[state]]
    return left
