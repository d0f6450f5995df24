"""A pattern of the builder as data: steps one after the other, and the bounds on its time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class Link(Enum):
    """How a step follows the one before it; the value is the builder's method."""

    BEGIN = "begin"
    NEXT = "next"
    FOLLOWED_BY = "followed_by"
    FOLLOWED_BY_ANY = "followed_by_any"
    NOT_NEXT = "not_next"
    NOT_FOLLOWED_BY = "not_followed_by"

    @property
    def is_negative(self) -> bool:
        """Whether the step must not occur."""
        return self in (Link.NOT_NEXT, Link.NOT_FOLLOWED_BY)


@dataclass(frozen=True, slots=True)
class Step:
    """One step, or a group of steps that stands for one; `inner` says how its iterations follow one another.

    `maximum` None: no bound. A condition is the text of a Spark SQL expression; None: any event.
    """

    link: Link
    name: str = ""
    condition: str | None = None
    group: tuple[Step, ...] = ()
    minimum: int = 1
    maximum: int | None = 1
    is_quantified: bool = False
    inner: Link | None = None
    optional: bool = False
    greedy: bool = False
    until: str | None = None

    @property
    def is_loop(self) -> bool:
        """Whether it may take any number of events."""
        return self.maximum is None

    @property
    def inner_link(self) -> Link:
        return Link.FOLLOWED_BY if self.inner is None else self.inner

    @property
    def shown(self) -> str:
        """The step in a message."""
        if not self.group:
            return f"'{self.name}'"
        return f"the group ({', '.join(step.name for step in walk_steps(self.group))})"


@dataclass(frozen=True, slots=True)
class EventPattern:
    """Steps, the time within which all events of a match lie, and the time between neighbours."""

    steps: tuple[Step, ...]
    window_us: int | None = None
    gap_us: int | None = None

    @property
    def is_bounded(self) -> bool:
        return self.window_us is not None or self.gap_us is not None


def warnings_of(pattern: EventPattern) -> list[str]:
    """What to know of before it is run: loops in which every event may be taken or passed over.

    >>> loop = Step(Link.BEGIN, "a", maximum=None, is_quantified=True, inner=Link.FOLLOWED_BY_ANY)
    >>> warnings_of(EventPattern((loop,)))
    ["'a' repeats in any combination: n events have up to 2^n matches; nothing bounds n: add within(...)"]
    """
    bound = "within(...) bounds n" if pattern.window_us is not None else "nothing bounds n: add within(...)"
    return [
        f"{step.shown} repeats in any combination: n events have up to 2^n matches; {bound}"
        for step in _every_step(pattern.steps)
        if step.is_loop and _combines(step)
    ]


def _every_step(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _every_step(step.group)


def _combines(loop: Step) -> bool:
    return loop.inner is Link.FOLLOWED_BY_ANY or any(
        step.link is Link.FOLLOWED_BY_ANY or step.inner is Link.FOLLOWED_BY_ANY for step in _every_step(loop.group)
    )


def walk_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """The steps that take events or forbid them, those of groups in their place.

    >>> inner = (Step(Link.BEGIN, "b"), Step(Link.NEXT, "c"))
    >>> [step.name for step in walk_steps((Step(Link.BEGIN, "a"), Step(Link.NEXT, group=inner)))]
    ['a', 'b', 'c']
    """
    for step in steps:
        if step.group:
            yield from walk_steps(step.group)
        else:
            yield step
