"""Builder patterns for the oracle: a tree of steps, conditions as functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Event = dict[str, Any]
Bound = Mapping[str, list[Event]]
Condition = Callable[[Event, Bound], bool]


def anything(event: Event, bound: Bound) -> bool:
    """The condition of a step without one."""
    return True


@dataclass(frozen=True)
class Step:
    """One step or a group of steps; `link` and `inner` are the builder's words, `most` None means without bound."""

    name: str
    link: str
    holds: Condition = anything
    least: int = 1
    most: int | None = 1
    inner: str = "followed_by"
    optional: bool = False
    greedy: bool = False
    until: Condition | None = None
    group: tuple[Step, ...] = ()

    def accepts(self, event: Event, bound: Bound) -> bool:
        """Whether its condition holds, in which its own name has the event that is tested as the last one."""
        return self.holds(event, self._with_own(event, bound))

    def ends(self, event: Event, bound: Bound) -> bool:
        """Whether its `until` holds, which is a condition of the step, too."""
        return self.until is not None and self.until(event, self._with_own(event, bound))

    def _with_own(self, event: Event, bound: Bound) -> Bound:
        return {**bound, self.name: [*bound.get(self.name, []), event]} if self.name else bound

    @property
    def forbids(self) -> bool:
        return self.link in ("not_next", "not_followed_by")

    def may_have(self, count: int) -> bool:
        """Whether it may have so many iterations."""
        return self.most is None or count <= self.most


@dataclass(frozen=True)
class Pattern:
    steps: tuple[Step, ...]
    window: int | None = None
    gap: int | None = None


def names(steps: tuple[Step, ...]) -> Iterator[str]:
    """The names of the steps that take events."""
    for step in steps:
        if step.group:
            yield from names(step.group)
        elif not step.forbids:
            yield step.name


def can_be_empty(step: Step) -> bool:
    """Whether an iteration of the step may take no event."""
    return bool(step.group) and all(inner.forbids or inner.optional or can_be_empty(inner) for inner in step.group)


def has_empty(steps: tuple[Step, ...]) -> bool:
    """Whether a group, at any depth, may take no event."""
    return any(can_be_empty(step) or has_empty(step.group) for step in steps)
