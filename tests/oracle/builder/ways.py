"""Where a partial match may go: every step that could take an event next, read off the tree of the pattern.

A path names an iteration of a step by the iterations of the groups around it. A way is one choice of what comes next;
the events that it passes over are judged one by one, by what stands at its end:

- An event is taken where the step's condition holds and no `until` of the step or of a group around it does.
- `next` passes over nothing, `followed_by` what the step's condition does not want, `followed_by_any` everything;
  nothing that the `until` of a group around the step wants, nor between iterations what its own `until` does.
- Of a group, the first event follows as the group's link says, or as its iterations follow one another.
- `not_next` judges the first event, `not_followed_by` every event up to the next one taken; behind a repeated step also
  the events between its iterations. What is left out at the end of a pattern takes the NOT before it along.
- Past a greedy step goes only an event that the step itself cannot take.
- An iteration of a group takes no event only where the group needs it, and then neither do those after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from tests.oracle.builder.pattern import Bound, Event, Step


@dataclass(frozen=True)
class Frame:
    """Iteration `count` of the step `at` of a sequence."""

    steps: tuple[Step, ...]
    at: int
    count: int = 1

    @property
    def step(self) -> Step:
        return self.steps[self.at]


Path = tuple[Frame, ...]  # from the whole pattern inwards


class End(Enum):
    """When a match to which nothing more must come is complete: with its last event, the next event, or its time."""

    NOW = "now"
    NEXT_EVENT = "next event"
    TIME = "time"


@dataclass(frozen=True)
class Way:
    """What must come next: an event for the step at `path`, or the `end`."""

    path: Path | None = None
    end: End | None = None
    not_next: tuple[Step, ...] = ()
    nots: tuple[Step, ...] = ()
    rivals: tuple[Way, ...] = ()  # what the greedy steps that this way leaves behind wait for
    last_not: Step | None = None  # the NOT just passed, as long as nothing was left out behind it
    empty: frozenset[Path] = frozenset()  # iterations of groups that have no event yet

    def is_stopped(self, event: Event, bound: Bound) -> bool:
        return any(step.accepts(event, bound) for step in self.not_next + self.nots)

    def is_barred(self, event: Event, bound: Bound) -> bool:
        return any(rival.takes(event, bound) for rival in self.rivals)

    def takes(self, event: Event, bound: Bound) -> bool:
        if self.path is None or not self.path[-1].step.accepts(event, bound):
            return False
        return not any(_wants_end(frame.step, event, bound) for frame in self.path)

    def passes(self, event: Event, bound: Bound) -> bool:
        if self.path is None:
            return self.end is End.TIME
        begun = self.path if self.path[-1].count > 1 else self.path[:-1]
        if any(_wants_end(frame.step, event, bound) for frame in begun):
            return False
        link = link_of(self.path)
        return link == "followed_by_any" or (link == "followed_by" and not self.path[-1].step.accepts(event, bound))

    def past(self, event: Event, bound: Bound) -> Way:
        """The same way behind an event that it passes over."""
        left = [way for way in self.rivals if way.passes(event, bound) and not way.is_stopped(event, bound)]
        return replace(self, not_next=(), rivals=tuple(way.past(event, bound) for way in left))


def _wants_end(step: Step, event: Event, bound: Bound) -> bool:
    return step.ends(event, bound)


def link_of(path: Path) -> str:
    """How the event at a path follows the one before it."""
    for frame in reversed(path):
        if frame.count > 1:
            return frame.step.inner
        if frame.step.link != "begin":
            return frame.step.link
    return "begin"


def first_ways(steps: tuple[Step, ...]) -> list[Way]:
    """Those of a match that has no event yet."""
    return list(_begin((Frame(steps, 0),), Way()))


def ways_after(path: Path) -> list[Way]:
    """Those of a match whose last event was taken at a path, in the order of preference."""
    return list(_after(path, Way()))


def _after(path: Path, way: Way) -> Iterator[Way]:
    """An iteration is over: one more, or on to what follows."""
    frame = path[-1]
    more: list[Way] = []
    is_empty = path in way.empty
    if frame.step.may_have(frame.count + 1) and not is_empty:
        nots = (*way.nots, *_nots_behind(path))
        more = list(_enter((*path[:-1], replace(frame, count=frame.count + 1)), replace(way, nots=nots)))
        yield from more
    is_needed = frame.count <= frame.step.least and not (frame.count == 1 and frame.step.optional)
    if is_needed if is_empty else frame.count >= frame.step.least:
        yield from _onward(path, _past_greedy(frame.step, more, way))


def _onward(path: Path, way: Way) -> Iterator[Way]:
    """A step is over, or left out."""
    frame = path[-1]
    if frame.at + 1 < len(frame.steps):
        yield from _begin((*path[:-1], Frame(frame.steps, frame.at + 1)), way)
    elif len(path) > 1:
        yield from _after(path[:-1], way)
    elif way.last_not is None:
        yield replace(way, end=End.NOW)
    else:
        yield replace(way, end=End.TIME if way.last_not.link == "not_followed_by" else End.NEXT_EVENT)


def _begin(path: Path, way: Way) -> Iterator[Way]:
    """A step comes that nothing was taken for."""
    step = path[-1].step
    if step.link == "not_next":
        yield from _onward(path, replace(way, not_next=(*way.not_next, step), last_not=step))
    elif step.link == "not_followed_by":
        yield from _onward(path, replace(way, nots=(*way.nots, step), last_not=step))
    else:
        first = list(_enter(path, way))
        yield from first
        if step.optional:
            yield from _onward(path, replace(_past_greedy(step, first, way), last_not=None))


def _enter(path: Path, way: Way) -> Iterator[Way]:
    """An iteration begins."""
    if path[-1].step.group:
        inside = (*path, Frame(path[-1].step.group, 0))
        yield from _begin(inside, replace(way, empty=way.empty | {path}))
    else:
        yield replace(way, path=path)


def _past_greedy(step: Step, rivals: list[Way], way: Way) -> Way:
    return replace(way, rivals=(*way.rivals, *rivals)) if step.greedy else way


def _nots_behind(path: Path) -> Iterator[Step]:
    """Each `not_followed_by` that comes directly after a step, also where a group ends between them."""
    for frame in reversed(path):
        for step in frame.steps[frame.at + 1 :]:
            if not step.forbids:
                return
            if step.link == "not_followed_by":
                yield step
