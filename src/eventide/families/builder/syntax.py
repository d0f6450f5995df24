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


def every_step(steps: tuple[Step, ...]) -> Iterator[Step]:
    """All steps, groups before what is in them."""
    for step in steps:
        yield step
        yield from every_step(step.group)


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


def not_before(steps: tuple[Step, ...], step: Step) -> tuple[str, ...]:
    """The steps behind one that can have no event when one for it is looked at.

    >>> a, b, c = (Step(Link.NEXT, name) for name in "abc")
    >>> not_before((a, b, c), a)
    ('b', 'c')
    >>> not_before((Step(Link.BEGIN, group=(a, b), maximum=2), c), a)
    ('c',)
    """
    for i, own in enumerate(steps):
        behind = tuple(each.name for each in walk_steps(steps[i + 1 :]) if not each.link.is_negative)
        if own is step:
            return behind
        if any(each is step for each in every_step(own.group)):
            # The events of earlier iterations are there.
            return (*(not_before(own.group, step) if own.maximum == 1 else ()), *behind)
    return ()
